// GatherV2: out = x[:axis] + indices.shape + x[axis+1:]; the axis is a parameter or the third operand.
#include <algorithm>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"
#include "ops/support/movement_mistakes.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNGather.cpp";

/// Gathers along `axis` of a tensor with these dims: position of the output -> position of the input.
Source gathered(const Dims& dims, int axis, std::vector<std::int64_t> indices) {
  return [view = view_axis(dims, axis), list = std::move(indices)](std::int64_t i) {
    const auto count = static_cast<std::int64_t>(list.size());
    const std::int64_t index = list[static_cast<std::size_t>(i / view.inner % count)];
    if (index < 0 || index >= view.extent) return std::int64_t{-1};
    return (i / view.inner / count * view.extent + index) * view.inner + i % view.inner;
  };
}

std::vector<Hypothesis> gather_mistakes(const Evidence& evidence, const Place& from, const Place& to, int axis) {
  const Tensor& given = *evidence.context.inputs[1];
  if (given.type() != DType::i32 || given.empty()) return {};
  const std::int64_t extent = from.dims[static_cast<std::size_t>(axis)];
  const auto changed = [&](auto f) {
    std::vector<std::int64_t> indices;
    for (std::int32_t i : given.i32()) indices.push_back(f(std::int64_t{i}));
    return indices;
  };
  const auto wrapped = [extent](std::int64_t i) { return i < 0 ? i + extent : i; };
  const auto clamped = [extent](std::int64_t i) { return std::clamp<std::int64_t>(i, 0, extent - 1); };
  MovementMistakes mistakes(evidence, to.dims, gathered(from.dims, axis, changed(wrapped)));

  const Dims device = to_device_dims(from.dims, from.layout);
  for (int other = 0; other < static_cast<int>(device.size()); ++other) {
    mistakes.consider({.cause = "gather_axis_wrong",
                       .parameter = "axis of Gather",
                       .used = fmt::format("{}{}", other, from.layout == Layout::logical ? "" : " of the NHWC data"),
                       .meant = fmt::format("{}", axis),
                       .file = kMnnFile},
                      between(to, gathered(device, other, changed(wrapped)), from));
  }
  const auto other_indices = [&](const char* used, std::vector<std::int64_t> indices) {
    mistakes.consider({.cause = "second_input_wrong",
                       .parameter = "indices of Gather",
                       .used = used,
                       .meant = "as the model gives them",
                       .file = kMnnFile},
                      gathered(from.dims, axis, std::move(indices)));
  };
  other_indices("negative ones clipped to 0", changed(clamped));
  other_indices("all 0", changed([](std::int64_t) { return std::int64_t{0}; }));
  other_indices("0, 1, 2, ... instead", changed([n = std::int64_t{-1}](std::int64_t) mutable { return ++n; }));
  other_indices("each plus 1", changed([&](std::int64_t i) { return clamped(wrapped(i) + 1); }));
  other_indices("each minus 1", changed([&](std::int64_t i) { return clamped(wrapped(i) - 1); }));
  return mistakes.take();
}

class GatherV2 final : public Op {
 public:
  explicit GatherV2(std::optional<int> axis) : axis_(axis) {}

  bool is_parameter(int input) const override { return input == 2; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 1);
    if (!x) return fail(x.error());
    auto indices = require_operand(inputs, 1);
    if (!indices) return fail(indices.error());
    if (indices->type != DType::i32) return fail("indices that are not integers");
    auto axis = axis_for(inputs);
    if (!axis) return fail(axis.error());
    Dims out(x->dims.begin(), x->dims.begin() + *axis);
    out.insert(out.end(), indices->dims.begin(), indices->dims.end());
    out.insert(out.end(), x->dims.begin() + *axis + 1, x->dims.end());
    auto count = check_dims(out);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{{x->type, std::move(out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    auto axis = axis_for(context.inputs);
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

 private:
  Result<int> axis_for(std::span<const Operand> inputs) const {
    std::int64_t axis = axis_.value_or(0);
    if (!axis_ && has_operand(inputs, 2)) {
      auto given = host_integers(inputs, 2, "axis");
      if (!given) return fail(given.error());
      if (given->size() != 1) return fail("{} axes", given->size());
      axis = given->front();
    }
    return normalize_axis(axis, static_cast<int>(inputs[0].spec.dims.size()));
  }

  std::optional<int> axis_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  std::optional<int> axis;
  if (const wire::Axis* main = model.wire_op(node.index).main_as_Axis()) axis = main->axis();
  return std::make_unique<GatherV2>(axis);
}

const RegisterOp kRegister{"GatherV2", make};

}  // namespace
}  // namespace qnndbg
