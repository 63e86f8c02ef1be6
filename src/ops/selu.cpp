// Selu: scale * (x > 0 ? x : alpha * (exp(x) - 1)).
#include <cmath>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/activation.h"
#include "ops/support/elementwise.h"

namespace qnndbg {
namespace {

class Selu final : public ElementwiseOp {
 public:
  Selu(float scale, float alpha) : scale_(scale), alpha_(alpha) {}

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (context.as_mnn()) return Op::qnn_mapping(context);
    QnnBuilder builder(context);
    const QnnTensorRef elu =
        builder.stage("elu", context.out_dims(0), context.output_types[0], context.outputs[0].layout);
    builder.node("_elu", "Elu", {QnnBuilder::input()}, elu, {{"alpha", alpha_}});
    builder.node("", "ElementWiseMultiply", {elu, builder.floats("scale", {1}, {scale_})}, QnnBuilder::output());
    return builder.take();
  }
  bool runs_quantized(DType /*type*/) const override { return false; }

 protected:
  Result<Stage> stage() const override {
    // MNN's QNN backend has no node for it.
    Stage stage = unary_stage("", "unmeasured", [scale = scale_, alpha = alpha_](float x) {
      return scale * (x > 0 ? x : alpha * std::expm1(x));
    });
    stage.hypotheses = [](const Evidence&) {
      return activation_mistakes("Selu", "node type", "source/backend/qnn/execution/QNNActivation.cpp");
    };
    return stage;
  }

 private:
  float scale_;
  float alpha_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Selu* main = model.wire_op(node.index).main_as_Selu();
  if (main == nullptr) return fail("its Selu parameters are missing");
  return std::make_unique<Selu>(main->scale(), main->alpha());
}

const RegisterOp kRegister{"Selu", make};

}  // namespace
}  // namespace qnndbg
