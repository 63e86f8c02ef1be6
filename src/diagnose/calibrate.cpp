#include "diagnose/calibrate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

#include "diagnose/causes.h"
#include "diagnose/constant_rounding.h"
#include "diagnose/opened_run.h"
#include "diagnose/replay.h"

namespace qnndbg {
namespace {

/// How many elements of a stage are computed again in double to find its worst: the largest errors of fp32 sums are the
/// host's own, and those beyond them are few.
constexpr std::size_t kExactElements = 256;

/// What one judged stage used of its line.
struct StageFigures {
  double worst = 0;
  RatioHistogram ratios;
};

float ratio_of(double error, double line) {
  if (error == 0) return 0;
  return line > 0 ? static_cast<float>(error / line) : std::numeric_limits<float>::infinity();
}

/// The largest ratio, where the candidates that look worst count with their exact value.
double exact_worst(const StageView& view, std::vector<std::pair<float, std::int64_t>>& candidates,
                   const std::function<double(std::int64_t, double)>& ratio_with) {
  if (candidates.empty()) return 0;
  const std::size_t sorted = std::min(candidates.size(), kExactElements + 1);
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(sorted), candidates.end(),
                    std::greater<>());
  const std::optional<ElementValue> exact = view.exact();
  if (!exact) return candidates.front().first;
  double worst = 0;
  for (std::size_t k = 0; k < sorted && candidates[k].first > worst; ++k) {
    const auto& [ratio, element] = candidates[k];
    worst = std::max(worst, k < kExactElements ? ratio_with(element, (*exact)(element)) : ratio);
  }
  return worst;
}

StageFigures figures_of(const StageView& view) {
  const JudgedStage& judged = view.judged;
  const std::span<const float> device = judged.device.f32();
  const std::span<const float> reference = judged.reference.f32();
  const double max_abs = std::min(judged.judgement.reference_max_abs, kHtpHalfMax);
  const auto magnitude_at = [&](std::size_t i) { return i < view.magnitude.size() ? view.magnitude[i] : 0.0F; };
  StageFigures figures;
  std::vector<std::pair<float, std::int64_t>> candidates;
  const auto ratio_with = [&](std::int64_t element, double expected) -> double {
    const auto i = static_cast<std::size_t>(element);
    return ratio_of(std::fabs(device[i] - expected), judged.bound.at(expected, max_abs, magnitude_at(i)));
  };
  for (std::size_t i = 0; i < std::min(device.size(), reference.size()); ++i) {
    // What leaves the range is clamped or wrapped and says nothing about rounding.
    if (!(std::fabs(reference[i]) <= kHalfMax) || !std::isfinite(device[i])) continue;
    const auto ratio = static_cast<float>(ratio_with(static_cast<std::int64_t>(i), reference[i]));
    figures.ratios.add(ratio);
    if (ratio > 0) candidates.emplace_back(ratio, static_cast<std::int64_t>(i));
  }
  figures.worst = judged.judgement.right() ? exact_worst(view, candidates, ratio_with) : judged.judgement.bound_ratio;
  return figures;
}

}  // namespace

/// The figures of one run, kept apart until the run is known to be usable.
class Calibrator::OneRun {
 public:
  OneRun(const Calibrator& owner, const Model& model, CalibrationRun&& run)
      : owner_(owner), model_(model), run_(std::move(run)) {}

  Result<void> judge() {
    DiagnoseOptions options;
    options.dump = run_.dump;
    options.inputs = std::move(run_.inputs);
    const auto opened = OpenedRun::open(model_, options);
    if (!opened) return fail(opened.error());
    const OpenedRun& run = **opened;
    // No architecture: the lines of the table as they stand, without the allowance for those that were never measured.
    ReplaySettings settings = run.replay_settings(HalfKind::htp);
    const HalfRounding rounding = rounding_of(settings);
    settings.observe = [this](const StageView& view) { seen_.push_back(figures_of(view)); };
    Replayer replayer(settings);
    const int total = static_cast<int>(model_.graph().ops.size());
    for (const OpNode& node : model_.graph().ops) {
      if (owner_.options_.progress && !owner_.options_.progress(node.index, total, node.name))
        return fail("interrupted");
      const PlannedOp& planned = run.plan().ops[static_cast<std::size_t>(node.index)];
      if (planned.is_input || !run.device().dumped(node.index)) continue;
      visit(node, replayer, rounding);
    }
    return {};
  }

  const Table& table() const { return table_; }
  std::vector<LeftOut>& left_out() { return left_out_; }
  std::int64_t not_judged() const { return not_judged_; }

 private:
  /// Without an observer: only verdicts count here.
  static HalfRounding rounding_of(const ReplaySettings& settings) {
    Replayer plain(settings);
    return find_constant_rounding(plain).value_or(HalfRounding::toward_zero);
  }

  void visit(const OpNode& node, Replayer& replayer, HalfRounding rounding) {
    seen_.clear();
    const ReplayedOp replayed = replayer.replay(node.index, rounding);
    if (!replayed.problem.empty()) {
      ++not_judged_;
      return;
    }
    for (std::size_t i = 0; i < replayed.judged.size(); ++i) {
      const JudgedStage& judged = replayed.judged[i];
      const Stage& stage = replayed.stages[judged.stage];
      const DumpEntry& entry = replayer.settings().run.entry(judged.entry);
      // The line of a fixed-point tensor is a share of its own scale, which no other tensor has.
      if (is_quantized(entry.type)) continue;
      const std::string& tensor = entry.name;
      if (const std::optional<std::string> cause = bug(replayer, replayed, judged, rounding)) {
        left_out_.push_back({run_.name, node.index, node.name, node.type_name, tensor, stage.bound,
                             judged.judgement.bound_ratio, *cause});
      } else {
        count(key_of(stage), seen_[i], fmt::format("{}: {} `{}`, {}", run_.name, node.type_name, node.name, tensor));
      }
    }
    count_boundaries(node, replayed, replayer.settings());
  }

  /// The cause (which may be empty) of a stage that is broken; nullopt for one that counts.
  std::optional<std::string> bug(const Replayer& replayer, const ReplayedOp& replayed, const JudgedStage& judged,
                                 HalfRounding rounding) const {
    if (judged.judgement.right()) return std::nullopt;
    if (!(judged.judgement.bound_ratio <= owner_.options_.bug_factor)) return std::string();
    const CauseVerdict verdict = find_cause(replayer, replayed, judged, rounding);
    return verdict.proven ? std::optional(verdict.cause) : std::nullopt;
  }

  std::string key_of(const Stage& stage) const {
    return stage.bound == "unmeasured" ? fmt::format("unmeasured ({})", stage.qnn_type) : stage.bound;
  }

  /// The host side of a graph output beside its device side: the bound "Cast".
  void count_boundaries(const OpNode& node, const ReplayedOp& replayed, const ReplaySettings& settings) {
    for (const JudgedStage& judged : replayed.judged) {
      const Stage& stage = replayed.stages[judged.stage];
      if (!stage.name.empty()) continue;
      const int tensor = node.outputs[static_cast<std::size_t>(stage.output)];
      const int entry = settings.run.boundary(tensor);
      if (entry < 0) continue;
      const Layout layout = settings.plan.tensors[static_cast<std::size_t>(tensor)].layout;
      auto host = settings.run.load(entry, DType::f32, judged.device.dims(), layout, settings.half);
      if (!host) continue;
      const Bound bound = owner_.bounds_.of("Cast");
      StageFigures figures;
      for (std::size_t i = 0; i < static_cast<std::size_t>(host->size()); ++i) {
        const double expected = judged.device.f32()[i];
        const float ratio = ratio_of(std::fabs(host->f32()[i] - expected), bound.at(expected, 0, 0));
        figures.ratios.add(ratio);
        figures.worst = std::max<double>(figures.worst, ratio);
      }
      const std::string& name = settings.run.entry(entry).name;
      if (figures.worst > owner_.options_.bug_factor) {
        left_out_.push_back({run_.name, node.index, node.name, "Cast", name, "Cast", figures.worst, {}});
      } else {
        count("Cast", figures, fmt::format("{}: the Cast of `{}`, {}", run_.name, node.name, name));
      }
    }
  }

  void count(const std::string& key, const StageFigures& stage, const std::string& where) {
    Figures& figures = table_[{key, run_.arch}];
    figures.runs.insert(owner_.out_.runs);
    ++figures.instances;
    if (stage.worst > figures.worst || figures.worst_at.empty()) {
      figures.worst = std::max(stage.worst, figures.worst);
      figures.worst_at = where;
    }
    figures.ratios.add(stage.ratios);
  }

  const Calibrator& owner_;
  const Model& model_;
  CalibrationRun run_;
  std::vector<StageFigures> seen_;  // of the operator that is replayed, in the order of ReplayedOp::judged
  Table table_;
  std::vector<LeftOut> left_out_;
  std::int64_t not_judged_ = 0;
};

Result<Calibrator> Calibrator::create(CalibrationOptions options) {
  auto bounds = Bounds::load("unknown", 1);
  if (!bounds) return fail(bounds.error());
  return Calibrator(std::move(options), std::move(*bounds));
}

Result<void> Calibrator::add(const Model& model, CalibrationRun run) {
  const std::string name = run.name;
  OneRun one(*this, model, std::move(run));
  if (auto judged = one.judge(); !judged) return fail("{}: {}", name, judged.error().message);
  for (const auto& [key, figures] : one.table()) {
    Figures& sum = table_[key];
    sum.runs.insert(figures.runs.begin(), figures.runs.end());
    sum.instances += figures.instances;
    if (figures.worst > sum.worst || sum.worst_at.empty()) {
      sum.worst = std::max(figures.worst, sum.worst);
      sum.worst_at = figures.worst_at;
    }
    sum.ratios.add(figures.ratios);
  }
  std::move(one.left_out().begin(), one.left_out().end(), std::back_inserter(out_.left_out));
  out_.not_judged += one.not_judged();
  ++out_.runs;
  return {};
}

Calibration Calibrator::finish() const {
  Calibration out = out_;
  for (const auto& [key, figures] : table_) {
    const double unit = bounds_.of(key.first).leading();
    KeyFigures row{.key = key.first, .basis = {}, .worst_at = figures.worst_at};
    row.basis.arch = key.second;
    row.basis.runs = static_cast<std::int64_t>(figures.runs.size());
    row.basis.instances = figures.instances;
    row.basis.elements = figures.ratios.count();
    row.basis.worst = figures.worst * unit;
    // A bucket's end may lie beyond the largest number in it.
    row.basis.p999 = std::min(figures.ratios.quantile(0.999), figures.worst) * unit;
    out.keys.push_back(std::move(row));
  }
  return out;
}

}  // namespace qnndbg
