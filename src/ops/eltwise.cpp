// Eltwise: PROD, SUM, MAXIMUM or SUB of operands with one shape.
#include <algorithm>
#include <type_traits>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"

namespace qnndbg {
namespace {

/// y := y op x. Integers wrap.
template <class T>
void fold(wire::EltKind kind, std::span<const T> x, std::span<T> y) {
  using Wide = std::conditional_t<std::is_integral_v<T>, std::uint32_t, T>;
  const auto apply = [&](auto f) {
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = static_cast<T>(f(static_cast<Wide>(y[i]), static_cast<Wide>(x[i])));
  };
  switch (kind) {
    case wire::EltKind_PROD: apply([](Wide a, Wide b) { return a * b; }); break;
    case wire::EltKind_SUM: apply([](Wide a, Wide b) { return a + b; }); break;
    case wire::EltKind_SUB: apply([](Wide a, Wide b) { return a - b; }); break;
    case wire::EltKind_MAXIMUM:
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::max(y[i], x[i]);
      break;
  }
}

class Eltwise final : public Op {
 public:
  explicit Eltwise(wire::EltKind kind) : kind_(kind) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto first = require_operand(inputs, 0);
    if (!first) return fail(first.error());
    for (int k = 1; k < static_cast<int>(inputs.size()); ++k) {
      auto other = require_operand(inputs, k);
      if (!other) return fail(other.error());
      if (other->type != first->type) return fail("operands of floats and of integers");
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
                                 StageResult result{.value = run.inputs[0]->clone()};
                                 for (const Tensor* operand : run.inputs.subspan(1)) {
                                   with_elements(
                                       *operand, result.value,
                                       [kind]<class T>(std::span<const T> x, std::span<T> y) { fold(kind, x, y); });
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
