// GatherV2 and Gather: out = x[:axis] + indices.shape + x[axis+1:]; the axis is a parameter or the third operand.
#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"
#include "ops/support/movement_mistakes.h"

namespace qnndbg {
namespace {

class GatherV2 final : public Op {
 public:
  /// `form`: what MNN's QNN backend makes of the operator.
  enum class Form : std::uint8_t { known, with_axis_parameter, unregistered };

  GatherV2(std::optional<std::int64_t> axis, Form form) : axis_(axis), form_(form) {}

  bool is_parameter(int input) const override { return input == 2; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 1);
    if (!x) return fail(x.error());
    auto indices = require_operand(inputs, 1);
    if (!indices) return fail(indices.error());
    if (indices->type != DType::i32) return fail("indices that are not integers");
    auto axis = axis_of(axis_, inputs, 2);
    if (!axis) return fail(axis.error());
    Dims out(x->dims.begin(), x->dims.begin() + *axis);
    out.insert(out.end(), indices->dims.begin(), indices->dims.end());
    out.insert(out.end(), x->dims.begin() + *axis + 1, x->dims.end());
    auto count = check_dims(out);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{{x->type, std::move(out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    auto axis = axis_of(axis_, context.inputs, 2);
    if (!axis) return fail(axis.error());
    return std::vector<Stage>{
        {.node_suffix = "_Gather",
         .qnn_type = "Gather",
         .inputs = {0, 1},
         .bound = "exact",
         .compute = [axis_ = *axis, out = context.outputs[0].spec.dims](const RunContext& run) -> Result<StageResult> {
           const Tensor& x = *run.inputs[0];
           const Tensor& indices = *run.inputs[1];
           if (indices.type() != DType::i32) return fail("indices that are not integers");
           const AxisView view = view_axis(x.dims(), axis_);
           StageResult result{.value = Tensor(x.type(), out)};
           std::size_t to = 0;
           for (std::int64_t o = 0; o < view.outer; ++o) {
             for (std::int32_t raw : indices.i32()) {
               const std::int64_t index = raw < 0 ? raw + view.extent : raw;
               if (index < 0 || index >= view.extent) return fail("index {} on an axis of {}", raw, view.extent);
               const auto from = static_cast<std::size_t>((o * view.extent + index) * view.inner);
               for (std::size_t i = 0; i < static_cast<std::size_t>(view.inner); ++i, ++to) {
                 if (x.type() == DType::f32) {
                   result.value.f32()[to] = x.f32()[from + i];
                 } else {
                   result.value.i32()[to] = x.i32()[from + i];
                 }
               }
             }
           }
           return result;
         },
         .hypotheses = [axis_ = *axis, from = place_of(context.inputs[0]), to = place_of(context.outputs[0])](
                           const Evidence& evidence) { return gather_mistakes(evidence, from, to, axis_); }}};
  }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (context.as_mnn()) {
      if (form_ == Form::unregistered) return Op::qnn_mapping(context);
      if (form_ == Form::with_axis_parameter)
        return refuse(QnnRefusal::Kind::refused,
                      "its axis is a parameter, the backend reads it from the third operand");
      if (!has_operand(context.inputs, 2))
        return refuse(QnnRefusal::Kind::crash, "the third operand (axis) is missing");
    }
    auto axis = axis_of(axis_, context.inputs, 2);
    if (!axis) return not_mapped(axis.error());
    QnnBuilder builder(context);
    const QnnTensorRef x = context.as_mnn() ? QnnBuilder::input() : builder.logical_input(0);
    const QnnParam along{"axis", static_cast<std::int32_t>(*axis)};
    const auto write = [&](QnnTensorRef target) {
      if (!context.inputs[1].spec.dims.empty()) {
        builder.node("_Gather", "Gather", {x, QnnBuilder::input(1)}, target, {along});
        return;
      }
      // QNN has no scalars: the one index keeps its axis until the Reshape.
      Dims kept = context.inputs[0].spec.dims;
      kept[static_cast<std::size_t>(*axis)] = 1;
      const QnnTensorRef stage = builder.stage("stageOutput", std::move(kept), context.output_types[0]);
      builder.node("_Gather", "Gather", {x, QnnBuilder::input(1)}, stage, {along});
      builder.reshape("_Reshape", stage, target);
    };
    if (context.as_mnn()) {
      write(QnnBuilder::output());
    } else {
      builder.logical_output(0, write);
    }
    return builder.take();
  }

 private:
  std::optional<std::int64_t> axis_;
  Form form_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  std::optional<std::int64_t> axis;
  if (const wire::Axis* main = model.wire_op(node.index).main_as_Axis()) axis = main->axis();
  return std::make_unique<GatherV2>(axis, axis ? GatherV2::Form::with_axis_parameter : GatherV2::Form::known);
}

/// The older operator: its axis is a parameter of its own table.
Result<std::unique_ptr<Op>> make_old(const Model& model, const OpNode& node) {
  const wire::Gather* main = model.wire_op(node.index).main_as_Gather();
  return std::make_unique<GatherV2>(main == nullptr ? 0 : main->axis(), GatherV2::Form::unregistered);
}

const RegisterOp kGatherV2{"GatherV2", make};
const RegisterOp kGather{"Gather", make_old};

}  // namespace
}  // namespace qnndbg
