#include "ops/support/convolution_family.h"

#include <algorithm>
#include <cmath>

#include "graph/mnn_wire.h"
#include "ops/support/data_movement.h"
#include "ops/support/float_detour.h"
#include "ops/support/host_values.h"
#include "ops/support/quantized_constants.h"
#include "ops/support/snap.h"

namespace qnndbg {
namespace {

// No real network comes near these; beyond them extents arithmetic could overflow.
constexpr std::int64_t kMaxKernelParameter = 1 << 20;

std::int64_t extent_in_caffe_mode(std::int64_t in, std::int64_t before, std::int64_t after, std::int64_t effective,
                                  std::int64_t stride) {
  const std::int64_t padded = in + before + after - effective;
  return padded < 0 ? 0 : padded / stride + 1;
}

std::vector<float> scaled(std::span<const float> values, double factor) {
  std::vector<float> out(values.begin(), values.end());
  for (float& v : out) v = static_cast<float>(v * factor);
  return out;
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

std::string_view name_of(FusedActivation activation) {
  switch (activation) {
    case FusedActivation::none: return "none";
    case FusedActivation::relu: return "ReLU";
    case FusedActivation::relu6: return "ReLU6";
  }
  return "?";
}

}  // namespace

void apply(FusedActivation activation, Tensor& tensor) {
  if (activation == FusedActivation::none) return;
  const float high = activation == FusedActivation::relu6 ? 6.0F : INFINITY;
  for (float& v : tensor.f32()) v = v < 0 ? 0 : v > high ? high : v;
}

double apply(FusedActivation activation, double value) {
  if (activation == FusedActivation::none) return value;
  return std::clamp(value, 0.0, activation == FusedActivation::relu6 ? 6.0 : HUGE_VAL);
}

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
  p.activation = common.relu6()  ? FusedActivation::relu6
                 : common.relu() ? FusedActivation::relu
                                 : FusedActivation::none;
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

Result<ConvConstants> conv_constants(const Model& model, int op, const RunContext& run) {
  if (run.constants && run.fixed_point) {
    auto integers = integer_conv_constants(model, op);
    if (!integers) return fail(integers.error());
    if (*integers) return std::move(**integers);
  }
  auto weight = model.convolution_weight(op);
  if (!weight) return fail(weight.error());
  auto bias = model.convolution_bias(op);
  if (!bias) return fail(bias.error());
  ConvConstants out{{weight->values().begin(), weight->values().end()}, {bias->values().begin(), bias->values().end()}};
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
  if (inputs.size() > 1 && inputs[1].present) return fail("weights computed on the device are not supported");
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
  Dims out{x->dims[0], parameters_.output_channels, plan_axis(true, x->dims[2]).out, plan_axis(false, x->dims[3]).out};
  auto count = check_dims(out);
  if (!count) return fail(count.error());
  return std::vector<TensorSpec>{{DType::f32, std::move(out)}};
}

ConvGeometry ConvolutionFamily::geometry_for(const Dims& in) const {
  ConvGeometry g = parameters_.geometry;
  g.pad_top = plan_axis(true, in[2]).pad_before;
  g.pad_left = plan_axis(false, in[3]).pad_before;
  return g;
}

Result<StageResult> ConvolutionFamily::run(const RunContext& context, const ConvConstants& constants,
                                           FusedActivation activation, const Dims& out) const {
  const Tensor& x = *context.inputs[0];
  const ConvGeometry geometry = geometry_for(x.dims());
  const auto per_group = static_cast<std::size_t>(x.dims()[1] / geometry.group * geometry.kernel_h * geometry.kernel_w);
  if (constants.weight.size() != per_group * static_cast<std::size_t>(parameters_.output_channels)) {
    return fail("{} weights do not fit {} input and {} output channels", constants.weight.size(), x.dims()[1],
                parameters_.output_channels);
  }
  auto y = compute(x, constants.weight, constants.bias, geometry, out);
  if (!y) return fail(y.error());
  StageResult result{.value = std::move(*y)};
  apply(activation, result.value);
  if (context.want_magnitude) {
    auto magnitude = compute(absolute(x), absolute(constants.weight), absolute(constants.bias), geometry, out);
    if (!magnitude) return fail(magnitude.error());
    result.magnitude = std::move(*magnitude);
  }
  return result;
}

Stage ConvolutionFamily::main_stage(const Dims& out, FusedActivation activation) const {
  Stage stage;
  stage.qnn_type = qnn_type();
  stage.inputs = {0};
  stage.bound = qnn_type();
  stage.layout = Layout::channel_last;
  stage.compute = [this, out, activation](const RunContext& context) -> Result<StageResult> {
    auto constants = conv_constants(model_, op_, context);
    if (!constants) return fail(constants.error());
    return run(context, *constants, activation, out);
  };
  stage.exact = [this, out, activation](const RunContext& context) -> Result<std::function<double(std::int64_t)>> {
    auto constants = conv_constants(model_, op_, context);
    if (!constants) return fail(constants.error());
    return [this, out, activation, x = context.inputs[0], held = std::move(*constants)](std::int64_t index) {
      return apply(activation, element(*x, held.weight, held.bias, geometry_for(x->dims()), out, index));
    };
  };
  stage.hypotheses = [this, out, activation](const Evidence& evidence) {
    return hypotheses(evidence, out, activation);
  };
  return stage;
}

Result<std::vector<Stage>> ConvolutionFamily::lower(const LowerContext& context) const {
  const Dims& in = context.inputs[0].spec.dims;
  const Dims& out = context.outputs[0].spec.dims;
  std::vector<Stage> stages;
  int from = 0;
  const bool separate_activation = parameters_.activation != FusedActivation::none && context.dumped("ReluTensor");
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
  Stage main = main_stage(conv_out, separate_activation ? FusedActivation::none : parameters_.activation);
  main.inputs = {from};
  if (separate_activation) {
    main.name = "ReluTensor";
    main.node_suffix = node_suffix();
  } else if (folded) {
    main.name = "OutputReshapeTensor";
  }
  stages.push_back(std::move(main));
  const int last = -static_cast<int>(stages.size());
  if (separate_activation) {
    const FusedActivation activation = parameters_.activation;
    stages.push_back({.node_suffix = "_relu",
                      .qnn_type = activation == FusedActivation::relu6 ? "Relu6" : "Relu",
                      .inputs = {last},
                      .bound = "FoldedRelu",
                      .layout = Layout::channel_last,
                      .compute = [activation](const RunContext& run) -> Result<StageResult> {
                        StageResult result{.value = run.inputs[0]->clone()};
                        apply(activation, result.value);
                        return result;
                      },
                      .hypotheses =
                          [activation, file = mnn_file()](const Evidence&) {
                            return std::vector<Hypothesis>{
                                {.cause = "activation_dropped",
                                 .parameter = "fused activation",
                                 .used = "none",
                                 .meant = std::string(name_of(activation)),
                                 .file = file,
                                 .compute = [](const RunContext& run) -> Result<StageResult> {
                                   return StageResult{.value = run.inputs[0]->clone()};
                                 }}};
                          }});
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

std::vector<Hypothesis> ConvolutionFamily::hypotheses(const Evidence& evidence, const Dims& out,
                                                      FusedActivation activation) const {
  std::vector<Hypothesis> list;
  auto constants = conv_constants(model_, op_, evidence.context);
  if (!constants) return list;
  const auto variant = [&](std::string cause, std::string parameter, std::string used, std::string meant,
                           int free_parameters, FusedActivation with, auto change) {
    list.push_back({.cause = std::move(cause),
                    .parameter = std::move(parameter),
                    .used = std::move(used),
                    .meant = std::move(meant),
                    .file = mnn_file(),
                    .free_parameters = free_parameters,
                    .compute = [this, out, with, change](const RunContext& context) -> Result<StageResult> {
                      auto own = conv_constants(model_, op_, context);
                      if (!own) return fail(own.error());
                      change(*own, context);
                      return run(context, *own, with, out);
                    }});
  };
  const auto as_is = [](ConvConstants&, const RunContext&) {};
  if (activation != FusedActivation::none) {
    variant("activation_dropped", "fused activation", "none", std::string(name_of(activation)), 0,
            FusedActivation::none, as_is);
  }
  const bool has_bias = std::any_of(constants->bias.begin(), constants->bias.end(), [](float b) { return b != 0; });
  if (has_bias) {
    variant("bias_dropped", "bias", "zeros", "the model's bias", 0, activation,
            [](ConvConstants& own, const RunContext&) { std::fill(own.bias.begin(), own.bias.end(), 0.0F); });
  }
  // One factor on all weights: y - b = s * conv(x, w) by least squares, over elements that the activation left alone.
  ConvConstants without_bias{constants->weight, {}};
  auto product = run(evidence.context, without_bias, FusedActivation::none, out);
  if (product) {
    const std::span<const float> c = product->value.f32();
    const std::span<const float> d = evidence.device.f32();
    const auto plane = static_cast<std::size_t>(out[2] * out[3]);
    double cd = 0;
    double cc = 0;
    for (std::size_t i = 0; i < c.size() && i < d.size(); ++i) {
      if (activation != FusedActivation::none && (d[i] <= 0 || (activation == FusedActivation::relu6 && d[i] >= 6)))
        continue;
      const double b = constants->bias.empty() ? 0 : constants->bias[i / plane % constants->bias.size()];
      cd += static_cast<double>(c[i]) * (d[i] - b);
      cc += static_cast<double>(c[i]) * c[i];
    }
    if (cc > 0 && std::isfinite(cd / cc) && cd != 0) {
      for (double factor : snap_candidates(cd / cc)) {
        // The factor may have met the weights before or after they were rounded to half.
        variant("weight_scale_wrong", "weight scale", fmt::format("weights x {:g}", factor), "the model's weights", 1,
                activation, [factor](ConvConstants& own, const RunContext& context) {
                  own.weight = scaled(own.weight, factor);
                  if (context.constants) round_to_half(own.weight, HalfRounding::nearest, context.half);
                });
        variant("weight_scale_wrong", "weight scale", fmt::format("weights x {:g}", factor), "the model's weights", 1,
                activation, [factor](ConvConstants& own, const RunContext& context) {
                  own.weight = scaled(own.weight, factor);
                  if (context.constants) round_to_half(own.weight, *context.constants, context.half);
                });
      }
    }
  }
  return list;
}

}  // namespace qnndbg
