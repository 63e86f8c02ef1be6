// StridedSlice in its two forms: ONNX/Torch (data, begin, end, axes, steps) and TensorFlow (data, begin, end, strides
// with masks).
#include <algorithm>

#include "graph/mnn_wire.h"
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

 private:
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
