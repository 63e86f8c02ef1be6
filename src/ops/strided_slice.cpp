// StridedSlice in its two forms: ONNX/Torch (data, begin, end, axes, steps) and TensorFlow (data, begin, end, strides
// with masks).
#include <algorithm>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"
#include "ops/support/movement_mistakes.h"
#include "ops/support/slice_kernel.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNStridedSlice.cpp";

struct Masks {
  int begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink = 0;
};

struct Plan {
  std::vector<SliceAxis> axes;  // one per input axis
  Dims out;                     // after inserted and removed axes
};

bool bit(int mask, std::size_t i) { return i < 31 && (mask >> i & 1) != 0; }

/// MNN's normalisation of one ONNX-style axis.
Result<SliceAxis> onnx_axis(std::int64_t extent, std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (step == 0) return fail("a step of 0");
  if (extent == 0) return SliceAxis{0, step, 0};
  if (begin < 0) begin += extent;
  if (end < 0) end += extent;
  if (step > 0) {
    // A begin before the first element goes on wrapping, as in MNN's CPU.
    if (begin < 0) begin = (begin % extent + extent) % extent;
    begin = std::clamp<std::int64_t>(begin, 0, extent);
    end = std::clamp<std::int64_t>(end, 0, extent);
    return SliceAxis{begin, step, end > begin ? (end - begin - 1) / step + 1 : 0};
  }
  begin = std::clamp<std::int64_t>(begin, -1, extent - 1);
  end = std::clamp<std::int64_t>(end, -1, extent - 1);
  return SliceAxis{std::max<std::int64_t>(begin, 0), step, begin > end ? (begin - end - 1) / -step + 1 : 0};
}

Result<Plan> plan_onnx(std::span<const Operand> inputs) {
  const Dims& in = inputs[0].spec.dims;
  auto begin = host_integers(inputs, 1, "begin");
  if (!begin) return fail(begin.error());
  auto end = host_integers(inputs, 2, "end");
  if (!end) return fail(end.error());
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> steps(begin->size(), 1);
  if (has_operand(inputs, 3)) {
    auto given = host_integers(inputs, 3, "axes");
    if (!given) return fail(given.error());
    axes = std::move(*given);
  } else {
    for (std::size_t k = 0; k < begin->size(); ++k) axes.push_back(static_cast<std::int64_t>(k));
  }
  if (has_operand(inputs, 4)) {
    auto given = host_integers(inputs, 4, "steps");
    if (!given) return fail(given.error());
    steps = std::move(*given);
  }
  if (end->size() != begin->size() || axes.size() != begin->size() || steps.size() != begin->size()) {
    return fail("{} begins, {} ends, {} axes and {} steps", begin->size(), end->size(), axes.size(), steps.size());
  }
  Plan plan;
  for (std::int64_t extent : in) plan.axes.push_back({0, 1, extent});
  for (std::size_t k = 0; k < axes.size(); ++k) {
    auto axis = normalize_axis(axes[k], static_cast<int>(in.size()));
    if (!axis) return fail(axis.error());
    const auto a = static_cast<std::size_t>(*axis);
    auto window = onnx_axis(in[a], (*begin)[k], (*end)[k], steps[k]);
    if (!window) return fail(window.error());
    plan.axes[a] = *window;
  }
  for (const SliceAxis& axis : plan.axes) plan.out.push_back(axis.size);
  return plan;
}

Result<Plan> plan_tensorflow(std::span<const Operand> inputs, const Masks& masks) {
  const Dims& in = inputs[0].spec.dims;
  auto begin = host_integers(inputs, 1, "begin");
  if (!begin) return fail(begin.error());
  auto end = host_integers(inputs, 2, "end");
  if (!end) return fail(end.error());
  std::vector<std::int64_t> steps(begin->size(), 1);
  if (has_operand(inputs, 3)) {
    auto given = host_integers(inputs, 3, "strides");
    if (!given) return fail(given.error());
    steps = std::move(*given);
  }
  if (end->size() != begin->size() || steps.size() != begin->size())
    return fail("{} begins, {} ends and {} strides", begin->size(), end->size(), steps.size());
  if (has_operand(inputs, 4)) return fail("the form that writes into a slice is not implemented");

  std::size_t consuming = 0;  // listed positions that stand for an input axis
  std::size_t ellipses = 0;
  for (std::size_t k = 0; k < begin->size(); ++k) {
    consuming += !bit(masks.new_axis, k) && !bit(masks.ellipsis, k) ? 1 : 0;
    ellipses += bit(masks.ellipsis, k) ? 1 : 0;
  }
  if (ellipses > 1) return fail("{} ellipses in one slice", ellipses);
  if (consuming > in.size()) return fail("{} slice positions for a tensor of rank {}", consuming, in.size());
  Plan plan;
  std::size_t axis = 0;
  const auto take_whole = [&] {
    plan.axes.push_back({0, 1, in[axis]});
    plan.out.push_back(in[axis]);
    ++axis;
  };
  for (std::size_t k = 0; k < begin->size(); ++k) {
    if (bit(masks.ellipsis, k)) {
      for (std::size_t n = in.size() - consuming; n > 0; --n) take_whole();
    } else if (bit(masks.new_axis, k)) {
      plan.out.push_back(1);
    } else if (bit(masks.shrink, k)) {
      const std::int64_t at = (*begin)[k] < 0 ? (*begin)[k] + in[axis] : (*begin)[k];
      if (at < 0 || at >= in[axis]) return fail("index {} on an axis of {}", (*begin)[k], in[axis]);
      plan.axes.push_back({at, 1, 1});
      ++axis;
    } else {
      const bool forward = steps[k] > 0;
      const std::int64_t far = in[axis];
      const std::int64_t from = bit(masks.begin, k) ? (forward ? 0 : far - 1) : (*begin)[k];
      // -far - 1 wraps to -1: one before the first element.
      const std::int64_t to = bit(masks.end, k) ? (forward ? far : -far - 1) : (*end)[k];
      auto window = onnx_axis(far, from, to, steps[k]);
      if (!window) return fail(window.error());
      plan.axes.push_back(*window);
      plan.out.push_back(window->size);
      ++axis;
    }
  }
  while (axis < in.size()) take_whole();
  return plan;
}

class StridedSlice final : public Op {
 public:
  StridedSlice(bool onnx, Masks masks) : onnx_(onnx), masks_(masks) {}

  bool is_parameter(int input) const override { return input >= 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    auto plan = plan_for(inputs);
    if (!plan) return fail(plan.error());
    return std::vector<TensorSpec>{{x->type, std::move(plan->out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    auto plan = plan_for(context.inputs);
    if (!plan) return fail(plan.error());
    const auto hypotheses = [axes = plan->axes, from = place_of(context.inputs[0]),
                             to = place_of(context.outputs[0])](const Evidence& evidence) {
      return slice_mistakes(evidence, from, to, axes, kMnnFile);
    };
    return std::vector<Stage>{{.qnn_type = "StridedSlice",
                               .inputs = {0},
                               .bound = "exact",
                               .compute = [plan_ = std::move(*plan)](const RunContext& run) -> Result<StageResult> {
                                 Tensor window = slice(*run.inputs[0], plan_.axes);
                                 window.reshape(plan_.out);
                                 return StageResult{.value = std::move(window)};
                               },
                               .hypotheses = hypotheses}};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    return context.as_mnn() ? as_mnn_writes(context) : as_model_means(context);
  }

 private:
  QnnMappingResult as_mnn_writes(const QnnContext& context) const {
    const std::size_t operands = context.inputs.size();
    if (operands != (onnx_ ? 5U : 4U))
      return refuse(QnnRefusal::Kind::refused, "{} operands, the backend takes {} in this form", operands,
                    onnx_ ? 5 : 4);
    if (!onnx_ && (masks_.new_axis != 0 || masks_.ellipsis != 0))
      return refuse(QnnRefusal::Kind::refused, "a slice with new axes or an ellipsis");
    if (QnnBuilder::is_reordered(context.inputs[0]))
      return refuse(QnnRefusal::Kind::encode_error, "its input is NC4HW4, which the backend does not slice");
    auto begin = host_integers(context.inputs, 1, "begin");
    auto end = host_integers(context.inputs, 2, "end");
    auto third = host_integers(context.inputs, 3, onnx_ ? "axes" : "strides");
    auto fourth = onnx_ ? host_integers(context.inputs, 4, "steps") : third;
    for (const auto* list : {&begin, &end, &third, &fourth}) {
      if (!*list) return not_mapped(list->error());
    }
    const Dims& in = context.inputs[0].spec.dims;
    const auto rank = static_cast<std::int64_t>(in.size());
    std::vector<std::int64_t> ranges;
    for (std::int64_t extent : in) ranges.insert(ranges.end(), {0, extent, 1});
    for (std::size_t k = 0; k < begin->size(); ++k) {
      std::int64_t axis = static_cast<std::int64_t>(k);
      if (onnx_) axis = (*third)[k] < 0 ? (*third)[k] + rank : (*third)[k];
      if (axis < 0 || axis >= rank) return refuse(QnnRefusal::Kind::not_mapped, "axis {} of rank {}", axis, rank);
      const auto at = static_cast<std::size_t>(axis);
      // Clipped, not wrapped: a negative begin becomes 0 and a negative end 1.
      ranges[3 * at] = std::clamp<std::int64_t>((*begin)[k], 0, std::max<std::int64_t>(0, in[at] - 1));
      ranges[3 * at + 1] = std::clamp<std::int64_t>((*end)[k], 1, std::max<std::int64_t>(1, in[at]));
      ranges[3 * at + 2] = (*fourth)[k];
    }
    return single_node(context, "StridedSlice",
                       {i32_tensor("ranges", {rank, 3}, std::move(ranges)), u32_scalar("begin_mask", masks_.begin),
                        u32_scalar("end_mask", masks_.end), u32_scalar("shrink_axes", masks_.shrink),
                        u32_scalar("new_axes_mask", masks_.new_axis)});
  }

  QnnMappingResult as_model_means(const QnnContext& context) const {
    auto plan = plan_for(context.inputs);
    if (!plan) return not_mapped(plan.error());
    const Operand& x = context.inputs[0];
    const int rank = static_cast<int>(x.spec.dims.size());
    constexpr int kMaskBits = 32;
    if (rank > kMaskBits) return refuse(QnnRefusal::Kind::not_mapped, "an input of rank {}", rank);
    // Axes that come or go are left to a Reshape in the model's order.
    Dims window_dims;
    for (const SliceAxis& axis : plan->axes) window_dims.push_back(axis.size);
    const bool same_axes = window_dims == plan->out && x.layout == context.outputs[0].layout;
    const Layout layout = same_axes ? x.layout : Layout::logical;
    std::vector<std::int64_t> ranges(3 * plan->axes.size());
    std::int64_t end_mask = 0;
    for (int axis = 0; axis < rank; ++axis) {
      const SliceAxis& cut = plan->axes[static_cast<std::size_t>(axis)];
      const int place = device_axis(axis, rank, layout);
      const auto at = 3 * static_cast<std::size_t>(place);
      if (cut.size == 0) return refuse(QnnRefusal::Kind::not_mapped, "an empty slice");
      ranges[at] = cut.begin;
      ranges[at + 1] = std::min(cut.begin + cut.size * cut.step, x.spec.dims[static_cast<std::size_t>(axis)]);
      ranges[at + 2] = cut.step;
      // Below the first element there is no place to name.
      if (ranges[at + 1] < 0) {
        ranges[at + 1] = 0;
        end_mask |= std::int64_t{1} << place;
      }
    }
    const std::vector<QnnParam> params{i32_tensor("ranges", {rank, 3}, std::move(ranges)), u32_scalar("begin_mask", 0),
                                       u32_scalar("end_mask", end_mask), u32_scalar("shrink_axes", 0),
                                       u32_scalar("new_axes_mask", 0)};
    if (same_axes) return single_node(context, "StridedSlice", params);
    QnnBuilder builder(context);
    const QnnTensorRef window = builder.stage("window", std::move(window_dims), context.output_types[0]);
    builder.node("", "StridedSlice", {builder.logical_input(0)}, window, params);
    builder.logical_output(0, [&](QnnTensorRef target) { builder.reshape("_Reshape", window, target); });
    return builder.take();
  }
  Result<Plan> plan_for(std::span<const Operand> inputs) const {
    return onnx_ ? plan_onnx(inputs) : plan_tensorflow(inputs, masks_);
  }

  bool onnx_;
  Masks masks_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::StridedSliceParam* main = model.wire_op(node.index).main_as_StridedSliceParam();
  if (main == nullptr) return fail("its StridedSliceParam parameters are missing");
  return std::make_unique<StridedSlice>(
      main->fromType() == 1,
      Masks{main->beginMask(), main->endMask(), main->ellipsisMask(), main->newAxisMask(), main->shrinkAxisMask()});
}

const RegisterOp kRegister{"StridedSlice", make};

}  // namespace
}  // namespace qnndbg
