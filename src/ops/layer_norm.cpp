// LayerNorm: y = (x - mean) / sqrt(var + epsilon) * gamma + beta over a run of axes; RMS form without the mean.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/axis_swap.h"
#include "ops/support/channel_constants.h"
#include "ops/support/host_values.h"
#include "ops/support/snap.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNLayerNorm.cpp";

struct Parameters {
  std::vector<std::int64_t> axes;  // empty: view as [N, group, rest] and normalise each rest
  std::int64_t group = 1;
  float epsilon = 0;
  bool rms = false;
  std::vector<float> gamma = {};  // empty: 1
  std::vector<float> beta = {};   // empty: 0
};

/// Mean and mean square deviation of a run. In double: x - mean cancels.
struct Statistics {
  double mean = 0;
  double variance = 0;
};

Statistics statistics_of(std::span<const float> run, bool rms) {
  Statistics s;
  const auto n = static_cast<double>(run.size());
  if (!rms) s.mean = std::accumulate(run.begin(), run.end(), 0.0) / n;
  for (float v : run) s.variance += (v - s.mean) * (v - s.mean);
  s.variance /= n;
  return s;
}

/// Normalises runs of `extent` consecutive elements.
void normalize_rows(std::span<const float> x, std::int64_t extent, const Parameters& p, std::span<float> y) {
  const auto n = static_cast<std::size_t>(extent);
  for (std::size_t row = 0; row + n <= x.size(); row += n) {
    const std::span<const float> in = x.subspan(row, n);
    const Statistics s = statistics_of(in, p.rms);
    const double scale = 1.0 / std::sqrt(s.variance + p.epsilon);
    for (std::size_t i = 0; i < n; ++i) {
      const double g = p.gamma.empty() ? 1.0 : p.gamma[i];
      const double b = p.beta.empty() ? 0.0 : p.beta[i];
      y[row + i] = static_cast<float>((in[i] - s.mean) * scale * g + b);
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
      stages.push_back(swap_stage("tempInput", "_before", 0, axes[0], rank, "permutation_wrong", kMnnFile));
      Stage main = main_stage({rank - 1});
      main.name = "tempOutput";
      main.node_suffix = "_norm";
      main.inputs = {-1};
      stages.push_back(std::move(main));
      stages.push_back(swap_stage("", "_after", -2, axes[0], rank, "permutation_wrong", kMnnFile));
      return stages;
    }
    stages.push_back(main_stage(axes));
    return stages;
  }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const int rank = static_cast<int>(context.inputs[0].spec.dims.size());
    auto axes = normalized_axes(rank);
    if (!axes) return not_mapped(axes.error());
    if (context.as_mnn()) {
      if (rank > 4 || p_.group > 1 || p_.axes.size() > 1)
        return refuse(QnnRefusal::Kind::refused,
                      "rank {}, group {} and {} axes; the backend takes rank 4, group 1 and one axis", rank, p_.group,
                      p_.axes.size());
      if (p_.axes.empty())
        return refuse(QnnRefusal::Kind::crash, "it has no axis, which the backend reads all the same");
    }
    if (axes->empty()) return refuse(QnnRefusal::Kind::not_mapped, "a LayerNorm over groups");
    QnnMapping mapping = axes->size() == 1 ? along_one_axis(context, axes->front()) : along_trailing(context, *axes);
    if (mapping.nodes.empty()) return refuse(QnnRefusal::Kind::not_mapped, "a LayerNorm over inner axes");
    mapping.named_by_counters = true;
    return mapping;
  }
  bool runs_quantized(DType type) const override { return type == DType::ufixed16; }

 private:
  /// Swaps the axis with the last one around the node, which works on the last alone.
  QnnMapping along_one_axis(const QnnContext& context, int axis) const {
    QnnBuilder builder(context);
    const Operand& x = context.inputs[0];
    QnnTensorRef from = QnnBuilder::input();
    Dims dims = context.in_dims(0);
    if (!context.as_mnn()) {
      if (QnnBuilder::is_reordered(x) && !QnnBuilder::is_reordered(context.outputs[0])) {
        from = builder.logical_input(0);
        dims = x.spec.dims;
      } else {
        axis = device_axis(axis, static_cast<int>(dims.size()), x.layout);
      }
    }
    const int last = static_cast<int>(dims.size()) - 1;
    if (axis == last) {
      write_norm(builder, context, "", dims, from, QnnBuilder::output());
      return builder.take();
    }
    const std::vector<int> swap = swap_with_last(axis, last + 1);
    std::swap(dims[static_cast<std::size_t>(axis)], dims.back());
    // MNN declares both as floats even between fixed-point tensors.
    const QnnTensorRef before =
        builder.stage("tempInput", dims, context.as_mnn() ? builder.float_type() : context.input_types[0]);
    const QnnTensorRef after =
        builder.stage("tempOutput", dims, context.as_mnn() ? builder.float_type() : context.output_types[0]);
    builder.transpose("_before", from, before, swap, "before");
    write_norm(builder, context, "_norm", dims, before, after);
    builder.transpose("_after", after, QnnBuilder::output(), swap, "after");
    return builder.take();
  }

  /// The trailing axes made one. Empty if they are not trailing.
  QnnMapping along_trailing(const QnnContext& context, const std::vector<int>& axes) const {
    const Dims& in = context.inputs[0].spec.dims;
    if (axes.back() != static_cast<int>(in.size()) - 1) return {};
    Dims merged(in.begin(), in.begin() + axes.front());
    merged.push_back(run_extent(in, axes));
    QnnBuilder builder(context);
    const QnnTensorRef before = builder.stage("merged", merged, context.input_types[0]);
    const QnnTensorRef after = builder.stage("normalised", merged, context.output_types[0]);
    builder.reshape("_before", builder.logical_input(0), before);
    write_norm(builder, context, "_norm", merged, before, after);
    builder.logical_output(0, [&](QnnTensorRef target) { builder.reshape("_after", after, target); });
    return builder.take();
  }

  void write_norm(QnnBuilder& builder, const QnnContext& context, std::string suffix, const Dims& dims,
                  QnnTensorRef from, QnnTensorRef to) const {
    // MNN looks at gamma only where there is a beta too.
    const bool has_gamma = !p_.gamma.empty() && (!p_.beta.empty() || !context.as_mnn());
    const auto constant = [&](const char* name, const std::vector<float>* values, float otherwise) {
      auto make = [values, otherwise, n = dims.back()]() -> Result<std::vector<float>> {
        return values != nullptr ? *values : std::vector<float>(static_cast<std::size_t>(n), otherwise);
      };
      if (!context.quantized()) return builder.floats(name, {dims.back()}, make);
      return builder.constant(
          in_sixteen_bits(name, values != nullptr ? *values : std::vector<float>{otherwise}, dims.back()));
    };
    const QnnTensorRef gamma = constant("gamma", has_gamma ? &p_.gamma : nullptr, 1);
    const QnnTensorRef beta = constant("beta", p_.beta.empty() ? nullptr : &p_.beta, 0);
    builder.node(std::move(suffix), p_.rms ? "RmsNorm" : "LayerNorm", {from, gamma, beta}, to,
                 {QnnParam{"epsilon", p_.epsilon}, u32_list("axes", {static_cast<std::int64_t>(dims.size()) - 1})});
  }

  /// A constant beside fixed-point data: uint16 over the range of its values, `count` of them or one for all.
  static QnnConstant in_sixteen_bits(std::string name, const std::vector<float>& values, std::int64_t count) {
    constexpr double kSteps = 65535;
    double low = 0;
    double high = 0;
    if (!values.empty()) {
      const auto [least, most] = std::minmax_element(values.begin(), values.end());
      low = *least, high = *most;
    }
    // Equal values make no range; with zero they do.
    if (!(high > low)) low = std::min(low, 0.0), high = std::max(high, 0.0);
    const double scale = high > low && std::isfinite(high - low) ? (high - low) / kSteps : 1.0;
    const Encoding encoding{
        scale, static_cast<std::int32_t>(std::clamp(std::round(low / scale), -2147483648.0, 2147483647.0))};
    std::vector<std::uint16_t> stored;
    for (float v : values) {
      const double q = std::round(v / scale) - encoding.offset;
      stored.push_back(static_cast<std::uint16_t>(std::isnan(q) ? 0 : std::clamp(q, 0.0, kSteps)));
    }
    return {.name = std::move(name),
            .dims = {count},
            .type = {DType::ufixed16, QnnEncoding::of_tensor(encoding)},
            .data = [stored = std::move(stored), count]() mutable -> Result<std::vector<std::byte>> {
              if (stored.size() == 1) stored.resize(static_cast<std::size_t>(count), stored[0]);
              const auto bytes = std::as_bytes(std::span(stored));
              return std::vector<std::byte>(bytes.begin(), bytes.end());
            }};
  }

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

  static std::vector<int> run_to_end(const std::vector<int>& axes, int rank) {
    std::vector<int> to_end;
    for (int k = 0; k < rank; ++k) {
      if (std::find(axes.begin(), axes.end(), k) == axes.end()) to_end.push_back(k);
    }
    to_end.insert(to_end.end(), axes.begin(), axes.end());
    return to_end;
  }

  Stage main_stage(const std::vector<int>& axes) const {
    return {.qnn_type = p_.rms ? "RmsNorm" : "LayerNorm",
            .inputs = {0},
            .bound = "LayerNorm",
            .compute = [this, axes](const RunContext& run) { return compute(run, axes, on_device(run)); },
            .hypotheses = [this, axes](const Evidence& evidence) { return mistakes(evidence, axes); }};
  }

  /// The parameters with gamma and beta rounded as the device has them.
  Parameters on_device(const RunContext& run) const {
    Parameters p = p_;
    // In fixed point they have 16 bits of their own range, finer than a half.
    if (!run.constants || run.fixed_point) return p;
    round_to_half(p.gamma, *run.constants, run.half);
    round_to_half(p.beta, *run.constants, run.half);
    return p;
  }

  Result<StageResult> compute(const RunContext& run, const std::vector<int>& axes, const Parameters& p) const {
    const Tensor& x = *run.inputs[0];
    if (x.type() != DType::f32) return fail("LayerNorm of integers");
    const std::int64_t extent = run_extent(x.dims(), axes);
    if (extent <= 0) return StageResult{.value = x.clone()};
    StageResult result{.value = Tensor::f32(x.dims())};
    if (axes.empty() || axes.back() == x.rank() - 1) {
      normalize_rows(x.f32(), extent, p, result.value.f32());
      return result;
    }
    // The run is not at the end: move it there, normalise, move it back.
    const std::vector<int> to_end = run_to_end(axes, x.rank());
    const Tensor moved = permute(x, to_end);
    Tensor normalised = Tensor::f32(moved.dims());
    normalize_rows(moved.f32(), extent, p, normalised.f32());
    std::vector<int> back(to_end.size());
    for (std::size_t k = 0; k < to_end.size(); ++k) back[static_cast<std::size_t>(to_end[k])] = static_cast<int>(k);
    result.value = permute(normalised, back);
    return result;
  }

  /// What the device's output says about gamma, beta and epsilon, the other two taken as right.
  struct Observed {
    std::vector<Interval> gamma, beta;
    Interval epsilon;
  };

  Observed observe(const Evidence& evidence, const std::vector<int>& axes, const Parameters& p) const {
    const Tensor& x = *evidence.context.inputs[0];
    const auto n = static_cast<std::size_t>(run_extent(x.dims(), axes));
    Observed seen{.gamma = std::vector<Interval>(n), .beta = std::vector<Interval>(n), .epsilon = {}};
    const std::vector<int> to_end = run_to_end(axes, x.rank());
    const Tensor moved = permute(x, to_end);
    const Tensor device = permute(evidence.device, to_end);
    for (std::size_t row = 0; row + n <= moved.f32().size(); row += n) {
      const Statistics s = statistics_of(moved.f32().subspan(row, n), p.rms);
      const double scale = 1.0 / std::sqrt(s.variance + p.epsilon);
      for (std::size_t i = 0; i < n; ++i) {
        const double centred = moved.f32()[row + i] - s.mean;
        const double d = device.f32()[row + i];
        const double tolerance = evidence.line.at(d);
        const double g = p.gamma.empty() ? 1.0 : p.gamma[i];
        const double b = p.beta.empty() ? 0.0 : p.beta[i];
        const double normal = centred * scale;
        seen.beta[i].meet(d - normal * g - tolerance, d - normal * g + tolerance);
        meet_quotient(seen.gamma[i], d - b, normal, tolerance);
        // d - b = g (x - mean) / sqrt(variance + epsilon)
        Interval factor;
        meet_quotient(factor, d - b, g * centred, tolerance);
        if (factor.equations > 0 && factor.low > 0)
          seen.epsilon.meet(1 / (factor.high * factor.high) - s.variance, 1 / (factor.low * factor.low) - s.variance);
      }
    }
    return seen;
  }

  /// Narrows `interval` to the values v with |value - v * by| <= tolerance; a small divisor says nothing.
  static void meet_quotient(Interval& interval, double value, double by, double tolerance) {
    if (std::fabs(by) < 1e-3) return;
    const double a = (value - tolerance) / by;
    const double b = (value + tolerance) / by;
    interval.meet(std::min(a, b), std::max(a, b));
  }

  std::vector<Hypothesis> mistakes(const Evidence& evidence, const std::vector<int>& axes) const {
    std::vector<Hypothesis> list;
    if (evidence.context.inputs[0]->type() != DType::f32 || axes.empty()) return list;
    if (run_extent(evidence.context.inputs[0]->dims(), axes) <= 0) return list;
    const Parameters right = on_device(evidence.context);
    const HalfRounding rounding = evidence.context.constants.value_or(HalfRounding::nearest);
    const auto propose = [&](std::string cause, std::string parameter, std::string used, std::string meant,
                             Parameters p, int free_parameters) {
      list.push_back(
          {.cause = std::move(cause),
           .parameter = std::move(parameter),
           .used = std::move(used),
           .meant = std::move(meant),
           .file = kMnnFile,
           .free_parameters = free_parameters,
           .compute = [this, axes, p = std::move(p)](const RunContext& run) { return compute(run, axes, p); }});
    };
    const Observed seen = observe(evidence, axes, right);
    for (ConstantMistake& m : explain_constants({p_.gamma, right.gamma, rounding}, seen.gamma)) {
      const char* cause = gamma_cause(m.kind);
      if (cause == nullptr) continue;
      Parameters p = right;
      p.gamma = std::move(m.values);
      propose(cause, "gamma", m.used, "the model's gamma", std::move(p), m.free_parameters);
    }
    for (ConstantMistake& m : explain_constants({p_.beta, right.beta, rounding}, seen.beta)) {
      const char* cause = beta_cause(m.kind);
      if (cause == nullptr) continue;
      Parameters p = right;
      p.beta = std::move(m.values);
      propose(cause, "beta", m.used, "the model's beta", std::move(p), m.free_parameters);
    }
    if (seen.epsilon.equations > 0 && !seen.epsilon.contains(p_.epsilon)) {
      for (double epsilon : plain_values(std::max(0.0, seen.epsilon.low), seen.epsilon.high)) {
        Parameters p = right;
        p.epsilon = static_cast<float>(epsilon);
        propose("layernorm_epsilon_wrong", "epsilon", fmt::format("{:g}", epsilon), fmt::format("{:g}", p_.epsilon),
                std::move(p), 1);
      }
    }
    return list;
  }

  /// The ids that causes.md has; other mistakes with gamma and beta have none.
  static const char* gamma_cause(ConstantMistakeKind kind) {
    switch (kind) {
      case ConstantMistakeKind::dropped: return "gamma_dropped";
      case ConstantMistakeKind::ignored: return "gamma_ignored";
      case ConstantMistakeKind::misordered: return "gamma_misordered";
      case ConstantMistakeKind::scaled: return "gamma_scale_wrong";
      case ConstantMistakeKind::differs: return nullptr;
    }
    return nullptr;
  }
  static const char* beta_cause(ConstantMistakeKind kind) {
    switch (kind) {
      case ConstantMistakeKind::dropped: return "beta_dropped";
      case ConstantMistakeKind::misordered: return "beta_misordered";
      default: return nullptr;
    }
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
