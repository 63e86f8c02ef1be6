// Transpose: as Permute, the permutation is the second operand.
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"
#include "ops/support/movement_mistakes.h"
#include "ops/support/qnn_movement.h"

namespace qnndbg {
namespace {

class Transpose final : public Op {
 public:
  bool is_parameter(int input) const override { return input == 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    auto permutation = permutation_of(inputs);
    if (!permutation) return fail(permutation.error());
    Dims out;
    for (int axis : *permutation) out.push_back(x->dims[static_cast<std::size_t>(axis)]);
    return std::vector<TensorSpec>{{x->type, std::move(out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    auto permutation = permutation_of(context.inputs);
    if (!permutation) return fail(permutation.error());
    return std::vector<Stage>{model_transpose_stage(context, std::move(*permutation))};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    auto permutation = permutation_of(context.inputs);
    if (!permutation) return not_mapped(permutation.error());
    return transpose_mapping(context, *permutation, *host_integers(context.inputs, 1, "permutation"));
  }

 private:
  static Result<std::vector<int>> permutation_of(std::span<const Operand> inputs) {
    auto given = host_integers(inputs, 1, "permutation");
    if (!given) return fail(given.error());
    return check_permutation(*given, static_cast<int>(inputs[0].spec.dims.size()));
  }
};

Result<std::unique_ptr<Op>> make(const Model&, const OpNode&) { return std::make_unique<Transpose>(); }

const RegisterOp kRegister{"Transpose", make};

}  // namespace
}  // namespace qnndbg
