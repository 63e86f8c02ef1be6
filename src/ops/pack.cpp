// Pack: stacks operands of one shape along a new axis.
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"

namespace qnndbg {
namespace {

class Pack final : public Op {
 public:
  explicit Pack(int axis) : axis_(axis) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto first = require_operand(inputs, 0);
    if (!first) return fail(first.error());
    for (int k = 1; k < static_cast<int>(inputs.size()); ++k) {
      auto other = require_operand(inputs, k);
      if (!other) return fail(other.error());
      if (other->dims != first->dims || other->type != first->type)
        return fail("operands {} and {} do not stack", to_string(first->dims), to_string(other->dims));
    }
    auto axis = normalize_axis(axis_, static_cast<int>(first->dims.size()) + 1);
    if (!axis) return fail(axis.error());
    TensorSpec out = std::move(*first);
    out.dims.insert(out.dims.begin() + *axis, static_cast<std::int64_t>(inputs.size()));
    auto count = check_dims(out.dims);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{std::move(out)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const Dims& out = context.outputs[0].spec.dims;
    const int axis = *normalize_axis(axis_, static_cast<int>(out.size()));
    std::vector<int> from;
    for (std::size_t k = 0; k < context.inputs.size(); ++k) from.push_back(static_cast<int>(k));
    return std::vector<Stage>{{.qnn_type = "Pack",
                               .inputs = std::move(from),
                               .bound = "exact",
                               .compute = [out, axis](const RunContext& run) -> Result<StageResult> {
                                 return StageResult{.value = stack(run.inputs, out, axis)};
                               }}};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_majority(inputs); }

 private:
  int axis_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::PackParam* main = model.wire_op(node.index).main_as_PackParam();
  if (main == nullptr) return fail("its PackParam parameters are missing");
  return std::make_unique<Pack>(main->axis());
}

const RegisterOp kRegister{"Pack", make};

}  // namespace
}  // namespace qnndbg
