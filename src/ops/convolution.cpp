// Convolution (2-D, grouped or not).
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/convolution_family.h"

namespace qnndbg {
namespace {

constexpr ConvKind kKind{.qnn_type = "Conv2d",
                         .node_suffix = "_conv",
                         .mnn_file = "source/backend/qnn/execution/QNNConvolution.cpp",
                         .plan_axis = plan_convolution_axis};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  auto parameters = read_conv_parameters(model, node);
  if (!parameters) return fail(parameters.error());
  return std::make_unique<ConvolutionFamily>(kKind, model, node, std::move(*parameters));
}

const RegisterOp kRegister{"Convolution", make};

}  // namespace
}  // namespace qnndbg
