// Softmax along one axis: exp(x - max) / sum.
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"
#include "ops/support/softmax_kernel.h"

namespace qnndbg {
namespace {

class Softmax final : public Op {
 public:
  explicit Softmax(int axis) : axis_(axis) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 1);
    if (!x) return fail(x.error());
    auto axis = normalize_axis(axis_, static_cast<int>(x->dims.size()));
    if (!axis) return fail(axis.error());
    return std::vector<TensorSpec>{std::move(*x)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const int rank = static_cast<int>(context.inputs[0].spec.dims.size());
    const int axis = *normalize_axis(axis_, rank);
    std::vector<Stage> stages;
    if (context.dumped("stageInput") && context.dumped("stageOutput")) {
      stages.push_back(transpose_stage("stageInput", "_PermBefore", 0, swap_with_last(axis, rank)));
      Stage main = main_stage(rank - 1);
      main.name = "stageOutput";
      main.node_suffix = "_Softmax";
      main.inputs = {-1};
      stages.push_back(std::move(main));
      stages.push_back(transpose_stage("", "_PermAfter", -2, swap_with_last(axis, rank)));
      return stages;
    }
    stages.push_back(main_stage(axis));
    return stages;
  }

 private:
  static Stage main_stage(int axis) {
    return {.qnn_type = "Softmax",
            .inputs = {0},
            .bound = "Softmax",
            .compute = [axis](const RunContext& run) -> Result<StageResult> {
              if (run.inputs[0]->type() != DType::f32) return fail("Softmax of integers");
              StageResult result{.value = Tensor::f32(run.inputs[0]->dims())};
              softmax(run.inputs[0]->f32(), view_axis(run.inputs[0]->dims(), axis), result.value.f32());
              return result;
            }};
  }

  int axis_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Axis* main = model.wire_op(node.index).main_as_Axis();
  if (main == nullptr) return fail("its Axis parameter is missing");
  return std::make_unique<Softmax>(main->axis());
}

const RegisterOp kRegister{"Softmax", make};

}  // namespace
}  // namespace qnndbg
