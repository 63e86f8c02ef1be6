#include "ops/support/pooling_kernel.h"

#include <algorithm>
#include <cmath>

namespace qnndbg {
namespace {

/// One window of one plane, at (oh, ow).
class Window {
 public:
  Window(const PoolGeometry& g, std::int64_t height, std::int64_t width, std::int64_t oh, std::int64_t ow)
      : g_(g),
        height_(height),
        width_(width),
        top_(oh * g.stride_h - g.pad_top),
        left_(ow * g.stride_w - g.pad_left),
        h0_(std::max<std::int64_t>(0, top_)),
        h1_(std::min(height, top_ + g.kernel_h)),
        w0_(std::max<std::int64_t>(0, left_)),
        w1_(std::min(width, left_ + g.kernel_w)) {}

  float pooled(const float* plane, PoolKind kind, PoolCount count, bool absolute) const {
    if (h0_ >= h1_ || w0_ >= w1_) return 0;
    if (kind == PoolKind::max) return maximum(plane);
    return static_cast<float>(sum(plane, absolute) / static_cast<double>(std::max<std::int64_t>(1, divisor(count))));
  }

 private:
  float maximum(const float* plane) const {
    float best = plane[h0_ * width_ + w0_];
    for (std::int64_t h = h0_; h < h1_; ++h) {
      for (std::int64_t w = w0_; w < w1_; ++w) best = std::max(best, plane[h * width_ + w]);
    }
    return best;
  }

  double sum(const float* plane, bool absolute) const {
    double total = 0;
    for (std::int64_t h = h0_; h < h1_; ++h) {
      for (std::int64_t w = w0_; w < w1_; ++w) {
        const double v = plane[h * width_ + w];
        total += absolute ? std::fabs(v) : v;
      }
    }
    return total;
  }

  std::int64_t divisor(PoolCount count) const {
    switch (count) {
      case PoolCount::inside: break;
      case PoolCount::with_padding:
        return (std::min(top_ + g_.kernel_h, height_ + g_.pad_top) - top_) *
               (std::min(left_ + g_.kernel_w, width_ + g_.pad_left) - left_);
      case PoolCount::whole_window: return g_.kernel_h * g_.kernel_w;
    }
    return (h1_ - h0_) * (w1_ - w0_);
  }

  const PoolGeometry& g_;
  std::int64_t height_, width_, top_, left_, h0_, h1_, w0_, w1_;
};

}  // namespace

Tensor pool(const Tensor& x, PoolKind kind, PoolCount count, const PoolGeometry& g, const Dims& out, bool absolute) {
  Tensor y = Tensor::f32(out);
  const std::int64_t height = x.dims()[2];
  const std::int64_t width = x.dims()[3];
  float* to = y.f32().data();
  for (std::int64_t p = 0; p < out[0] * out[1]; ++p) {
    const float* plane = x.f32().data() + p * height * width;
    for (std::int64_t oh = 0; oh < out[2]; ++oh) {
      for (std::int64_t ow = 0; ow < out[3]; ++ow)
        *to++ = Window(g, height, width, oh, ow).pooled(plane, kind, count, absolute);
    }
  }
  return y;
}

float pool_element(const Tensor& x, PoolKind kind, PoolCount count, const PoolGeometry& g, const Dims& out,
                   std::int64_t element, bool absolute) {
  const std::int64_t height = x.dims()[2];
  const std::int64_t width = x.dims()[3];
  const float* plane = x.f32().data() + element / (out[2] * out[3]) * height * width;
  return Window(g, height, width, element / out[3] % out[2], element % out[3]).pooled(plane, kind, count, absolute);
}

}  // namespace qnndbg
