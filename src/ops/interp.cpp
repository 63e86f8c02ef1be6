// Interp: 2-D resize; nearest, bilinear and cubic, with every coordinate mode of MNN's CPU backend.
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/host_values.h"
#include "ops/support/qnn_resize.h"
#include "ops/support/resize_mistakes.h"

namespace qnndbg {
namespace {

enum class Method : std::uint8_t { nearest = 1, bilinear = 2, cubic = 3, nearest_round = 4 };

struct Parameters {
  Method method = Method::nearest;
  wire::Ctm mode = wire::Ctm_NotSet;
  bool align_corners = false;
  bool half_pixel = false;
  std::int64_t out_h = 0, out_w = 0;
  float scale_h = 0, scale_w = 0;
  float cubic_coefficient = -0.75F;
};

/// `ratio`: in/out, or 1/scale when the model gives a scale (`from_scale`).
Result<ResizeAxis> plan_axis(const Parameters& p, std::int64_t in, std::int64_t out, float ratio, bool from_scale) {
  ResizeAxis axis{.in = in, .out = out};
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

ResizeSampling sampling_of(Method method) {
  switch (method) {
    case Method::nearest: return ResizeSampling::floor;
    case Method::bilinear: return ResizeSampling::linear;
    case Method::cubic: return ResizeSampling::cubic_truncated;
    case Method::nearest_round: break;
  }
  return ResizeSampling::round_half_down;
}

/// What the model means.
ResizeCoordinates coordinates_of(const Parameters& p) {
  switch (p.mode) {
    case wire::Ctm_NotSet:
      if (p.align_corners) return ResizeCoordinates::align_corners;
      return p.half_pixel && p.method != Method::nearest ? ResizeCoordinates::half_pixel
                                                         : ResizeCoordinates::asymmetric;
    case wire::Ctm_AlignCorners: return ResizeCoordinates::align_corners;
    case wire::Ctm_HalfPixels:
    case wire::Ctm_PytorchHalfPixels: return ResizeCoordinates::half_pixel;
    case wire::Ctm_TensorflowHalfPixels: return ResizeCoordinates::half_pixel_unshifted;
    default: return ResizeCoordinates::asymmetric;
  }
}

/// What MNN's QNN backend makes of it: the flags align_corners and half_pixel_centers.
ResizeCoordinates asked_of(const Parameters& p) {
  if (p.mode == wire::Ctm_NotSet && !p.align_corners && p.half_pixel) return ResizeCoordinates::half_pixel;
  const ResizeCoordinates meant = coordinates_of(p);
  return meant == ResizeCoordinates::half_pixel_unshifted ? ResizeCoordinates::half_pixel : meant;
}

/// QNN's numbers for the parameters of Resize.
std::int64_t transformation_mode(const Parameters& p) {
  if (p.mode == wire::Ctm_PytorchHalfPixels) return kQnnPytorchHalfPixel;
  switch (asked_of(p)) {
    case ResizeCoordinates::align_corners: return kQnnAlignCorners;
    case ResizeCoordinates::half_pixel: return kQnnHalfPixel;
    default: return kQnnAsymmetric;
  }
}

class Interp final : public Op {
 public:
  explicit Interp(Parameters parameters) : p_(parameters) {}

  bool is_parameter(int input) const override { return input == 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto planned = plan(inputs);
    if (!planned) return fail(planned.error());
    Dims out{inputs[0].spec.dims[0], inputs[0].spec.dims[1], planned->h.out, planned->w.out};
    auto count = check_dims(out);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{{DType::f32, std::move(out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    auto planned = plan(context.inputs);
    if (!planned) return fail(planned.error());
    const bool nearest = p_.method == Method::nearest || p_.method == Method::nearest_round;
    const bool cubic = p_.method == Method::cubic;
    return std::vector<Stage>{
        {.qnn_type = nearest ? "ResizeNearestNeighbor"
                     : cubic ? "Resize"
                             : "ResizeBilinear",
         .inputs = {0},
         .bound = nearest ? "exact"
                  : cubic ? "ResizeCubic"
                          : "ResizeBilinear",
         .compute = [node = *planned](const RunContext& run) -> Result<StageResult> {
           const Tensor& x = *run.inputs[0];
           if (x.type() != DType::f32) return fail("resizing integers is not implemented");
           const std::vector<Taps> rows = all_taps(node.h, node.sampling);
           const std::vector<Taps> columns = all_taps(node.w, node.sampling);
           StageResult result{.value = resize(x, rows, columns, false)};
           if (run.want_magnitude) result.magnitude = resize(x, rows, columns, true);
           return result;
         },
         .hypotheses = [node = *planned](const Evidence& evidence) { return resize_mistakes(evidence, node); }}};
  }

  Layout output_layout(std::span<const Operand>) const override { return Layout::channel_last; }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (!context.as_mnn()) {
      auto planned = plan(context.inputs);
      if (!planned) return not_mapped(planned.error());
      return resize_mapping(context, *planned, p_.cubic_coefficient);
    }
    const ResizeCoordinates asked = asked_of(p_);
    const QnnParam align = flag("align_corners", asked == ResizeCoordinates::align_corners);
    const QnnParam half = flag("half_pixel_centers", asked == ResizeCoordinates::half_pixel);
    switch (p_.method) {
      case Method::nearest:
      case Method::nearest_round: return single_node(context, "ResizeNearestNeighbor", {align, half});
      case Method::bilinear: return single_node(context, "ResizeBilinear", {align, half, flag("antialias", false)});
      case Method::cubic: break;
    }
    // QNN wants exclude_outside as a truth value.
    return single_node(
        context, "Resize",
        {u32_scalar("interpolation_mode", kQnnCubic), u32_scalar("transformation_mode", transformation_mode(p_)),
         u32_scalar("exclude_outside", 0), QnnParam{"cubic_coeff", p_.cubic_coefficient}});
  }

 private:
  Result<ResizeNode> plan(std::span<const Operand> inputs) const {
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
    const auto by_extents = [](std::int64_t in, std::int64_t out) {
      return static_cast<float>(in) / static_cast<float>(out);
    };
    ResizeNode node{.sampling = sampling_of(p_.method),
                    .coordinates = coordinates_of(p_),
                    .step_h = from_operand_scale ? 1.0F / scale_h : by_extents(in_h, out_h),
                    .step_w = from_operand_scale ? 1.0F / scale_w : by_extents(in_w, out_w),
                    .asked = asked_of(p_)};
    auto h = plan_axis(p_, in_h, out_h, node.step_h, from_operand_scale);
    if (!h) return fail(h.error());
    node.h = *h;
    node.w = *plan_axis(p_, in_w, out_w, node.step_w, from_operand_scale);
    node.h_by_extents = *plan_axis(p_, in_h, out_h, by_extents(in_h, out_h), false);
    node.w_by_extents = *plan_axis(p_, in_w, out_w, by_extents(in_w, out_w), false);
    return node;
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
                                             .scale_w = main->widthScale(),
                                             .cubic_coefficient = main->cubicCoeffA()});
}

const RegisterOp kRegister{"Interp", make};

}  // namespace
}  // namespace qnndbg
