// ReLU: x >= 0 ? x : slope * x. QNN: Relu, or Prelu with one coefficient when the slope is not 0.
#include <string>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/activation.h"
#include "ops/support/elementwise.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNActivation.cpp";

float identity(float x) { return x; }

class Relu final : public ElementwiseOp {
 public:
  explicit Relu(float slope) : slope_(slope) {}

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (slope_ == 0) return single_node(context, "Relu");
    QnnBuilder builder(context);
    builder.node("", "Prelu", {QnnBuilder::input(), builder.floats("coeff", {1}, {slope_})}, QnnBuilder::output());
    return builder.take();
  }
  bool runs_quantized(DType /*type*/) const override { return slope_ == 0; }

 protected:
  Result<Stage> stage() const override {
    if (slope_ == 0) {
      Stage relu = unary_stage("Relu", "exact", [](float x) { return x < 0 ? 0.0F : x; });
      relu.hypotheses = [](const Evidence& evidence) {
        std::vector<Hypothesis> list = activation_mistakes("ReLU", "node type", kMnnFile);
        for (Hypothesis& h : slope_mistakes(evidence, 0, identity, "Prelu", kMnnFile)) list.push_back(std::move(h));
        return list;
      };
      return relu;
    }
    Stage leaky = unary_stage("Prelu", "Prelu", [](float x) { return x; });
    leaky.compute = [slope = slope_](const RunContext& run) -> Result<StageResult> {
      if (run.inputs[0]->type() != DType::f32) return fail("integer data is not implemented for a leaky ReLU");
      float s = slope;  // a static tensor of the node, so rounded like a weight
      if (run.constants) round_to_half({&s, 1}, *run.constants, run.half);
      return StageResult{.value = map_elements(*run.inputs[0], [s](float x) { return x < 0 ? s * x : x; })};
    };
    leaky.hypotheses = [slope = slope_](const Evidence& evidence) {
      std::vector<Hypothesis> list = activation_mistakes("leaky ReLU", "node type", kMnnFile);
      for (Hypothesis& h : slope_mistakes(evidence, slope, identity, "Prelu", kMnnFile)) list.push_back(std::move(h));
      return list;
    };
    return leaky;
  }

 private:
  float slope_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Relu* main = model.wire_op(node.index).main_as_Relu();
  return std::make_unique<Relu>(main == nullptr ? 0.0F : main->slope());
}

const RegisterOp kRegister{"ReLU", make};

}  // namespace
}  // namespace qnndbg
