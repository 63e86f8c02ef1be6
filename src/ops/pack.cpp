// Pack: stacks operands of one shape along a new axis.
#include <numeric>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNConcat.cpp";

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
    return std::vector<Stage>{
        {.qnn_type = "Pack",
         .inputs = std::move(from),
         .bound = "exact",
         .compute = [out, axis](const RunContext& run) -> Result<StageResult> {
           return StageResult{.value = stack(run.inputs, out, axis)};
         },
         .hypotheses = [out, axis](const Evidence& evidence) { return mistakes(evidence, out, axis); }}};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_majority(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const Operand& out = context.outputs[0];
    const int rank = static_cast<int>(out.spec.dims.size());
    const int axis = *normalize_axis(axis_, rank);
    const int count = static_cast<int>(context.inputs.size());
    // The axis is moved as if the operands had the output's rank.
    if (context.as_mnn())
      return single_node(context, "Pack", {u32_scalar("axis", device_axis(axis, rank, out.layout))}, count);
    QnnBuilder builder(context);
    std::vector<QnnTensorRef> parts;
    for (int k = 0; k < count; ++k) parts.push_back(builder.logical_input(k));
    builder.logical_output(0, [&](QnnTensorRef target) {
      builder.node("", "Pack", std::move(parts), target, {u32_scalar("axis", axis)});
    });
    return builder.take();
  }

 private:
  static std::vector<Hypothesis> mistakes(const Evidence& evidence, const Dims& out, int axis) {
    // Of more operands only neighbours are exchanged.
    constexpr std::size_t kMostPairs = 6;
    std::vector<Hypothesis> list;
    const std::size_t count = evidence.context.inputs.size();
    const auto reordered = [&](std::string cause, std::string parameter, std::string used,
                               std::vector<std::size_t> order) {
      list.push_back({.cause = std::move(cause),
                      .parameter = std::move(parameter),
                      .used = std::move(used),
                      .meant = "each operand in its place",
                      .file = kMnnFile,
                      .compute = [out, axis, order = std::move(order)](const RunContext& run) -> Result<StageResult> {
                        std::vector<const Tensor*> inputs;
                        for (std::size_t k : order) inputs.push_back(run.inputs[k]);
                        return StageResult{.value = stack(inputs, out, axis)};
                      }});
    };
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = a + 1; b < (count <= kMostPairs ? count : std::min(a + 2, count)); ++b) {
        std::vector<std::size_t> swapped = order;
        std::swap(swapped[a], swapped[b]);
        reordered("operand_order_swapped", "order of the operands", fmt::format("{} and {} exchanged", a, b),
                  std::move(swapped));
      }
      if (a == 0) continue;
      std::vector<std::size_t> repeated = order;
      repeated[a] = 0;
      reordered("second_input_wrong", fmt::format("operand {}", a), "operand 0 once more", std::move(repeated));
    }
    // Along another axis the same values come in another order; the node's output keeps its declared dims.
    for (int other = 0; other < static_cast<int>(out.size()); ++other) {
      if (other == axis) continue;
      Dims dims = out;
      dims.erase(dims.begin() + axis);
      dims.insert(dims.begin() + other, static_cast<std::int64_t>(count));
      list.push_back({.cause = "concat_axis_wrong",
                      .parameter = "axis",
                      .used = fmt::format("{}", other),
                      .meant = fmt::format("{}", axis),
                      .file = kMnnFile,
                      .compute = [out, dims, other](const RunContext& run) -> Result<StageResult> {
                        StageResult result{.value = stack(run.inputs, dims, other)};
                        result.value.reshape(out);
                        return result;
                      }});
    }
    return list;
  }

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
