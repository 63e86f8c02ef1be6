#include "ops/support/pooling_kernel.h"

#include <algorithm>
#include <cmath>

namespace qnndbg {

Tensor pool(const Tensor& x, PoolKind kind, PoolCount count, const PoolGeometry& g, const Dims& out, bool absolute) {
  Tensor y = Tensor::f32(out);
  const std::int64_t height = x.dims()[2];
  const std::int64_t width = x.dims()[3];
  const std::int64_t planes = out[0] * out[1];
  float* to = y.f32().data();
  for (std::int64_t p = 0; p < planes; ++p) {
    const float* plane = x.f32().data() + p * height * width;
    for (std::int64_t oh = 0; oh < out[2]; ++oh) {
      const std::int64_t top = oh * g.stride_h - g.pad_top;
      const std::int64_t h0 = std::max<std::int64_t>(0, top);
      const std::int64_t h1 = std::min(height, top + g.kernel_h);
      for (std::int64_t ow = 0; ow < out[3]; ++ow, ++to) {
        const std::int64_t left = ow * g.stride_w - g.pad_left;
        const std::int64_t w0 = std::max<std::int64_t>(0, left);
        const std::int64_t w1 = std::min(width, left + g.kernel_w);
        if (h0 >= h1 || w0 >= w1) {
          *to = 0;
          continue;
        }
        if (kind == PoolKind::max) {
          float best = plane[h0 * width + w0];
          for (std::int64_t h = h0; h < h1; ++h) {
            for (std::int64_t w = w0; w < w1; ++w) best = std::max(best, plane[h * width + w]);
          }
          *to = best;
          continue;
        }
        double sum = 0;
        for (std::int64_t h = h0; h < h1; ++h) {
          for (std::int64_t w = w0; w < w1; ++w) {
            const double v = plane[h * width + w];
            sum += absolute ? std::fabs(v) : v;
          }
        }
        std::int64_t divisor = (h1 - h0) * (w1 - w0);
        if (count == PoolCount::with_padding) {
          divisor = (std::min(top + g.kernel_h, height + g.pad_top) - top) *
                    (std::min(left + g.kernel_w, width + g.pad_left) - left);
        }
        *to = static_cast<float>(sum / static_cast<double>(std::max<std::int64_t>(1, divisor)));
      }
    }
  }
  return y;
}

}  // namespace qnndbg
