// Deconvolution (transposed convolution).
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/convolution_family.h"

namespace qnndbg {
namespace {

AxisPlan plan_axis(const ConvParameters& p, bool vertical, std::int64_t in) {
  const std::int64_t kernel = vertical ? p.geometry.kernel_h : p.geometry.kernel_w;
  const std::int64_t stride = vertical ? p.geometry.stride_h : p.geometry.stride_w;
  const std::int64_t dilation = vertical ? p.geometry.dilation_h : p.geometry.dilation_w;
  const bool fixed = !p.out_extents.empty();
  const std::int64_t wanted = fixed ? p.out_extents[vertical ? 0 : 1] : 0;
  if (p.padding == ConvPadding::same) {
    const std::int64_t out = fixed ? wanted : in * stride;
    return {out, ((in - 1) * stride + kernel - out) / 2};  // MNN leaves the dilation out here
  }
  const bool listed = p.pads.size() >= 4;
  const std::int64_t before = listed ? p.pads[vertical ? 0 : 1] : (vertical ? p.pad_y : p.pad_x);
  if (fixed) return {wanted, before};
  const std::int64_t after = listed ? p.pads[vertical ? 2 : 3] : before;
  const std::int64_t extra = p.out_pads.size() == 2 ? p.out_pads[vertical ? 0 : 1] : 0;
  return {std::max<std::int64_t>(0, (in - 1) * stride + dilation * (kernel - 1) + 1 - before - after + extra), before};
}

constexpr ConvKind kKind{.qnn_type = "TransposeConv2d",
                         .node_suffix = "_conv",
                         .mnn_file = "source/backend/qnn/execution/QNNDeconvolution.cpp",
                         .transposed = true,
                         .plan_axis = plan_axis};

/// Elements 1 and 2 of the shape in the last operand, which counts [N, H, W, C]: rows and columns. They are read here
/// and not among the host values, since the converter writes a constant.
Result<std::vector<std::int64_t>> output_extents(const Model& model, const OpNode& node) {
  const int shape = node.inputs.size() < 2 ? -1 : node.inputs.back();
  if (shape < 0) return fail("its output shape is missing");
  const int producer = model.graph().tensors[static_cast<std::size_t>(shape)].producer;
  if (producer < 0 || model.graph().ops[static_cast<std::size_t>(producer)].type_name != "Const")
    return fail("its output shape is not a constant of the model");
  auto value = model.constant(producer);
  if (!value) return fail(value.error());
  if (value->type() != DType::i32 || value->size() < 3) return fail("an output shape of {}", to_string(value->dims()));
  std::vector<std::int64_t> extents{value->i32()[1], value->i32()[2]};
  if (extents[0] < 1 || extents[1] < 1) return fail("an output of {}x{}", extents[0], extents[1]);
  return extents;
}

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  auto parameters = read_conv_parameters(model, node);
  if (!parameters) return fail(parameters.error());
  const auto* common = model.wire_op(node.index).main_as_Convolution2D()->common();
  if (common->hasOutputShape()) {
    auto extents = output_extents(model, node);
    if (!extents) return fail(extents.error());
    parameters->out_extents = std::move(*extents);
  }
  return std::make_unique<ConvolutionFamily>(kKind, model, node, std::move(*parameters));
}

const RegisterOp kRegister{"Deconvolution", make};

}  // namespace
}  // namespace qnndbg
