// GatherElements: out[i, j, k] = x[i, indices[i, j, k], k] for axis 1, and so on.
#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"
#include "ops/support/slice_kernel.h"

namespace qnndbg {
namespace {

/// The window of x that the indices span, cut so that both tensors differ along `axis` alone.
Tensor aligned(const Tensor& x, const Dims& indices, int axis) {
  std::vector<SliceAxis> window;
  for (int k = 0; k < x.rank(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    window.push_back({0, 1, k == axis ? x.dims()[at] : indices[at]});
  }
  return slice(x, window);
}

Result<Tensor> gather(const Tensor& x, const Tensor& indices, int axis) {
  if (indices.type() != DType::i32) return fail("indices that are not integers");
  const Tensor source = aligned(x, indices.dims(), axis);
  const AxisView from = view_axis(source.dims(), axis);
  const AxisView to = view_axis(indices.dims(), axis);
  std::vector<std::size_t> places(static_cast<std::size_t>(indices.size()));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::int32_t raw = indices.i32()[i];
    const std::int64_t index = raw < 0 ? raw + from.extent : raw;
    if (index < 0 || index >= from.extent) return fail("index {} on an axis of {}", raw, from.extent);
    const auto flat = static_cast<std::int64_t>(i);
    places[i] =
        static_cast<std::size_t>((flat / (to.extent * to.inner) * from.extent + index) * from.inner + flat % to.inner);
  }
  Tensor out(x.type(), indices.dims());
  with_elements(source, out, [&]<class T>(std::span<const T> in, std::span<T> y) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = in[places[i]];
  });
  return out;
}

class GatherElements final : public Op {
 public:
  explicit GatherElements(std::optional<std::int64_t> axis) : axis_(axis) {}

  bool is_parameter(int input) const override { return input == 2; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 1);
    if (!x) return fail(x.error());
    auto indices = require_operand(inputs, 1);
    if (!indices) return fail(indices.error());
    if (indices->type != DType::i32) return fail("indices that are not integers");
    auto axis = axis_of(axis_, inputs, 2);
    if (!axis) return fail(axis.error());
    if (!fits(indices->dims, x->dims, *axis))
      return fail("indices {} do not lie within {}", to_string(indices->dims), to_string(x->dims));
    return std::vector<TensorSpec>{{x->type, std::move(indices->dims)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    auto axis = axis_of(axis_, context.inputs, 2);
    if (!axis) return fail(axis.error());
    Stage stage = stage_along(*axis);
    stage.hypotheses = [meant = *axis, in = context.inputs[0].spec.dims,
                        out = context.outputs[0].spec.dims](const Evidence&) {
      std::vector<Hypothesis> list;
      for (int other = 0; other < static_cast<int>(in.size()); ++other) {
        if (other == meant || !fits(out, in, other)) continue;
        list.push_back({.cause = "gather_axis_wrong",
                        .parameter = "axis",
                        .used = std::to_string(other),
                        .meant = std::to_string(meant),
                        .file = "source/backend/qnn/execution/QNNGather.cpp",
                        .compute = stage_along(other).compute});
      }
      return list;
    };
    return std::vector<Stage>{std::move(stage)};
  }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (context.as_mnn() && axis_)
      return refuse(QnnRefusal::Kind::refused, "its axis is a parameter, the backend reads it from the third operand");
    if (context.as_mnn() && !has_operand(context.inputs, 2))
      return refuse(QnnRefusal::Kind::crash, "the third operand (axis) is missing");
    auto axis = axis_of(axis_, context.inputs, 2);
    if (!axis) return not_mapped(axis.error());
    const QnnParam along = u32_scalar("axis", *axis);
    if (context.as_mnn()) return single_node(context, "GatherElements", {along}, 2, "_Gather");
    QnnBuilder builder(context);
    const QnnTensorRef x = builder.logical_input(0);
    const QnnTensorRef indices = builder.logical_input(1);
    builder.logical_output(
        0, [&](QnnTensorRef target) { builder.node("_Gather", "GatherElements", {x, indices}, target, {along}); });
    return builder.take();
  }

 private:
  static bool fits(const Dims& indices, const Dims& x, int axis) {
    if (indices.size() != x.size()) return false;
    for (int k = 0; k < static_cast<int>(x.size()); ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (k != axis && indices[at] > x[at]) return false;
    }
    return true;
  }

  static Stage stage_along(int axis) {
    return {.node_suffix = "_Gather",
            .qnn_type = "GatherElements",
            .inputs = {0, 1},
            .bound = "exact",
            .compute = [axis](const RunContext& run) -> Result<StageResult> {
              auto value = gather(*run.inputs[0], *run.inputs[1], axis);
              if (!value) return fail(value.error());
              return StageResult{.value = std::move(*value)};
            }};
  }

  std::optional<std::int64_t> axis_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  std::optional<std::int64_t> axis;
  if (const wire::Axis* main = model.wire_op(node.index).main_as_Axis()) axis = main->axis();
  return std::make_unique<GatherElements>(axis);
}

const RegisterOp kRegister{"GatherElements", make};

}  // namespace
}  // namespace qnndbg
