// BroadcastTo: repeats axes of extent 1 until the shape in the second operand is reached (NumPy's rules).
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/broadcast.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"

namespace qnndbg {
namespace {

class BroadcastTo final : public Op {
 public:
  bool is_parameter(int input) const override { return input == 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    auto shape = host_integers(inputs, 1, "shape");
    if (!shape) return fail(shape.error());
    auto wanted = check_dims(*shape);
    if (!wanted) return fail(wanted.error());
    auto out = broadcast_dims(x->dims, *shape);
    if (!out) return fail(out.error());
    auto count = check_dims(*out);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{{x->type, std::move(*out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    return std::vector<Stage>{
        {.qnn_type = "Tile",
         .inputs = {0},
         .bound = "exact",
         .compute = [out = context.outputs[0].spec.dims](const RunContext& run) -> Result<StageResult> {
           const Tensor& x = *run.inputs[0];
           return StageResult{.value = strided_copy(x, out, broadcast_strides(x.dims(), out))};
         }}};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Axis* main = model.wire_op(node.index).main_as_Axis();
  if (main != nullptr && main->axis() != 0)
    return fail("a broadcast that starts at axis {} is not implemented (MNN's QNN backend refuses it too)",
                main->axis());
  return std::make_unique<BroadcastTo>();
}

const RegisterOp kRegister{"BroadcastTo", make};

}  // namespace
}  // namespace qnndbg
