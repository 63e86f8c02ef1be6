// Softmax along one axis: exp(x - max) / sum.
#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/activation.h"
#include "ops/support/altered_constants.h"
#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"
#include "ops/support/snap.h"
#include "ops/support/softmax_kernel.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNSoftmax.cpp";

Compute softmax_along(const AxisView& view, float beta = 1) {
  return [view, beta](const RunContext& run) -> Result<StageResult> {
    if (run.inputs[0]->type() != DType::f32) return fail("Softmax of integers");
    StageResult result{.value = Tensor::f32(run.inputs[0]->dims())};
    softmax(run.inputs[0]->f32(), view, result.value.f32(), beta);
    return result;
  };
}

bool same(const AxisView& a, const AxisView& b) {
  return a.outer == b.outer && a.extent == b.extent && a.inner == b.inner;
}

/// Whether the device's output can be a softmax along this axis: the sums of a few runs. Each element may be flushed to
/// zero or off by the error of the table, so long runs tell less.
bool sums_to_one(std::span<const float> y, const AxisView& view) {
  constexpr std::int64_t kRuns = 16;
  constexpr double kElementError = 0x1p-14;
  constexpr double kSumError = 0.05;
  const std::int64_t count = view.outer * view.inner;
  for (std::int64_t s = 0; s < std::min(kRuns, count); ++s) {
    const std::int64_t run = s * count / std::min(kRuns, count);
    const std::int64_t first = run / view.inner * view.extent * view.inner + run % view.inner;
    double sum = 0;
    for (std::int64_t k = 0; k < view.extent; ++k) sum += y[static_cast<std::size_t>(first + k * view.inner)];
    if (!(std::fabs(sum - 1) <= kSumError + kElementError * static_cast<double>(view.extent))) return false;
  }
  return true;
}

/// Other axes; axes flattened to one as operator sets before ONNX 13 mean it.
void add_other_axes(std::vector<Hypothesis>& list, const Evidence& evidence, int axis) {
  const Dims& dims = evidence.device.dims();
  const int rank = static_cast<int>(dims.size());
  std::vector<AxisView> seen{view_axis(dims, axis)};
  const auto consider = [&](std::string used, const AxisView& view) {
    if (std::any_of(seen.begin(), seen.end(), [&](const AxisView& v) { return same(v, view); })) return;
    seen.push_back(view);
    if (!sums_to_one(evidence.device.f32(), view)) return;
    list.push_back({.cause = "softmax_axis_wrong",
                    .parameter = "axis",
                    .used = std::move(used),
                    .meant = fmt::format("{}", axis),
                    .file = kMnnFile,
                    .compute = softmax_along(view)});
  };
  for (int other = rank - 1; other >= 0; --other) consider(fmt::format("{}", other), view_axis(dims, other));
  for (int first : {axis, 1, 0}) {
    if (first >= rank) continue;
    const AxisView v = view_axis(dims, first);
    consider(fmt::format("all from {} on, as one", first),
             {.outer = v.outer, .extent = v.extent * v.inner, .inner = 1});
  }
}

/// log y = beta x - c with one c per run along the axis: the slope over all runs. Elements near zero say little about
/// their logarithm.
std::optional<double> fitted_beta(std::span<const float> x, std::span<const float> y, const AxisView& view) {
  constexpr float kTelling = 0x1p-8F;
  SlopeFit slope;
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      double mean_x = 0;
      double mean_log = 0;
      int count = 0;
      const auto for_telling = [&](auto f) {
        for (std::int64_t k = 0; k < view.extent; ++k) {
          const auto at = static_cast<std::size_t>((o * view.extent + k) * view.inner + i);
          if (y[at] > kTelling) f(x[at], std::log(static_cast<double>(y[at])));
        }
      };
      for_telling([&](double v, double l) { mean_x += v, mean_log += l, ++count; });
      if (count < 2) continue;
      mean_x /= count;
      mean_log /= count;
      for_telling([&](double v, double l) { slope.add(v - mean_x, l - mean_log, 0); });
    }
  }
  const ConstantEstimate beta = slope.estimate();
  if (!std::isfinite(beta.tolerance) || beta.value == 0) return std::nullopt;
  return beta.value;
}

/// A known activation for single elements; empty if there is none of that name.
MakeExact by_element(std::string_view name) {
  const std::span<const Activation> known = known_activations();
  const auto found = std::find_if(known.begin(), known.end(), [&](const Activation& a) { return a.name == name; });
  if (found == known.end()) return {};
  return [f = found->f](const RunContext& run) -> Result<ElementValue> {
    return [x = run.inputs[0], f](std::int64_t i) -> double { return f(x->f32()[static_cast<std::size_t>(i)]); };
  };
}

std::vector<Hypothesis> mistakes(const Evidence& evidence, int axis) {
  const Tensor& x = *evidence.context.inputs[0];
  if (x.type() != DType::f32 || x.empty() || x.dims() != evidence.device.dims()) return {};
  const AxisView right = view_axis(x.dims(), axis);
  std::vector<Hypothesis> list;
  add_other_axes(list, evidence, axis);
  for (Hypothesis& h : activation_mistakes("Softmax", "node type", kMnnFile)) {
    h.exact = by_element(h.used);
    list.push_back(std::move(h));
  }
  list.push_back({.cause = "activation_wrong",
                  .parameter = "node type",
                  .used = "LogSoftmax",
                  .meant = "Softmax",
                  .file = kMnnFile,
                  .bound = "unmeasured",
                  .compute = [right](const RunContext& run) {
                    auto result = softmax_along(right)(run);
                    if (result) {
                      for (float& v : result->value.f32()) v = std::log(v);
                    }
                    return result;
                  }});
  if (const auto beta = fitted_beta(x.f32(), evidence.device.f32(), right)) {
    for (double b : snap_candidates(*beta)) {
      list.push_back({.cause = "activation_slope_wrong",
                      .parameter = "beta",
                      .used = fmt::format("{:.6g}", b),
                      .meant = "1",
                      .file = kMnnFile,
                      .free_parameters = 1,
                      .compute = softmax_along(right, static_cast<float>(b))});
    }
  }
  return list;
}

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
      stages.push_back(swap_stage("stageInput", "_PermBefore", 0, axis, rank, "softmax_axis_wrong", kMnnFile));
      Stage main = main_stage(rank - 1);
      main.name = "stageOutput";
      main.node_suffix = "_Softmax";
      main.inputs = {-1};
      stages.push_back(std::move(main));
      stages.push_back(swap_stage("", "_PermAfter", -2, axis, rank, "softmax_axis_wrong", kMnnFile));
      return stages;
    }
    stages.push_back(main_stage(axis));
    return stages;
  }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const Operand& x = context.inputs[0];
    const int rank = static_cast<int>(x.spec.dims.size());
    int axis = *normalize_axis(axis_, rank);
    QnnBuilder builder(context);
    QnnTensorRef from = QnnBuilder::input();
    Dims dims = context.in_dims(0);
    Layout layout = x.layout;
    if (!context.as_mnn()) {
      if (QnnBuilder::is_reordered(x) && !QnnBuilder::is_reordered(context.outputs[0])) {
        from = builder.logical_input(0);
        dims = x.spec.dims;
        layout = Layout::logical;
      } else {
        axis = device_axis(axis, rank, layout);
      }
    }
    const auto node = [&](std::string suffix, QnnTensorRef in, QnnTensorRef out) {
      builder.node(std::move(suffix), "Softmax", {in}, out, {u32_scalar("axis", rank - 1)});
    };
    if (axis == rank - 1) {
      node("", from, QnnBuilder::output());
      return builder.take();
    }
    const std::vector<int> swap = swap_with_last(axis, rank);
    std::swap(dims[static_cast<std::size_t>(axis)], dims.back());
    const QnnTensorRef before = builder.stage("stageInput", dims, context.input_types[0]);
    const QnnTensorRef after = builder.stage("stageOutput", dims, context.output_types[0]);
    builder.transpose("_PermBefore", from, before, swap, "before");
    node("_Softmax", before, after);
    builder.transpose("_PermAfter", after, QnnBuilder::output(), swap, "after");
    return builder.take();
  }

 private:
  static Stage main_stage(int axis) {
    return {
        .qnn_type = "Softmax",
        .inputs = {0},
        .bound = "Softmax",
        .compute = [axis](const RunContext& run) { return softmax_along(view_axis(run.inputs[0]->dims(), axis))(run); },
        .hypotheses = [axis](const Evidence& evidence) { return mistakes(evidence, axis); }};
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
