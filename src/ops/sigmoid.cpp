// Sigmoid as an operator of its own (UnaryOp has it too).
#include <cmath>

#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/activation.h"
#include "ops/support/elementwise.h"

namespace qnndbg {
namespace {

class Sigmoid final : public ElementwiseOp {
 public:
  QnnMappingResult qnn_mapping(const QnnContext& context) const override { return single_node(context, "Sigmoid"); }

 protected:
  Result<Stage> stage() const override {
    Stage stage = unary_stage("Sigmoid", "Sigmoid", sigmoid);
    stage.hypotheses = [](const Evidence&) {
      return activation_mistakes("Sigmoid", "node type", "source/backend/qnn/execution/QNNActivation.cpp");
    };
    return stage;
  }
};

Result<std::unique_ptr<Op>> make(const Model&, const OpNode&) { return std::make_unique<Sigmoid>(); }

const RegisterOp kRegister{"Sigmoid", make};

}  // namespace
}  // namespace qnndbg
