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

/// Every element is the same number, although the replay's differ (or, for zeros, are not zero).
std::optional<CauseVerdict> overwritten(const JudgedStage& broken) {
  const std::span<const float> device = broken.device.f32();
  const std::span<const float> reference = broken.reference.f32();
  if (device.empty() || !std::all_of(device.begin(), device.end(), [&](float v) { return v == device[0]; }))
    return std::nullopt;
  CauseVerdict verdict;
  verdict.proven = true;
  if (device[0] == 0) {
    verdict.cause = "output_zero";
    verdict.evidence.push_back(fmt::format("all {} elements are 0, the replay reaches {:.3g}", device.size(),
                                           broken.judgement.reference_max_abs));
    return verdict;
  }
  if (device.size() < 2 || std::all_of(reference.begin(), reference.end(), [&](float v) { return v == reference[0]; }))
    return std::nullopt;
  verdict.cause = "output_constant";
  verdict.evidence.push_back(fmt::format("all {} elements are {:.4g}, the replay varies", device.size(), device[0]));
  return verdict;
}

/// The buffer still holds another tensor of the run, bit for bit.
std::optional<CauseVerdict> unwritten(const Replayer& replayer, const ReplayedOp& replayed, const JudgedStage& broken) {
  // One or two numbers coincide too easily.
  constexpr std::int64_t kTellingSize = 4;
  const std::span<const float> device = broken.device.f32();
  if (broken.device.size() < kTellingSize) return std::nullopt;
  for (const Peer& peer : replayer.peers(replayed, broken.stage, broken.device.dims())) {
    auto other = peer.load();
    if (!other || other->type() != DType::f32 ||
        !std::equal(device.begin(), device.end(), other->f32().begin(), other->f32().end()))
      continue;
    CauseVerdict verdict;
    verdict.cause = "output_unwritten";
    verdict.proven = true;
    verdict.evidence.push_back(fmt::format("its {} elements are those of {}", device.size(), peer.name));
    return verdict;
  }
  return std::nullopt;
}

void add_tie(CauseVerdict& verdict, const std::string& cause) {
  if (cause != verdict.cause && std::find(verdict.ties.begin(), verdict.ties.end(), cause) == verdict.ties.end())
    verdict.ties.push_back(cause);
}

CauseVerdict cause_of(const Replayer& replayer, const ReplayedOp& replayed, const JudgedStage& broken,
                      const std::vector<Attempt>& attempts) {
  const std::optional<CauseVerdict> constant = overwritten(broken);
  const bool matched = !attempts.empty() && attempts.front().decisive;
  // A parameter that explains the constant says more than the constant does; weights of zero, or numbers fitted to it,
  // do not.
  const bool says_more = matched && attempts.front().hypothesis.free_parameters == 0 &&
                         attempts.front().hypothesis.cause != "weights_differ";
  if (constant && !says_more) return *constant;
  if (!matched) return unwritten(replayer, replayed, broken).value_or(CauseVerdict{});
  const Attempt& best = attempts.front();
  const Hypothesis& why = best.hypothesis;
  CauseVerdict verdict;
  verdict.cause = why.cause;
  verdict.proven = true;
  verdict.suspect = Suspect{why.file, why.parameter, why.used, why.meant};
  verdict.evidence.push_back(
      fmt::format("replaying with {} = {} gives the device's tensor to within {:.3g} of the bound; the model means {}",
                  why.parameter, why.used, best.ratio, why.meant));
  for (const Attempt& other : attempts) {
    if (other.decisive) add_tie(verdict, other.hypothesis.cause);
  }
  if (constant) add_tie(verdict, constant->cause);
  return verdict;
}

}  // namespace

CauseVerdict find_cause(const Replayer& replayer, const ReplayedOp& replayed, const JudgedStage& broken,
                        HalfRounding constants) {
  if (auto verdict = cause_without_attempts(replayer, replayed, broken, constants)) return *verdict;
  return cause_of(replayer, replayed, broken, try_hypotheses(replayer, replayed, broken, constants));
}

CauseVerdict find_cause(const Replayer& replayer, const ReplayedOp& replayed, const JudgedStage& broken,
                        HalfRounding constants, const std::vector<Attempt>& attempts) {
  if (auto verdict = cause_without_attempts(replayer, replayed, broken, constants)) return *verdict;
  return cause_of(replayer, replayed, broken, attempts);
}

}  // namespace qnndbg
