// Resize nodes with other flags, another scale, another rounding of the source index, another interpolation.
#include "ops/counterfactual.h"

namespace qnndbg::test {
namespace {

constexpr int kNearest = 1, kLinear = 2, kCubic = 3, kNearestRound = 4;

struct Resize {
  int method = kNearest;
  wire::Ctm mode = wire::Ctm_Asymmetric;
};

OneOp model_of(const Resize& r) {
  return OneOp(wire::Kind_Interp, 2, wire::OpParameter_Interp, [r](Builder& b) {
    wire::InterpBuilder interp(b);
    interp.add_resizeType(r.method);
    interp.add_ctm(r.mode);
    return interp.Finish().Union();
  });
}

Tensor sizes(std::int32_t h, std::int32_t w) { return integers({4}, {1, 1, h, w}); }
Tensor scales(float h, float w) { return floats({4}, {1, 1, h, w}); }

/// What QNN's flags make of output position i (docs: rules observed on the library).
enum class Flag { none, half, align };

double ratio(std::int64_t in, std::int64_t out) { return static_cast<double>(in) / static_cast<double>(out); }

double coordinate(Flag flag, std::int64_t i, std::int64_t in, std::int64_t out) {
  if (flag == Flag::half) return (static_cast<double>(i) + 0.5) * ratio(in, out) - 0.5;
  if (flag == Flag::align) return out == 1 ? 0 : static_cast<double>(i) * ratio(in - 1, out - 1);
  return static_cast<double>(i) * ratio(in, out);
}

std::int64_t clamped(double i, std::int64_t in) {
  return std::min(std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(i)), 0), in - 1);
}

double qnn_sample(const Tensor& x, bool linear, Flag flag, const Dims& o, std::int64_t height, std::int64_t width) {
  const std::int64_t in_h = x.dims()[2];
  const std::int64_t in_w = x.dims()[3];
  double v = coordinate(flag, o[2], in_h, height);
  double u_ = coordinate(flag, o[3], in_w, width);
  if (!linear) {
    // half: floor((i + 0.5) in/out); align: to the nearest; neither: floor.
    const double shift = flag == Flag::none ? 0 : 0.5;
    return at(x, {o[0], o[1], clamped(v + shift + 1e-9, in_h), clamped(u_ + shift + 1e-9, in_w)});
  }
  v = std::clamp(v, 0.0, static_cast<double>(in_h - 1));
  u_ = std::clamp(u_, 0.0, static_cast<double>(in_w - 1));
  const double fv = v - std::floor(v);
  const double fu = u_ - std::floor(u_);
  const auto p = [&](double a, double b) { return at(x, {o[0], o[1], clamped(a, in_h), clamped(b, in_w)}); };
  return (1 - fv) * ((1 - fu) * p(v, u_) + fu * p(v, u_ + 1)) + fv * ((1 - fu) * p(v + 1, u_) + fu * p(v + 1, u_ + 1));
}

Tensor qnn(const Tensor& x, bool linear, Flag flag, std::int64_t height, std::int64_t width) {
  Tensor y = Tensor::f32({x.dims()[0], x.dims()[1], height, width});
  std::size_t i = 0;
  for (const Dims& o : indices_of(y.dims()))
    y.f32()[i++] = static_cast<float>(qnn_sample(x, linear, flag, o, height, width));
  return on_device(std::move(y));
}

constexpr const char* kScale = "resize_scale_taken_from_dims_not_from_model";
constexpr const char* kSource = "resize_nearest_source_index_differs";
constexpr const char* kMode = "resize_coordinate_mode_wrong";

TEST(InterpMistakes, FlagsExchanged) {
  Rng rng(1);
  const std::vector<std::pair<wire::Ctm, Flag>> modes{
      {wire::Ctm_Asymmetric, Flag::none}, {wire::Ctm_HalfPixels, Flag::half}, {wire::Ctm_AlignCorners, Flag::align}};
  const char* names[] = {"asymmetric", "half_pixel", "align_corners"};
  for (int n = 0; n < 20; ++n) {
    const int meant = pick(rng, 0, 2);
    const int used = (meant + pick(rng, 1, 2)) % 3;
    const Tensor x = half_tensor(rng, {1, 3, pick(rng, 5, 8), pick(rng, 5, 8)});
    const int h = pick(rng, 9, 16);
    const int w = pick(rng, 9, 16);
    const Tensor size = sizes(h, w);
    const Found found =
        cause_of(model_of({kLinear, modes[u(meant)].first}), {&x, &size}, qnn(x, true, modes[u(used)].second, h, w));
    EXPECT_EQ(found.cause, kMode) << names[meant] << " -> " << names[used];
    EXPECT_EQ(found.used, names[used]);
    EXPECT_EQ(found.meant, names[meant]);
    EXPECT_EQ(found.ties.size(), 1u);
  }
}

TEST(InterpMistakes, FlagsOfNearest) {
  // Extents where the three rules differ; at twice the extent two of them are the same function.
  Rng rng(8);
  const Tensor x = half_tensor(rng, {1, 3, 11, 13});
  const Tensor size = sizes(6, 5);
  const OneOp floor = model_of({kNearest});
  EXPECT_EQ(cause_of(floor, {&x, &size}, qnn(x, false, Flag::none, 6, 5)).cause, "right");
  Found found = cause_of(floor, {&x, &size}, qnn(x, false, Flag::half, 6, 5));
  EXPECT_EQ(found.cause, kMode);
  EXPECT_EQ(found.used, "half_pixel");
  found = cause_of(floor, {&x, &size}, qnn(x, false, Flag::align, 6, 5));
  EXPECT_EQ(found.cause, kMode);
  EXPECT_EQ(found.used, "align_corners");
  EXPECT_EQ(
      cause_of(model_of({kNearestRound, wire::Ctm_HalfPixels}), {&x, &size}, qnn(x, false, Flag::none, 6, 5)).cause,
      kMode);
}

TEST(InterpMistakes, ScaleTakenFromTheExtents) {
  Rng rng(2);
  for (float scale : {0.6F, 1.5F, 2.3F}) {
    for (wire::Ctm mode : {wire::Ctm_Asymmetric, wire::Ctm_HalfPixels, wire::Ctm_PytorchHalfPixels}) {
      const Tensor x = half_tensor(rng, {1, 2, 9, 11});
      const Tensor given = scales(scale, scale);
      const Flag flag = mode == wire::Ctm_Asymmetric ? Flag::none : Flag::half;
      const auto h = static_cast<std::int64_t>(scale * 9);
      const auto w = static_cast<std::int64_t>(scale * 11);
      const Found found = cause_of(model_of({kLinear, mode}), {&x, &given}, qnn(x, true, flag, h, w));
      EXPECT_EQ(found.cause, kScale);
      EXPECT_EQ(found.ties.size(), 1u);
    }
  }
  // Nearest, floor, asymmetric: QNN's rule is the same but for the scale.
  const Tensor x = half_tensor(rng, {1, 2, 9, 11});
  const Tensor given = scales(0.6F, 0.6F);
  EXPECT_EQ(cause_of(model_of({kNearest}), {&x, &given}, qnn(x, false, Flag::none, 5, 6)).cause, kScale);
}

TEST(InterpMistakes, ScaleAndFlagsBothWrong) {
  Rng rng(3);
  const Tensor x = half_tensor(rng, {1, 2, 9, 11});
  const Tensor given = scales(1.5F, 1.5F);
  const OneOp model = model_of({kLinear, wire::Ctm_HalfPixels});
  const Found found = cause_of(model, {&x, &given}, qnn(x, true, Flag::none, 13, 16));
  EXPECT_EQ(found.cause, kMode);
  EXPECT_EQ(found.used, "asymmetric");
}

TEST(InterpMistakes, SourceIndexOfNearest) {
  Rng rng(4);
  const Tensor x = half_tensor(rng, {1, 2, 9, 11});
  // floor(i in/out) where the model rounds, and floor((i + 0.5) in/out) where it takes the floor of one half less.
  const Tensor up = sizes(13, 27);
  Found found = cause_of(model_of({kNearestRound}), {&x, &up}, qnn(x, false, Flag::none, 13, 27));
  EXPECT_EQ(found.cause, kSource);
  EXPECT_EQ(found.used, "floor(i in/out)");
  found = cause_of(model_of({kNearest, wire::Ctm_HalfPixels}), {&x, &up}, qnn(x, false, Flag::half, 13, 27));
  EXPECT_EQ(found.cause, kSource);
  EXPECT_EQ(found.used, "floor((i + 0.5) in/out)");
  // The ceiling.
  Tensor y = Tensor::f32({1, 2, 13, 27});
  std::size_t i = 0;
  for (const Dims& o : indices_of(y.dims())) {
    const auto ceil = [](std::int64_t k, int in, int out) { return std::min((k * in + out - 1) / out, in - 1L); };
    y.f32()[i++] = static_cast<float>(at(x, {o[0], o[1], ceil(o[2], 9, 13), ceil(o[3], 11, 27)}));
  }
  found = cause_of(model_of({kNearest}), {&x, &up}, y);
  EXPECT_EQ(found.cause, kSource);
  EXPECT_EQ(found.used, "ceil(i in/out)");
}

TEST(InterpMistakes, InterpolationExchanged) {
  Rng rng(5);
  const Tensor x = half_tensor(rng, {1, 2, 6, 7});
  const Tensor size = sizes(13, 17);
  const OneOp linear = model_of({kLinear});
  const OneOp nearest = model_of({kNearest});
  Found found = cause_of(linear, {&x, &size}, qnn(x, false, Flag::none, 13, 17));
  EXPECT_EQ(found.parameter, "node type");
  EXPECT_EQ(found.used, "ResizeNearestNeighbor, asymmetric");
  found = cause_of(nearest, {&x, &size}, qnn(x, true, Flag::half, 13, 17));
  EXPECT_EQ(found.parameter, "node type");
  EXPECT_EQ(found.used, "ResizeBilinear, half_pixel");
}

/// The textbook cubic: Keys' kernel around floor(src).
Tensor cubic(const Tensor& x, Flag flag, std::int64_t height, std::int64_t width) {
  const auto kernel = [](double t) {
    const double d = std::abs(t);
    return d <= 1 ? 1.25 * d * d * d - 2.25 * d * d + 1 : -0.75 * (d * d * d - 5 * d * d + 8 * d - 4);
  };
  Tensor y = Tensor::f32({x.dims()[0], x.dims()[1], height, width});
  std::size_t n = 0;
  for (const Dims& o : indices_of(y.dims())) {
    const double v = coordinate(flag, o[2], x.dims()[2], height);
    const double h = coordinate(flag, o[3], x.dims()[3], width);
    double sum = 0;
    for (int r = -1; r <= 2; ++r) {
      for (int c = -1; c <= 2; ++c) {
        sum += kernel(v - std::floor(v) - r) * kernel(h - std::floor(h) - c) *
               at(x, {o[0], o[1], clamped(std::floor(v) + r, x.dims()[2]), clamped(std::floor(h) + c, x.dims()[3])});
      }
    }
    y.f32()[n++] = static_cast<float>(sum);
  }
  return on_device(std::move(y));
}

TEST(InterpMistakes, CubicOfTheLibrary) {
  Rng rng(6);
  const Tensor x = half_tensor(rng, {1, 2, 6, 7});
  // MNN's CPU truncates negative coordinates; the library does not.
  const Tensor twice = sizes(12, 14);
  EXPECT_EQ(cause_of(model_of({kCubic, wire::Ctm_HalfPixels}), {&x, &twice}, cubic(x, Flag::half, 12, 14)).cause,
            "library_behaviour");
  const Tensor scale = scales(1.6F, 1.6F);
  EXPECT_EQ(cause_of(model_of({kCubic, wire::Ctm_HalfPixels}), {&x, &scale}, cubic(x, Flag::half, 9, 11)).cause,
            kScale);
  EXPECT_EQ(cause_of(model_of({kCubic, wire::Ctm_HalfPixels}), {&x, &twice}, cubic(x, Flag::align, 12, 14)).cause,
            kMode);
}

TEST(InterpMistakes, RightOrUnexplained) {
  Rng rng(7);
  for (int method : {kNearest, kLinear, kCubic, kNearestRound}) {
    for (wire::Ctm mode : {wire::Ctm_Asymmetric, wire::Ctm_HalfPixels, wire::Ctm_AlignCorners}) {
      const OneOp model = model_of({method, mode});
      const Tensor x = half_tensor(rng, {1, 2, 6, 7});
      const Tensor size = sizes(11, 9);
      Tensor y = on_device(model.output({&x, &size}));
      EXPECT_EQ(cause_of(model, {&x, &size}, y).cause, "right");
      y.f32()[pick(rng, 0, 197)] += 3;
      EXPECT_EQ(cause_of(model, {&x, &size}, y).cause, "unexplained");
    }
  }
}

}  // namespace
}  // namespace qnndbg::test
