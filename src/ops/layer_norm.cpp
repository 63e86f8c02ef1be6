// LayerNorm: y = (x - mean) / sqrt(var + epsilon) * gamma + beta over a run of axes; RMS form without the mean.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"

namespace qnndbg {
namespace {

struct Parameters {
  std::vector<std::int64_t> axes;  // empty: view as [N, group, rest] and normalise each rest
  std::int64_t group = 1;
  float epsilon = 0;
  bool rms = false;
  std::vector<float> gamma = {};  // empty: 1
  std::vector<float> beta = {};   // empty: 0
};

/// Normalises runs of `extent` consecutive elements. Statistics in double: x - mean cancels.
void normalize_rows(std::span<const float> x, std::int64_t extent, const Parameters& p, std::span<const float> gamma,
                    std::span<const float> beta, std::span<float> y) {
  const auto n = static_cast<std::size_t>(extent);
  for (std::size_t row = 0; row + n <= x.size(); row += n) {
    const std::span<const float> in = x.subspan(row, n);
    double mean = 0;
    if (!p.rms) mean = std::accumulate(in.begin(), in.end(), 0.0) / static_cast<double>(n);
    double square = 0;
    for (float v : in) square += (v - mean) * (v - mean);
    const double scale = 1.0 / std::sqrt(square / static_cast<double>(n) + p.epsilon);
    for (std::size_t i = 0; i < n; ++i) {
      const double g = gamma.empty() ? 1.0 : gamma[i];
      const double b = beta.empty() ? 0.0 : beta[i];
      y[row + i] = static_cast<float>((in[i] - mean) * scale * g + b);
    }
  }
}

class LayerNorm final : public Op {
 public:
  explicit LayerNorm(Parameters parameters) : p_(std::move(parameters)) {}

  bool has_constants() const override { return true; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 1);
    if (!x) return fail(x.error());
    if (inputs.size() > 1 && inputs[1].present) return fail("LayerNorm with a residual operand is not implemented");
    auto axes = normalized_axes(static_cast<int>(x->dims.size()));
    if (!axes) return fail(axes.error());
    const std::int64_t extent = run_extent(x->dims, *axes);
    for (const std::vector<float>* v : {&p_.gamma, &p_.beta}) {
      if (!v->empty() && static_cast<std::int64_t>(v->size()) != extent) {
        return fail("{} gamma or beta values for runs of {}", v->size(), extent);
      }
    }
    return std::vector<TensorSpec>{std::move(*x)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const Dims& dims = context.inputs[0].spec.dims;
    const int rank = static_cast<int>(dims.size());
    const std::vector<int> axes = *normalized_axes(rank);
    std::vector<Stage> stages;
    if (axes.size() == 1 && context.dumped("tempInput") && context.dumped("tempOutput")) {
      stages.push_back(transpose_stage("tempInput", "_before", 0, swap_with_last(axes[0], rank)));
      Stage main = main_stage({rank - 1});
      main.name = "tempOutput";
      main.node_suffix = "_norm";
      main.inputs = {-1};
      stages.push_back(std::move(main));
      stages.push_back(transpose_stage("", "_after", -2, swap_with_last(axes[0], rank)));
      return stages;
    }
    stages.push_back(main_stage(axes));
    return stages;
  }

 private:
  /// The axes of the run, ascending; empty for the grouped form.
  Result<std::vector<int>> normalized_axes(int rank) const {
    std::vector<int> axes;
    if (p_.axes.empty() || p_.group > 1) return axes;
    for (std::int64_t axis : p_.axes) {
      auto normal = normalize_axis(axis, rank);
      if (!normal) return fail(normal.error());
      axes.push_back(*normal);
    }
    std::sort(axes.begin(), axes.end());
    axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
    if (axes.back() - axes.front() + 1 != static_cast<int>(axes.size()))
      return fail("LayerNorm over axes that are not neighbours");
    return axes;
  }

  std::int64_t run_extent(const Dims& dims, const std::vector<int>& axes) const {
    std::int64_t extent = 1;
    if (axes.empty()) {
      for (std::size_t k = 1; k < dims.size(); ++k) extent *= dims[k];
      return extent / p_.group;
    }
    for (int axis : axes) extent *= dims[static_cast<std::size_t>(axis)];
    return extent;
  }

  Stage main_stage(const std::vector<int>& axes) const {
    return {.qnn_type = p_.rms ? "RmsNorm" : "LayerNorm",
            .inputs = {0},
            .bound = "LayerNorm",
            .compute = [this, axes](const RunContext& run) { return compute(run, axes); }};
  }

  Result<StageResult> compute(const RunContext& run, const std::vector<int>& axes) const {
    const Tensor& x = *run.inputs[0];
    if (x.type() != DType::f32) return fail("LayerNorm of integers");
    std::vector<float> gamma = p_.gamma;
    std::vector<float> beta = p_.beta;
    // In fixed point they have 16 bits of their own range, finer than a half.
    if (run.constants && !run.fixed_point) {
      round_to_half(gamma, *run.constants, run.half);
      round_to_half(beta, *run.constants, run.half);
    }
    const std::int64_t extent = run_extent(x.dims(), axes);
    if (extent <= 0) return StageResult{.value = x.clone()};
    StageResult result{.value = Tensor::f32(x.dims())};
    if (axes.empty() || axes.back() == x.rank() - 1) {
      normalize_rows(x.f32(), extent, p_, gamma, beta, result.value.f32());
      return result;
    }
    // The run is not at the end: move it there, normalise, move it back.
    std::vector<int> to_end;
    for (int k = 0; k < x.rank(); ++k) {
      if (std::find(axes.begin(), axes.end(), k) == axes.end()) to_end.push_back(k);
    }
    to_end.insert(to_end.end(), axes.begin(), axes.end());
    const Tensor moved = permute(x, to_end);
    Tensor normalised = Tensor::f32(moved.dims());
    normalize_rows(moved.f32(), extent, p_, gamma, beta, normalised.f32());
    std::vector<int> back(to_end.size());
    for (std::size_t k = 0; k < to_end.size(); ++k) back[static_cast<std::size_t>(to_end[k])] = static_cast<int>(k);
    result.value = permute(normalised, back);
    return result;
  }

  Parameters p_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::LayerNorm* main = model.wire_op(node.index).main_as_LayerNorm();
  if (main == nullptr) return fail("its LayerNorm parameters are missing");
  Parameters p{
      .axes = ints_of(main->axis()), .group = main->group(), .epsilon = main->epsilon(), .rms = main->useRMSNorm()};
  if (p.group < 1) return fail("group {} makes no LayerNorm", p.group);
  auto gamma = model.float_part(node.index, main->gamma(), main->external(), 0);
  if (!gamma) return fail(gamma.error());
  auto beta = model.float_part(node.index, main->beta(), main->external(), 1);
  if (!beta) return fail(beta.error());
  p.gamma.assign(gamma->values().begin(), gamma->values().end());
  p.beta.assign(beta->values().begin(), beta->values().end());
  return std::make_unique<LayerNorm>(std::move(p));
}

const RegisterOp kRegister{"LayerNorm", make};

}  // namespace
}  // namespace qnndbg
