// Sigmoid as an operator of its own (UnaryOp has it too).
#include <cmath>

#include "ops/registry.h"
#include "ops/support/elementwise.h"

namespace qnndbg {
namespace {

class Sigmoid final : public ElementwiseOp {
 protected:
  Result<Stage> stage() const override {
    return unary_stage("Sigmoid", "Sigmoid", [](float x) { return 1.0F / (1.0F + std::exp(-x)); });
  }
};

Result<std::unique_ptr<Op>> make(const Model&, const OpNode&) { return std::make_unique<Sigmoid>(); }

const RegisterOp kRegister{"Sigmoid", make};

}  // namespace
}  // namespace qnndbg
