#include "ops/support/convolution_family.h"

#include <algorithm>
#include <cmath>

#include "graph/mnn_wire.h"
#include "ops/support/convolution_mistakes.h"
#include "ops/support/data_movement.h"
#include "ops/support/elementwise.h"
#include "ops/support/float_detour.h"
#include "ops/support/host_values.h"
#include "ops/support/quantized_constants.h"

namespace qnndbg {
namespace {

// No real network comes near these; beyond them extents arithmetic could overflow.
constexpr std::int64_t kMaxKernelParameter = 1 << 20;

std::int64_t extent_in_caffe_mode(std::int64_t in, std::int64_t before, std::int64_t after, std::int64_t effective,
                                  std::int64_t stride) {
  const std::int64_t padded = in + before + after - effective;
  return padded < 0 ? 0 : padded / stride + 1;
}

std::vector<float> absolute(std::span<const float> values) {
  std::vector<float> out(values.begin(), values.end());
  for (float& v : out) v = std::fabs(v);
  return out;
}

Tensor absolute(const Tensor& tensor) {
  Tensor out = Tensor::f32(tensor.dims());
  std::transform(tensor.f32().begin(), tensor.f32().end(), out.f32().begin(), [](float v) { return std::fabs(v); });
  return out;
}

const Activation* activation_named(std::string_view name) {
  const std::span<const Activation> all = known_activations();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Activation& a) { return a.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

Result<ConvParameters> read_conv_parameters(const Model& model, const OpNode& node) {
  const wire::Convolution2D* main = model.wire_op(node.index).main_as_Convolution2D();
  if (main == nullptr || main->common() == nullptr) return fail("its Convolution2D parameters are missing");
  const wire::Convolution2DCommon& common = *main->common();
  ConvParameters p;
  p.geometry = {.kernel_h = common.kernelY(),
                .kernel_w = common.kernelX(),
                .stride_h = common.strideY(),
                .stride_w = common.strideX(),
                .dilation_h = common.dilateY(),
                .dilation_w = common.dilateX(),
                .group = common.group()};
  p.padding = common.padMode() == wire::ConvPad_SAME    ? ConvPadding::same
              : common.padMode() == wire::ConvPad_VALID ? ConvPadding::valid
                                                        : ConvPadding::explicit_pads;
  p.pads = ints_of(common.pads());
  p.out_pads = ints_of(common.outPads());
  p.pad_x = common.padX();
  p.pad_y = common.padY();
  p.input_channels = common.inputCount();
  p.output_channels = common.outputCount();
  p.activation = common.relu6() ? activation_named("ReLU6") : common.relu() ? activation_named("ReLU") : nullptr;
  for (std::int64_t v : {p.geometry.kernel_h, p.geometry.kernel_w, p.geometry.stride_h, p.geometry.stride_w,
                         p.geometry.dilation_h, p.geometry.dilation_w, p.geometry.group, p.output_channels}) {
    if (v < 1 || v > kMaxKernelParameter)
      return fail("a kernel, stride, dilation, group or channel count of {} makes no convolution", v);
  }
  if (p.pads.size() == 2) p.pads = {p.pads[0], p.pads[1], p.pads[0], p.pads[1]};
  for (std::int64_t v : p.pads) {
    if (std::abs(v) > kMaxKernelParameter) return fail("padding {} is absurd", v);
  }
  if (std::abs(p.pad_x) > kMaxKernelParameter || std::abs(p.pad_y) > kMaxKernelParameter)
    return fail("its padding is absurd");
  return p;
}

AxisPlan plan_convolution_axis(const ConvParameters& p, bool vertical, std::int64_t in) {
  const std::int64_t kernel = vertical ? p.geometry.kernel_h : p.geometry.kernel_w;
  const std::int64_t stride = vertical ? p.geometry.stride_h : p.geometry.stride_w;
  const std::int64_t dilation = vertical ? p.geometry.dilation_h : p.geometry.dilation_w;
  const std::int64_t effective = dilation * (kernel - 1) + 1;
  const bool listed = p.pads.size() >= 4;
  const std::int64_t before = listed ? p.pads[vertical ? 0 : 1] : (vertical ? p.pad_y : p.pad_x);
  const std::int64_t after = listed ? p.pads[vertical ? 2 : 3] : before;
  switch (p.padding) {
    case ConvPadding::same: {
      const std::int64_t out = (in + stride - 1) / stride;
      return {out, ((out - 1) * stride + effective - in) / 2};
    }
    case ConvPadding::valid: return {std::max<std::int64_t>(0, (in - effective + stride) / stride), before};
    case ConvPadding::explicit_pads: return {extent_in_caffe_mode(in, before, after, effective, stride), before};
  }
  return {};
}

Result<StageResult> run_convolution(const ConvKind& kind, const ConvVariant& variant, const Tensor& x, const Dims& out,
                                    bool want_magnitude) {
  const ConvGeometry& g = variant.geometry;
  const auto taps = static_cast<std::size_t>(g.kernel_h * g.kernel_w);
  const auto channels =
      static_cast<std::size_t>(kind.transposed ? out[1] / g.group * x.dims()[1] : x.dims()[1] / g.group * out[1]);
  if (variant.weight.size() != taps * channels) {
    return fail("{} weights do not fit {} input and {} output channels", variant.weight.size(), x.dims()[1], out[1]);
  }
  const auto compute = kind.transposed ? deconvolution : convolution;
  auto y = compute(x, variant.weight, variant.bias, g, out);
  if (!y) return fail(y.error());
  StageResult result{.value = std::move(*y)};
  if (variant.activation != nullptr) {
    for (float& v : result.value.f32()) v = variant.activation->f(v);
  }
  if (want_magnitude) {
    auto magnitude = compute(absolute(x), absolute(variant.weight), absolute(variant.bias), g, out);
    if (!magnitude) return fail(magnitude.error());
    result.magnitude = std::move(*magnitude);
  }
  return result;
}

double convolution_value(const ConvKind& kind, const ConvVariant& variant, const Tensor& x, const Dims& out,
                         std::int64_t element) {
  const auto value = kind.transposed ? deconvolution_element : convolution_element;
  const double y = value(x, variant.weight, variant.bias, variant.geometry, out, element);
  if (variant.activation == nullptr) return y;
  // ReLU and the like only choose; what rounds is not looked at that closely.
  const float chosen = variant.activation->f(static_cast<float>(y));
  return chosen == static_cast<float>(y) ? y : chosen;
}

Result<ConvVariant> conv_constants(const Model& model, int op, const RunContext& run) {
  if (run.constants && run.fixed_point) {
    auto integers = integer_conv_constants(model, op);
    if (!integers) return fail(integers.error());
    if (*integers)
      return ConvVariant{
          .weight = std::move((*integers)->weight), .bias = std::move((*integers)->bias), .geometry = {}};
  }
  auto weight = model.convolution_weight(op);
  if (!weight) return fail(weight.error());
  auto bias = model.convolution_bias(op);
  if (!bias) return fail(bias.error());
  ConvVariant out{.weight = {weight->values().begin(), weight->values().end()},
                  .bias = {bias->values().begin(), bias->values().end()},
                  .geometry = {}};
  if (run.constants) {
    round_to_half(out.weight, *run.constants, run.half);
    round_to_half(out.bias, *run.constants, run.half);
  }
  return out;
}

Result<std::vector<TensorSpec>> ConvolutionFamily::infer(std::span<const Operand> inputs) const {
  auto x = require_operand(inputs, 0, 4);
  if (!x) return fail(x.error());
  if (x->dims.size() != 4) return fail("input of rank {}, a 2-D convolution needs rank 4", x->dims.size());
  if (parameters_.out_extents.empty() && inputs.size() > 1 && inputs[1].present)
    return fail("weights computed on the device are not supported");
  const std::int64_t channels = x->dims[1];
  const std::int64_t group = parameters_.geometry.group;
  if (channels % group != 0 || parameters_.output_channels % group != 0) {
    return fail("{} input and {} output channels do not split into {} groups", channels, parameters_.output_channels,
                group);
  }
  if (parameters_.input_channels > 0 && parameters_.input_channels != channels) {
    return fail("input {} has {} channels, the weights are for {}", to_string(x->dims), channels,
                parameters_.input_channels);
  }
  Dims out{x->dims[0], parameters_.output_channels, kind_.plan_axis(parameters_, true, x->dims[2]).out,
           kind_.plan_axis(parameters_, false, x->dims[3]).out};
  auto count = check_dims(out);
  if (!count) return fail(count.error());
  return std::vector<TensorSpec>{{DType::f32, std::move(out)}};
}

Result<ConvVariant> ConvolutionFamily::variant_for(const RunContext& context, const Activation* activation) const {
  auto variant = conv_constants(model_, op_, context);
  if (!variant) return fail(variant.error());
  const Dims& in = context.inputs[0]->dims();
  variant->geometry = parameters_.geometry;
  variant->geometry.pad_top = kind_.plan_axis(parameters_, true, in[2]).pad_before;
  variant->geometry.pad_left = kind_.plan_axis(parameters_, false, in[3]).pad_before;
  variant->activation = activation;
  return variant;
}

Stage ConvolutionFamily::main_stage(const Dims& out, const Activation* activation) const {
  Stage stage;
  stage.qnn_type = kind_.qnn_type;
  stage.inputs = {0};
  stage.bound = kind_.qnn_type;
  stage.layout = Layout::channel_last;
  stage.compute = [this, out, activation](const RunContext& context) -> Result<StageResult> {
    auto variant = variant_for(context, activation);
    if (!variant) return fail(variant.error());
    return run_convolution(kind_, *variant, *context.inputs[0], out, context.want_magnitude);
  };
  stage.exact = [this, out, activation](const RunContext& context) -> Result<ElementValue> {
    auto variant = variant_for(context, activation);
    if (!variant) return fail(variant.error());
    return [this, out, x = context.inputs[0], held = std::move(*variant)](std::int64_t element) {
      return convolution_value(kind_, held, *x, out, element);
    };
  };
  stage.hypotheses = [this, out, activation](const Evidence& evidence) {
    auto variant = variant_for(evidence.context, activation);
    RunContext as_in_model = evidence.context;
    as_in_model.constants.reset();
    auto unrounded = variant_for(as_in_model, activation);
    if (!variant || !unrounded) return std::vector<Hypothesis>{};
    return convolution_mistakes({kind_, evidence, out, std::move(*variant), std::move(*unrounded)});
  };
  return stage;
}

Result<std::vector<Stage>> ConvolutionFamily::lower(const LowerContext& context) const {
  const Dims& in = context.inputs[0].spec.dims;
  const Dims& out = context.outputs[0].spec.dims;
  std::vector<Stage> stages;
  int from = 0;
  const bool separate_activation = parameters_.activation != nullptr && context.dumped("ReluTensor");
  // A 1x1 convolution over a batch of single pixels: the backend folds the batch into the plane [1, a, b, C], which
  // in channel-last memory is the same bytes. In logical order the plane is the batch axis moved behind the channels.
  // It does so only where there is no activation node.
  const bool folded = !separate_activation && context.dumped("InputReshapeTensor") &&
                      context.dumped("OutputReshapeTensor") && in[2] * in[3] == 1;
  Dims conv_out = out;
  if (folded) {
    const Dims plane{1, in[1], 1, in[0]};
    stages.push_back({.name = "InputReshapeTensor",
                      .node_suffix = "_input_reshape",
                      .qnn_type = "Reshape",
                      .inputs = {0},
                      .bound = "exact",
                      .layout = Layout::channel_last,
                      .compute = [plane](const RunContext& run) -> Result<StageResult> {
                        Tensor moved = permute(*run.inputs[0], {2, 1, 3, 0});
                        moved.reshape(plane);
                        return StageResult{.value = std::move(moved)};
                      }});
    from = -1;
    conv_out = {1, out[1], 1, out[0]};
  }
  Stage main = main_stage(conv_out, separate_activation ? nullptr : parameters_.activation);
  main.inputs = {from};
  if (separate_activation) {
    main.name = "ReluTensor";
    main.node_suffix = kind_.node_suffix;
  } else if (folded) {
    main.name = "OutputReshapeTensor";
  }
  stages.push_back(std::move(main));
  const int last = -static_cast<int>(stages.size());
  if (separate_activation) {
    const Activation& activation = *parameters_.activation;
    Stage relu = unary_stage(activation.name == "ReLU6" ? "Relu6" : "Relu", "FoldedRelu", activation.f);
    relu.node_suffix = "_relu";
    relu.inputs = {last};
    relu.layout = Layout::channel_last;
    relu.hypotheses = [&activation, file = std::string(kind_.mnn_file)](const Evidence& evidence) {
      std::vector<Hypothesis> list = activation_mistakes(activation.name, "fused activation", file);
      for (Hypothesis& h : clip_mistakes(evidence, 0, activation.name == "ReLU6" ? 6 : HUGE_VALF, file))
        list.push_back(std::move(h));
      return list;
    };
    stages.push_back(std::move(relu));
  } else if (folded) {
    stages.push_back({.node_suffix = "_output_reshape",
                      .qnn_type = "Reshape",
                      .inputs = {last},
                      .bound = "exact",
                      .layout = Layout::channel_last,
                      .compute = [out](const RunContext& run) -> Result<StageResult> {
                        Tensor moved = permute(*run.inputs[0], {3, 1, 0, 2});
                        moved.reshape(out);
                        return StageResult{.value = std::move(moved)};
                      }});
  }
  return with_float_detour(std::move(stages), context);
}

}  // namespace qnndbg
