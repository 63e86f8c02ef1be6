// ExpandDims: inserts one axis of extent 1; its position in the output is a parameter or the second operand.
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"
#include "ops/support/qnn_movement.h"

namespace qnndbg {
namespace {

class ExpandDims final : public Op {
 public:
  explicit ExpandDims(std::int64_t axis) : axis_(axis) {}

  bool is_parameter(int input) const override { return input == 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    std::int64_t axis = axis_;
    if (has_operand(inputs, 1)) {
      auto given = host_integer(inputs, 1, "axis");
      if (!given) return fail(given.error());
      axis = *given;
    }
    auto normal = normalize_axis(axis, static_cast<int>(x->dims.size()) + 1);
    if (!normal) return fail(normal.error());
    x->dims.insert(x->dims.begin() + *normal, 1);
    return std::vector<TensorSpec>{std::move(*x)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    return reshape_family_stages(context);
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (context.as_mnn()) return Op::qnn_mapping(context);
    return reshape_family_mapping(context);
  }

 private:
  std::int64_t axis_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::ExpandDims* main = model.wire_op(node.index).main_as_ExpandDims();
  return std::make_unique<ExpandDims>(main == nullptr ? 0 : main->axis());
}

const RegisterOp kRegister{"ExpandDims", make};

}  // namespace
}  // namespace qnndbg
