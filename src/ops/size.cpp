// Size: the number of elements, on the host.
#include "ops/registry.h"
#include "ops/support/host_values.h"

namespace qnndbg {
namespace {

class Size final : public Op {
 public:
  bool shape_only() const override { return true; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    return std::vector<TensorSpec>{{DType::i32, {}}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    return std::vector<Stage>{{.compute = [in = context.inputs[0].spec.dims](const RunContext&) -> Result<StageResult> {
      Tensor value = Tensor::i32({});
      value.i32()[0] = static_cast<std::int32_t>(element_count(in));
      return StageResult{.value = std::move(value)};
    }}};
  }
};

Result<std::unique_ptr<Op>> make(const Model&, const OpNode&) { return std::make_unique<Size>(); }

const RegisterOp kRegister{"Size", make};

}  // namespace
}  // namespace qnndbg
