// Convolution (2-D, grouped or not).
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/convolution_family.h"

namespace qnndbg {
namespace {

class Convolution final : public ConvolutionFamily {
 public:
  using ConvolutionFamily::ConvolutionFamily;

 protected:
  AxisPlan plan_axis(bool vertical, std::int64_t in) const override {
    return plan_convolution_axis(parameters(), vertical, in);
  }
  Result<Tensor> compute(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
                         const ConvGeometry& geometry, const Dims& out) const override {
    return convolution(x, weight, bias, geometry, out);
  }
  double element(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
                 const ConvGeometry& geometry, const Dims& out, std::int64_t index) const override {
    return convolution_element(x, weight, bias, geometry, out, index);
  }
  std::string qnn_type() const override { return "Conv2d"; }
  std::string node_suffix() const override { return "_conv"; }
  std::string mnn_file() const override { return "source/backend/qnn/execution/QNNConvolution.cpp"; }
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  auto parameters = read_conv_parameters(model, node);
  if (!parameters) return fail(parameters.error());
  return std::make_unique<Convolution>(model, node, std::move(*parameters));
}

const RegisterOp kRegister{"Convolution", make};

}  // namespace
}  // namespace qnndbg
