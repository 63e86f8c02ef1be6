// Unsqueeze: inserts axes of extent 1 at the listed positions of the output.
#include <algorithm>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"
#include "ops/support/qnn_movement.h"

namespace qnndbg {
namespace {

class Unsqueeze final : public Op {
 public:
  explicit Unsqueeze(std::vector<std::int64_t> axes) : axes_(std::move(axes)) {}

  bool is_parameter(int input) const override { return input == 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    auto listed = listed_integers(axes_, inputs, 1, "axes");
    if (!listed) return fail(listed.error());
    const int rank = static_cast<int>(x->dims.size() + listed->size());
    std::vector<bool> fresh(static_cast<std::size_t>(rank), false);
    for (std::int64_t axis : *listed) {
      auto normal = normalize_axis(axis, rank);
      if (!normal) return fail(normal.error());
      if (fresh[static_cast<std::size_t>(*normal)]) return fail("axis {} is inserted twice", axis);
      fresh[static_cast<std::size_t>(*normal)] = true;
    }
    Dims out;
    auto next = x->dims.begin();
    for (bool inserted : fresh) out.push_back(inserted ? 1 : *next++);
    return std::vector<TensorSpec>{{x->type, std::move(out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    return reshape_family_stages(context);
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override { return reshape_family_mapping(context); }

 private:
  std::vector<std::int64_t> axes_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::SqueezeParam* main = model.wire_op(node.index).main_as_SqueezeParam();
  return std::make_unique<Unsqueeze>(main == nullptr ? std::vector<std::int64_t>{} : ints_of(main->squeezeDims()));
}

const RegisterOp kRegister{"Unsqueeze", make};

}  // namespace
}  // namespace qnndbg
