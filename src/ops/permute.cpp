// Permute: out.dims[i] = in.dims[permutation[i]], the permutation is a parameter.
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"
#include "ops/support/movement_mistakes.h"
#include "ops/support/qnn_movement.h"

namespace qnndbg {
namespace {

class Permute final : public Op {
 public:
  explicit Permute(std::vector<std::int64_t> permutation) : permutation_(std::move(permutation)) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    auto permutation = check_permutation(permutation_, static_cast<int>(x->dims.size()));
    if (!permutation) return fail(permutation.error());
    Dims out;
    for (int axis : *permutation) out.push_back(x->dims[static_cast<std::size_t>(axis)]);
    return std::vector<TensorSpec>{{x->type, std::move(out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    return std::vector<Stage>{model_transpose_stage(
        context, *check_permutation(permutation_, static_cast<int>(context.inputs[0].spec.dims.size())))};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const std::vector<int> meant =
        *check_permutation(permutation_, static_cast<int>(context.inputs[0].spec.dims.size()));
    return transpose_mapping(context, meant, permutation_);
  }

 private:
  std::vector<std::int64_t> permutation_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Permute* main = model.wire_op(node.index).main_as_Permute();
  if (main == nullptr) return fail("its permutation is missing");
  return std::make_unique<Permute>(ints_of(main->dims()));
}

const RegisterOp kRegister{"Permute", make};

}  // namespace
}  // namespace qnndbg
