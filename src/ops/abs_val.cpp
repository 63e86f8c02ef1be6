// AbsVal: |x|, the operator of older converters (UnaryOp ABS is the newer one).
#include <cmath>

#include "ops/registry.h"
#include "ops/support/elementwise.h"

namespace qnndbg {
namespace {

class AbsVal final : public ElementwiseOp {
 protected:
  Result<Stage> stage() const override {
    return unary_stage("ElementWiseAbs", "exact", [](float x) { return std::fabs(x); });
  }
};

Result<std::unique_ptr<Op>> make(const Model&, const OpNode&) { return std::make_unique<AbsVal>(); }

const RegisterOp kRegister{"AbsVal", make};

}  // namespace
}  // namespace qnndbg
