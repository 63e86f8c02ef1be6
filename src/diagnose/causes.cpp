#include "diagnose/causes.h"

#include <algorithm>
#include <cmath>

namespace qnndbg {
namespace {

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

/// What the stage's inputs say before any hypothesis is tried.
std::optional<CauseVerdict> cause_without_attempts(const Replayer& replayer, const ReplayedOp& replayed,
                                                   const JudgedStage& broken, HalfRounding constants) {
  std::vector<const Tensor*> storage;
  replayer.context_of(replayed, broken.stage, constants, storage);
  return created_nonfinite(broken, storage);
}

CauseVerdict cause_of(const JudgedStage& broken, const std::vector<Attempt>& attempts) {
  CauseVerdict verdict;
  if (!attempts.empty() && attempts.front().decisive) {
    const Attempt& best = attempts.front();
    const Hypothesis& why = best.hypothesis;
    verdict.cause = why.cause;
    verdict.proven = true;
    verdict.suspect = Suspect{why.file, why.parameter, why.used, why.meant};
    verdict.evidence.push_back(fmt::format(
        "replaying with {} = {} gives the device's tensor to within {:.3g} of the bound; the model means {}",
        why.parameter, why.used, best.ratio, why.meant));
    for (const Attempt& other : attempts) {
      const std::string& id = other.hypothesis.cause;
      if (other.decisive && id != verdict.cause &&
          std::find(verdict.ties.begin(), verdict.ties.end(), id) == verdict.ties.end())
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

}  // namespace

CauseVerdict find_cause(const Replayer& replayer, const ReplayedOp& replayed, const JudgedStage& broken,
                        HalfRounding constants) {
  if (auto verdict = cause_without_attempts(replayer, replayed, broken, constants)) return *verdict;
  return cause_of(broken, try_hypotheses(replayer, replayed, broken, constants));
}

CauseVerdict find_cause(const Replayer& replayer, const ReplayedOp& replayed, const JudgedStage& broken,
                        HalfRounding constants, const std::vector<Attempt>& attempts) {
  if (auto verdict = cause_without_attempts(replayer, replayed, broken, constants)) return *verdict;
  return cause_of(broken, attempts);
}

}  // namespace qnndbg
