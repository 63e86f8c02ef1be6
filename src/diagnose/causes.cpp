#include "diagnose/causes.h"

#include <algorithm>
#include <cmath>

namespace qnndbg {
namespace {

struct Match {
  Hypothesis hypothesis;
  double ratio = 0;  // reproduction error in bound units
};

bool all_finite(const Tensor* tensor) {
  if (tensor == nullptr || tensor->type() != DType::f32) return true;
  return std::all_of(tensor->f32().begin(), tensor->f32().end(), [](float v) { return std::isfinite(v); });
}

/// NaN or Inf where the reference is finite, made here because the inputs have none.
std::optional<CauseVerdict> created_nonfinite(const JudgedStage& broken, const std::vector<const Tensor*>& inputs) {
  if (broken.judgement.device_nonfinite == 0 || !std::all_of(inputs.begin(), inputs.end(), all_finite))
    return std::nullopt;
  const std::span<const float> device = broken.device.f32();
  const auto nan = std::count_if(device.begin(), device.end(), [](float v) { return std::isnan(v); });
  CauseVerdict verdict;
  verdict.cause = nan > 0 ? "nan_created" : "inf_created";
  verdict.proven = true;
  verdict.evidence.push_back(
      fmt::format("{} elements are {} although every input is finite and the replay gives numbers",
                  broken.judgement.device_nonfinite, nan > 0 ? "NaN or infinite" : "infinite"));
  return verdict;
}

std::vector<Match> matching_hypotheses(const Replayer& replayer, const Stage& stage, const JudgedStage& broken,
                                       const RunContext& context) {
  std::vector<Match> matches;
  if (!stage.hypotheses) return matches;
  const Bound bound = replayer.settings().bounds.of(stage.bound);
  std::vector<Hypothesis> hypotheses =
      stage.hypotheses({.context = context, .device = broken.device, .reference = broken.reference});
  std::stable_sort(hypotheses.begin(), hypotheses.end(),
                   [](const Hypothesis& a, const Hypothesis& b) { return a.free_parameters < b.free_parameters; });
  for (Hypothesis& hypothesis : hypotheses) {
    // Fewer free numbers explain better; once something simple fits, a fit with more freedom proves nothing.
    if (!matches.empty() && matches.front().hypothesis.free_parameters < hypothesis.free_parameters) break;
    // A fit with as many numbers as there are elements always succeeds.
    if (hypothesis.free_parameters * 4 > broken.device.size()) continue;
    RunContext run = context;
    run.want_magnitude = bound.magnitude > 0;
    auto result = hypothesis.compute(run);
    if (!result || result->value.size() != broken.device.size() || result->value.type() != DType::f32) continue;
    const Judgement judgement =
        judge(broken.device.f32(), result->value.f32(), result->magnitude.f32(), bound, replayer.settings().half, {});
    if (judgement.right() && judgement.device_nonfinite == 0)
      matches.push_back({std::move(hypothesis), judgement.bound_ratio});
  }
  std::stable_sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) { return a.ratio < b.ratio; });
  return matches;
}

}  // namespace

CauseVerdict find_cause(const Replayer& replayer, const ReplayedOp& replayed, const JudgedStage& broken,
                        HalfRounding constants) {
  const Stage& stage = replayed.stages[broken.stage];
  std::vector<const Tensor*> storage;
  const RunContext context = replayer.context_of(replayed, broken.stage, constants, storage);
  if (auto created = created_nonfinite(broken, storage)) return *created;

  CauseVerdict verdict;
  const std::vector<Match> matches = matching_hypotheses(replayer, stage, broken, context);
  if (!matches.empty()) {
    const Match& best = matches.front();
    verdict.cause = best.hypothesis.cause;
    verdict.proven = true;
    verdict.suspect =
        Suspect{best.hypothesis.file, best.hypothesis.parameter, best.hypothesis.used, best.hypothesis.meant};
    verdict.evidence.push_back(fmt::format(
        "replaying with {} = {} gives the device's tensor to within {:.3g} of the bound; the model means {}",
        best.hypothesis.parameter, best.hypothesis.used, best.ratio, best.hypothesis.meant));
    for (const Match& match : matches) {
      const std::string& id = match.hypothesis.cause;
      if (id != verdict.cause && std::find(verdict.ties.begin(), verdict.ties.end(), id) == verdict.ties.end())
        verdict.ties.push_back(id);
    }
    return verdict;
  }
  const std::span<const float> device = broken.device.f32();
  const bool constant =
      device.size() > 1 && std::all_of(device.begin(), device.end(), [&](float v) { return v == device[0]; });
  const std::span<const float> reference = broken.reference.f32();
  const bool reference_varies =
      std::any_of(reference.begin(), reference.end(), [&](float v) { return v != reference[0]; });
  if (constant && device[0] == 0) {
    verdict.cause = "output_zero";
    verdict.proven = true;
    verdict.evidence.push_back(fmt::format("all {} elements are 0, the replay reaches {:.3g}", device.size(),
                                           broken.judgement.reference_max_abs));
  } else if (constant && reference_varies) {
    verdict.cause = "output_constant";
    verdict.proven = true;
    verdict.evidence.push_back(fmt::format("all {} elements are {:.4g}, the replay varies", device.size(), device[0]));
  }
  return verdict;
}

}  // namespace qnndbg
