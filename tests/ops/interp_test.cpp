// Interp against the table of coordinate modes (docs/operators.md), sample by sample.
#include "oracle.h"

namespace qnndbg::test {
namespace {

constexpr int kNearest = 1, kLinear = 2, kCubic = 3, kNearestRound = 4;

enum class Given { parameters, sizes, scales, scale_parameters };

struct Resize {
  int method = kNearest;
  wire::Ctm mode = wire::Ctm_NotSet;
  bool align = false, half = false;
  Given given = Given::parameters;
  int out_h = 1, out_w = 1;
  float scale_h = 1, scale_w = 1;
};

OneOp model_of(const Resize& r) {
  const bool operand = r.given == Given::sizes || r.given == Given::scales;
  return OneOp(wire::Kind_Interp, operand ? 2 : 1, wire::OpParameter_Interp, [r](Builder& b) {
    wire::InterpBuilder interp(b);
    interp.add_resizeType(r.method);
    interp.add_ctm(r.mode);
    interp.add_alignCorners(r.align);
    interp.add_halfPixelCenters(r.half);
    if (r.given == Given::parameters) {
      interp.add_outputHeight(r.out_h);
      interp.add_outputWidth(r.out_w);
    } else if (r.given == Given::scale_parameters) {
      interp.add_heightScale(r.scale_h);
      interp.add_widthScale(r.scale_w);
    }
    return interp.Finish().Union();
  });
}

/// The source coordinate is float32 arithmetic: ties between two rows flip otherwise.
float source(const Resize& r, std::int64_t i, std::int64_t in, std::int64_t out, float scale) {
  const bool by_operand = r.given == Given::scales;
  const float ratio = by_operand ? 1.0F / scale : static_cast<float>(in) / static_cast<float>(out);
  const float corners = out == 1 ? 0.0F : static_cast<float>(in - 1) / static_cast<float>(out - 1);
  const float position = static_cast<float>(i);
  const auto mode = [&] {
    if (r.mode != wire::Ctm_NotSet) return r.mode;
    if (r.align) return wire::Ctm_AlignCorners;
    return r.half && r.method != kNearest ? wire::Ctm_HalfPixels : wire::Ctm_Asymmetric;
  }();
  switch (mode) {
    case wire::Ctm_AlignCorners: return position * corners;
    case wire::Ctm_HalfPixels: return position * ratio + (0.5F * ratio - 0.5F);
    case wire::Ctm_PytorchHalfPixels: return out == 1 ? 0.0F : position * ratio + (0.5F * ratio - 0.5F);
    case wire::Ctm_TensorflowHalfPixels: return position * ratio + 0.5F * ratio;
    default: return position * ratio;
  }
}

struct Tap {
  std::int64_t index;
  double weight;
};

std::vector<Tap> taps(int method, float src, std::int64_t in) {
  std::vector<Tap> all;
  const auto add = [&](std::int64_t i, double weight) {
    all.push_back({std::min(std::max<std::int64_t>(i, 0), in - 1), weight});
  };
  const double fraction = src - std::floor(src);
  const auto floor = static_cast<std::int64_t>(std::floor(src));
  if (method == kNearest) add(floor, 1);
  if (method == kNearestRound) add(static_cast<std::int64_t>(std::floor(src + 0.499F)), 1);
  if (method == kLinear) add(floor, 1 - fraction), add(floor + 1, fraction);
  if (method == kCubic) {
    // Keys' convolution kernel with a = -3/4; the middle tap comes from truncation, not from the floor.
    const auto kernel = [](double t) {
      const double d = std::abs(t);
      return d <= 1 ? 1.25 * d * d * d - 2.25 * d * d + 1 : -0.75 * (d * d * d - 5 * d * d + 8 * d - 4);
    };
    for (int k = -1; k <= 2; ++k) add(static_cast<std::int64_t>(src) + k, kernel(fraction - k));
  }
  return all;
}

void expect_resized(const Tensor& y, const Resize& r, const Tensor& x) {
  const Dims& in = x.dims();
  const bool scaled = r.given == Given::scales || r.given == Given::scale_parameters;
  const std::int64_t height = scaled ? static_cast<std::int64_t>(r.scale_h * static_cast<float>(in[2])) : r.out_h;
  const std::int64_t width = scaled ? static_cast<std::int64_t>(r.scale_w * static_cast<float>(in[3])) : r.out_w;
  const bool nearest = r.method == kNearest || r.method == kNearestRound;
  expect_tensor(y, DType::f32, {in[0], in[1], height, width}, [&](const Dims& o) {
    double sum = 0;
    double absolute = 0;
    for (const Tap& row : taps(r.method, source(r, o[2], in[2], height, r.scale_h), in[2])) {
      for (const Tap& column : taps(r.method, source(r, o[3], in[3], width, r.scale_w), in[3])) {
        const double term = row.weight * column.weight * at(x, {o[0], o[1], row.index, column.index});
        sum += term;
        absolute += std::abs(term);
      }
    }
    return Exact{sum, nearest ? 0 : 1e-5 * absolute + 1e-6};
  });
}

/// Extents and scales that fit each other, given in every form.
void check(Rng& rng, Resize r) {
  const Tensor x = random_tensor(rng, {1, 2, pick(rng, 1, 6), pick(rng, 1, 6)});
  r.out_h = pick(rng, 1, 11);
  r.out_w = pick(rng, 1, 11);
  const auto scale = [&](std::int64_t in) {
    const float s = static_cast<float>(pick(rng, 1, 12)) / 4;
    return s * static_cast<float>(in) < 1 ? 1.0F : s;
  };
  r.scale_h = scale(x.dims()[2]);
  r.scale_w = scale(x.dims()[3]);
  std::vector<const Tensor*> inputs{&x};
  const Tensor sizes = integers({4}, {1, 2, r.out_h, r.out_w});
  const Tensor scales = floats({4}, {1, 1, r.scale_h, r.scale_w});
  if (r.given == Given::sizes) inputs.push_back(&sizes);
  if (r.given == Given::scales) inputs.push_back(&scales);
  const OneOp model = model_of(r);
  expect_resized(model.output(inputs), r, x);
  expect_resized(model.chained(inputs, {}).at(0), r, x);
}

TEST(Interp, EveryMethodInEveryCoordinateMode) {
  Rng rng(30);
  for (int method = kNearest; method <= kNearestRound; ++method) {
    for (int mode = wire::Ctm_NotSet; mode <= wire::Ctm_TensorflowHalfPixels; ++mode) {
      for (int flags = 0; flags < (mode == wire::Ctm_NotSet ? 4 : 1); ++flags) {
        for (Given given : {Given::parameters, Given::sizes, Given::scales, Given::scale_parameters}) {
          for (int n = 0; n < 3; ++n) {
            check(rng, {.method = method,
                        .mode = static_cast<wire::Ctm>(mode),
                        .align = (flags & 1) != 0,
                        .half = (flags & 2) != 0,
                        .given = given});
            if (HasFailure()) FAIL() << "method " << method << ", mode " << mode << ", flags " << flags;
          }
        }
      }
    }
  }
}

TEST(Interp, AbsurdParametersAreRefused) {
  Rng rng(31);
  const Tensor x = random_tensor(rng, {1, 2, 3, 3});
  model_of({.method = 0, .out_h = 3, .out_w = 3}).expect_error({&x}, "method 0");
  model_of({.method = 5, .out_h = 3, .out_w = 3}).expect_error({&x}, "method 5");
  model_of({.mode = wire::Ctm_TensorflowCropAndResize, .out_h = 3, .out_w = 3}).expect_error({&x}, "mode");
  model_of({.out_h = 0, .out_w = 0}).expect_error({&x}, "no size and no scale");
  model_of({.out_h = std::numeric_limits<int>::max(), .out_w = std::numeric_limits<int>::max()})
      .expect_error({&x}, "a size beyond any memory");
  const OneOp by_operand = model_of({.given = Given::scales});
  const auto refused = [&](const Tensor& operand, const char* what) { by_operand.expect_error({&x, &operand}, what); };
  refused(floats({2}, {0, 0}), "scales of zero");
  refused(floats({2}, {-1, 1}), "a negative scale");
  refused(floats({2}, {NAN, 1}), "a scale that is not a number");
  refused(floats({2}, {INFINITY, 1}), "an infinite scale");
  refused(floats({2}, {1e30F, 1e30F}), "a huge scale");
  refused(floats({2}, {0.1F, 1}), "a scale to nothing");
  refused(floats({1}, {1}), "one scale");
  refused(integers({1}, {3}), "one size");
  refused(integers({2}, {-3, 3}), "a negative size");
  const Tensor flat = random_tensor(rng, {3, 3});
  by_operand.expect_error({&flat}, "rank");
  OneOp(wire::Kind_Interp, 1).expect_error({&x}, "no parameters");
}

}  // namespace
}  // namespace qnndbg::test
