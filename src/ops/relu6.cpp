// ReLU6: min(max(x, minValue), maxValue). QNN: ReluMinMax.
#include <algorithm>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/activation.h"
#include "ops/support/elementwise.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNActivation.cpp";

class Relu6 final : public ElementwiseOp {
 public:
  Relu6(float low, float high) : low_(low), high_(high) {}

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    return single_node(context, "ReluMinMax", {{"min_value", low_}, {"max_value", high_}});
  }

 protected:
  Result<Stage> stage() const override {
    // The limits are float parameters of the node, but its output is half: a limit between two halves is rounded.
    Stage clip = unary_stage("ReluMinMax", "ReluMinMax",
                             [low = low_, high = high_](float x) { return std::min(std::max(x, low), high); });
    clip.hypotheses = [low = low_, high = high_](const Evidence& evidence) {
      // ReLU6 itself is a clip with other limits.
      std::vector<Hypothesis> list = activation_mistakes("ReLU6", "node type", kMnnFile);
      for (Hypothesis& h : list) h.meant = fmt::format("clip to {:g} .. {:g}", low, high);
      for (Hypothesis& h : clip_mistakes(evidence, low, high, kMnnFile)) list.push_back(std::move(h));
      return list;
    };
    return clip;
  }

 private:
  float low_;
  float high_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Relu6* main = model.wire_op(node.index).main_as_Relu6();
  if (main == nullptr) return std::make_unique<Relu6>(0.0F, 6.0F);
  return std::make_unique<Relu6>(main->minValue(), main->maxValue());
}

const RegisterOp kRegister{"ReLU6", make};

}  // namespace
}  // namespace qnndbg
