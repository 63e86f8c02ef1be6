// ELU: x >= 0 ? x : alpha * (exp(x) - 1).
#include <cmath>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/activation.h"
#include "ops/support/elementwise.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNActivation.cpp";

class Elu final : public ElementwiseOp {
 public:
  explicit Elu(float alpha) : alpha_(alpha) {}

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    return single_node(context, "Elu", {{"alpha", alpha_}});
  }

 protected:
  Result<Stage> stage() const override {
    Stage elu = unary_stage("Elu", "Elu", [alpha = alpha_](float x) { return x < 0 ? alpha * std::expm1(x) : x; });
    elu.hypotheses = [alpha = alpha_](const Evidence& evidence) {
      std::vector<Hypothesis> list = activation_mistakes("ELU", "node type", kMnnFile);
      const auto below_zero = [](float x) { return std::expm1(x); };
      for (Hypothesis& h : slope_mistakes(evidence, alpha, below_zero, "Elu", kMnnFile)) list.push_back(std::move(h));
      return list;
    };
    return elu;
  }

 private:
  float alpha_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::ELU* main = model.wire_op(node.index).main_as_ELU();
  if (main == nullptr) return fail("its ELU parameters are missing");
  return std::make_unique<Elu>(main->alpha());
}

const RegisterOp kRegister{"ELU", make};

}  // namespace
}  // namespace qnndbg
