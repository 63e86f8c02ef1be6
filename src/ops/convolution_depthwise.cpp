// ConvolutionDepthwise: one input channel per output channel.
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/convolution_family.h"

namespace qnndbg {
namespace {

constexpr ConvKind kKind{.qnn_type = "DepthWiseConv2d",
                         .node_suffix = "_convDepthwise",
                         .mnn_file = "source/backend/qnn/execution/QNNConvDepthwise.cpp",
                         .plan_axis = plan_convolution_axis};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  auto parameters = read_conv_parameters(model, node);
  if (!parameters) return fail(parameters.error());
  // Old files leave `group` at 1: the operator type alone says that each channel stands for itself.
  parameters->geometry.group = parameters->output_channels;
  parameters->input_channels = parameters->output_channels;
  return std::make_unique<ConvolutionFamily>(kKind, model, node, std::move(*parameters));
}

const RegisterOp kRegister{"ConvolutionDepthwise", make};

}  // namespace
}  // namespace qnndbg
