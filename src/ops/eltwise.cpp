// Eltwise: PROD, SUM, MAXIMUM or SUB of operands with one shape.
#include <algorithm>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"

namespace qnndbg {
namespace {

class Eltwise final : public Op {
 public:
  explicit Eltwise(wire::EltKind kind) : kind_(kind) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto first = require_operand(inputs, 0);
    if (!first) return fail(first.error());
    for (int k = 1; k < static_cast<int>(inputs.size()); ++k) {
      auto other = require_operand(inputs, k);
      if (!other) return fail(other.error());
      if (other->dims != first->dims)
        return fail("operands {} and {} differ in shape", to_string(first->dims), to_string(other->dims));
    }
    return std::vector<TensorSpec>{std::move(*first)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    std::vector<int> from;
    for (std::size_t k = 0; k < context.inputs.size(); ++k) from.push_back(static_cast<int>(k));
    const char* type = kind_ == wire::EltKind_PROD  ? "ElementWiseMultiply"
                       : kind_ == wire::EltKind_SUB ? "ElementWiseSubtract"
                       : kind_ == wire::EltKind_SUM ? "ElementWiseAdd"
                                                    : "ElementWiseMaximum";
    const char* bound = kind_ == wire::EltKind_MAXIMUM ? "exact" : type;
    return std::vector<Stage>{{.qnn_type = type,
                               .inputs = std::move(from),
                               .bound = bound,
                               .compute = [kind = kind_](const RunContext& run) -> Result<StageResult> {
                                 if (run.inputs[0]->type() != DType::f32)
                                   return fail("integer data is not implemented for Eltwise");
                                 StageResult result{.value = run.inputs[0]->clone()};
                                 const std::span<float> y = result.value.f32();
                                 for (const Tensor* operand : run.inputs.subspan(1)) {
                                   if (operand->type() != DType::f32)
                                     return fail("integer data is not implemented for Eltwise");
                                   const std::span<const float> x = operand->f32();
                                   for (std::size_t i = 0; i < y.size(); ++i) {
                                     switch (kind) {
                                       case wire::EltKind_PROD: y[i] *= x[i]; break;
                                       case wire::EltKind_SUM: y[i] += x[i]; break;
                                       case wire::EltKind_SUB: y[i] -= x[i]; break;
                                       case wire::EltKind_MAXIMUM: y[i] = std::max(y[i], x[i]); break;
                                     }
                                   }
                                 }
                                 return result;
                               }}};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_majority(inputs); }

 private:
  wire::EltKind kind_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Eltwise* main = model.wire_op(node.index).main_as_Eltwise();
  if (main == nullptr) return fail("its Eltwise parameters are missing");
  if (main->coeff() != nullptr && main->coeff()->size() > 0) {
    for (float c : *main->coeff()) {
      if (c != 1.0F) return fail("Eltwise with coefficients is not implemented (MNN's CPU does not run it either)");
    }
  }
  if (main->type() < wire::EltKind_MIN || main->type() > wire::EltKind_MAX)
    return fail("Eltwise type {} is not known", static_cast<int>(main->type()));
  return std::make_unique<Eltwise>(main->type());
}

const RegisterOp kRegister{"Eltwise", make};

}  // namespace
}  // namespace qnndbg
