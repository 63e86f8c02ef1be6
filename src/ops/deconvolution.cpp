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
  if (p.padding == ConvPadding::same) {
    const std::int64_t out = in * stride;
    return {out, ((in - 1) * stride + kernel - out) / 2};  // MNN leaves the dilation out here
  }
  const bool listed = p.pads.size() >= 4;
  const std::int64_t before = listed ? p.pads[vertical ? 0 : 1] : (vertical ? p.pad_y : p.pad_x);
  const std::int64_t after = listed ? p.pads[vertical ? 2 : 3] : before;
  const std::int64_t extra = p.out_pads.size() == 2 ? p.out_pads[vertical ? 0 : 1] : 0;
  return {std::max<std::int64_t>(0, (in - 1) * stride + dilation * (kernel - 1) + 1 - before - after + extra), before};
}

constexpr ConvKind kKind{.qnn_type = "TransposeConv2d",
                         .node_suffix = "_conv",
                         .mnn_file = "source/backend/qnn/execution/QNNDeconvolution.cpp",
                         .transposed = true,
                         .plan_axis = plan_axis};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  auto parameters = read_conv_parameters(model, node);
  if (!parameters) return fail(parameters.error());
  const auto* common = model.wire_op(node.index).main_as_Convolution2D()->common();
  if (common->hasOutputShape()) return fail("a deconvolution whose output shape is an operand is not implemented");
  return std::make_unique<ConvolutionFamily>(kKind, model, node, std::move(*parameters));
}

const RegisterOp kRegister{"Deconvolution", make};

}  // namespace
}  // namespace qnndbg
