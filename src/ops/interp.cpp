// Interp: 2-D resize; nearest, bilinear and cubic, with every coordinate mode of MNN's CPU backend.
//
// Source coordinate of output index i: src = i * scale + offset, in float32 (ties flip otherwise).
#include <algorithm>
#include <array>
#include <cmath>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/elementwise.h"
#include "ops/support/host_values.h"

namespace qnndbg {
namespace {

enum class Method : std::uint8_t { nearest = 1, bilinear = 2, cubic = 3, nearest_round = 4 };

struct Axis {
  std::int64_t in = 0;
  std::int64_t out = 0;
  float scale = 1;
  float offset = 0;
};

struct Parameters {
  Method method = Method::nearest;
  wire::Ctm mode = wire::Ctm_NotSet;
  bool align_corners = false;
  bool half_pixel = false;
  std::int64_t out_h = 0, out_w = 0;
  float scale_h = 0, scale_w = 0;
};

/// `ratio`: in/out, or 1/scale when the model gives a scale (`from_scale`).
Result<Axis> plan_axis(const Parameters& p, std::int64_t in, std::int64_t out, float ratio, bool from_scale) {
  Axis axis{.in = in, .out = out};
  const float aligned = out == 1 ? 0.0F : static_cast<float>(in - 1) / static_cast<float>(out - 1);
  const float half = 0.5F * ratio - 0.5F;
  switch (p.mode) {
    case wire::Ctm_NotSet:
      if (p.align_corners) {
        axis.scale = aligned;
      } else {
        axis.scale = ratio;
        axis.offset = p.half_pixel && p.method != Method::nearest ? half : 0.0F;
      }
      return axis;
    case wire::Ctm_AlignCorners: axis.scale = aligned; return axis;
    case wire::Ctm_HalfPixels: axis.scale = ratio, axis.offset = half; return axis;
    case wire::Ctm_PytorchHalfPixels:
      axis.scale = out > 1 || from_scale ? ratio : 0.0F;
      axis.offset = out > 1 ? half : 0.0F;
      return axis;
    case wire::Ctm_Asymmetric: axis.scale = ratio; return axis;
    case wire::Ctm_TensorflowHalfPixels: axis.scale = ratio, axis.offset = 0.5F * ratio; return axis;
    default:
      return fail("coordinate mode {} is not implemented (MNN's CPU does not run it either)", static_cast<int>(p.mode));
  }
}

/// Up to four weighted source positions of one output position.
struct Taps {
  std::array<std::int64_t, 4> index{};
  std::array<float, 4> weight{};
  int count = 1;
};

Taps taps_of(const Axis& axis, Method method, std::int64_t position) {
  const auto clamp = [&](std::int64_t i) { return std::clamp<std::int64_t>(i, 0, axis.in - 1); };
  const float src = static_cast<float>(position) * axis.scale + axis.offset;
  Taps taps;
  switch (method) {
    case Method::nearest:
      taps.index[0] = clamp(static_cast<std::int64_t>(std::floor(src)));
      taps.weight[0] = 1;
      return taps;
    case Method::nearest_round:
      taps.index[0] = clamp(static_cast<std::int64_t>(std::floor(src + 0.499F)));
      taps.weight[0] = 1;
      return taps;
    case Method::bilinear: {
      const float floor = std::floor(src);
      const auto i = static_cast<std::int64_t>(floor);
      const float f = src - floor;
      taps.count = 2;
      taps.index = {clamp(i), clamp(i + 1)};
      taps.weight = {1 - f, f};
      return taps;
    }
    case Method::cubic: {
      // Keys' kernel with a = -0.75; MNN truncates the index but takes the fraction from the floor.
      constexpr float a = -0.75F;
      const auto i = static_cast<std::int64_t>(src);
      const float f = src - std::floor(src);
      const auto near = [](float t) { return (a + 2) * t * t * t - (a + 3) * t * t + 1; };
      const auto far = [](float t) { return a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a; };
      taps.count = 4;
      taps.index = {clamp(i - 1), clamp(i), clamp(i + 1), clamp(i + 2)};
      taps.weight = {far(1 + f), near(f), near(1 - f), far(2 - f)};
      return taps;
    }
  }
  return taps;
}

std::vector<Taps> all_taps(const Axis& axis, Method method) {
  std::vector<Taps> taps;
  for (std::int64_t i = 0; i < axis.out; ++i) taps.push_back(taps_of(axis, method, i));
  return taps;
}

/// Interpolates; with `absolute` |weight| * |x|, the magnitude of the error bound.
Tensor resize(const Tensor& x, const std::vector<Taps>& rows, const std::vector<Taps>& columns, const Dims& out,
              bool absolute) {
  Tensor y = Tensor::f32(out);
  const std::int64_t width = x.dims()[3];
  const std::int64_t in_plane = x.dims()[2] * width;
  float* to = y.f32().data();
  std::vector<float> line(static_cast<std::size_t>(width));
  for (std::int64_t p = 0; p < out[0] * out[1]; ++p) {
    const float* plane = x.f32().data() + p * in_plane;
    for (const Taps& row : rows) {
      for (std::int64_t w = 0; w < width; ++w) {
        float sum = 0;
        for (int k = 0; k < row.count; ++k) {
          const float v = plane[row.index[static_cast<std::size_t>(k)] * width + w];
          const float weight = row.weight[static_cast<std::size_t>(k)];
          sum += absolute ? std::fabs(weight * v) : weight * v;
        }
        line[static_cast<std::size_t>(w)] = sum;
      }
      for (const Taps& column : columns) {
        float sum = 0;
        for (int k = 0; k < column.count; ++k) {
          const float weight = column.weight[static_cast<std::size_t>(k)];
          sum += (absolute ? std::fabs(weight) : weight) *
                 line[static_cast<std::size_t>(column.index[static_cast<std::size_t>(k)])];
        }
        *to++ = sum;
      }
    }
  }
  return y;
}

class Interp final : public Op {
 public:
  explicit Interp(Parameters parameters) : p_(parameters) {}

  bool is_parameter(int input) const override { return input == 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto axes = plan(inputs);
    if (!axes) return fail(axes.error());
    Dims out{inputs[0].spec.dims[0], inputs[0].spec.dims[1], axes->first.out, axes->second.out};
    auto count = check_dims(out);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{{DType::f32, std::move(out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    auto axes = plan(context.inputs);
    if (!axes) return fail(axes.error());
    const bool nearest = p_.method == Method::nearest || p_.method == Method::nearest_round;
    const bool cubic = p_.method == Method::cubic;
    return std::vector<Stage>{{.qnn_type = nearest ? "ResizeNearestNeighbor"
                                           : cubic ? "Resize"
                                                   : "ResizeBilinear",
                               .inputs = {0},
                               .bound = nearest ? "exact"
                                        : cubic ? "ResizeCubic"
                                                : "ResizeBilinear",
                               .compute = [method = p_.method, h = axes->first,
                                           w = axes->second](const RunContext& run) -> Result<StageResult> {
                                 const Tensor& x = *run.inputs[0];
                                 if (x.type() != DType::f32) return fail("resizing integers is not implemented");
                                 const Dims out{x.dims()[0], x.dims()[1], h.out, w.out};
                                 const std::vector<Taps> rows = all_taps(h, method);
                                 const std::vector<Taps> columns = all_taps(w, method);
                                 StageResult result{.value = resize(x, rows, columns, out, false)};
                                 if (run.want_magnitude) result.magnitude = resize(x, rows, columns, out, true);
                                 return result;
                               }}};
  }

  Layout output_layout(std::span<const Operand>) const override { return Layout::channel_last; }

 private:
  /// Height and width axes.
  Result<std::pair<Axis, Axis>> plan(std::span<const Operand> inputs) const {
    auto x = require_operand(inputs, 0, 4);
    if (!x) return fail(x.error());
    if (x->dims.size() != 4) return fail("input of rank {}, a 2-D resize needs rank 4", x->dims.size());
    const std::int64_t in_h = x->dims[2];
    const std::int64_t in_w = x->dims[3];
    if (in_h < 1 || in_w < 1) return fail("an empty input {}", to_string(x->dims));
    float scale_h = 0;  // 0: the sizes decide
    float scale_w = 0;
    std::int64_t out_h = p_.out_h;
    std::int64_t out_w = p_.out_w;
    if (has_operand(inputs, 1)) {
      if (inputs[1].spec.type == DType::i32) {
        auto sizes = host_integers(inputs, 1, "output sizes");
        if (!sizes) return fail(sizes.error());
        if (sizes->size() < 2) return fail("{} output sizes", sizes->size());
        out_h = (*sizes)[sizes->size() - 2];
        out_w = sizes->back();
      } else {
        auto scales = host_floats(inputs, 1, "scales");
        if (!scales) return fail(scales.error());
        if (scales->size() < 2) return fail("{} scales", scales->size());
        scale_h = (*scales)[scales->size() - 2];
        scale_w = scales->back();
      }
    } else if (out_h < 1 || out_w < 1) {
      scale_h = p_.scale_h;
      scale_w = p_.scale_w;
    }
    const bool from_operand_scale = scale_h != 0 && has_operand(inputs, 1);
    if (scale_h != 0 || scale_w != 0) {
      const auto extent = [](std::int64_t in, float scale) { return static_cast<double>(in) * scale; };
      for (double e : {extent(in_h, scale_h), extent(in_w, scale_w)}) {
        if (!(e >= 1 && e < 1e9)) return fail("scales {:g} and {:g} of {}", scale_h, scale_w, to_string(x->dims));
      }
      out_h = static_cast<std::int64_t>(scale_h * static_cast<float>(in_h));
      out_w = static_cast<std::int64_t>(scale_w * static_cast<float>(in_w));
    }
    if (out_h < 1 || out_w < 1) return fail("an output of {}x{}", out_h, out_w);
    const auto ratio = [&](std::int64_t in, std::int64_t out, float scale) {
      return from_operand_scale ? 1.0F / scale : static_cast<float>(in) / static_cast<float>(out);
    };
    auto h = plan_axis(p_, in_h, out_h, ratio(in_h, out_h, scale_h), from_operand_scale);
    if (!h) return fail(h.error());
    auto w = plan_axis(p_, in_w, out_w, ratio(in_w, out_w, scale_w), from_operand_scale);
    if (!w) return fail(w.error());
    return std::pair{*h, *w};
  }

  Parameters p_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Interp* main = model.wire_op(node.index).main_as_Interp();
  if (main == nullptr) return fail("its Interp parameters are missing");
  if (main->resizeType() < 1 || main->resizeType() > 4) return fail("resize type {} is not known", main->resizeType());
  return std::make_unique<Interp>(Parameters{.method = static_cast<Method>(main->resizeType()),
                                             .mode = main->ctm(),
                                             .align_corners = main->alignCorners(),
                                             .half_pixel = main->halfPixelCenters(),
                                             .out_h = main->outputHeight(),
                                             .out_w = main->outputWidth(),
                                             .scale_h = main->heightScale(),
                                             .scale_w = main->widthScale()});
}

const RegisterOp kRegister{"Interp", make};

}  // namespace
}  // namespace qnndbg
