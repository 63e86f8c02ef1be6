// ELU: x >= 0 ? x : alpha * (exp(x) - 1).
#include <cmath>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/elementwise.h"

namespace qnndbg {
namespace {

class Elu final : public ElementwiseOp {
 public:
  explicit Elu(float alpha) : alpha_(alpha) {}

 protected:
  Result<Stage> stage() const override {
    return unary_stage("Elu", "unmeasured", [alpha = alpha_](float x) { return x < 0 ? alpha * std::expm1(x) : x; });
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
