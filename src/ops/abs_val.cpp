// AbsVal: |x|, the operator of older converters (UnaryOp ABS is the newer one).
#include <cmath>

#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/activation.h"
#include "ops/support/elementwise.h"

namespace qnndbg {
namespace {

class AbsVal final : public ElementwiseOp {
 public:
  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (context.as_mnn()) return Op::qnn_mapping(context);
    return single_node(context, "ElementWiseAbs");
  }

 protected:
  Result<Stage> stage() const override {
    Stage stage = unary_stage("ElementWiseAbs", "exact", [](float x) { return std::fabs(x); });
    stage.hypotheses = [](const Evidence&) {
      return activation_mistakes("Abs", "node type", "source/backend/qnn/execution/QNNUnary.cpp");
    };
    return stage;
  }
};

Result<std::unique_ptr<Op>> make(const Model&, const OpNode&) { return std::make_unique<AbsVal>(); }

const RegisterOp kRegister{"AbsVal", make};

}  // namespace
}  // namespace qnndbg
