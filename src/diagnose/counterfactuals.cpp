#include "diagnose/counterfactuals.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace qnndbg {
namespace {

// A sample refutes nearly every wrong hypothesis: a few of the worst elements, and some spread over the tensor.
constexpr std::size_t kWorstSamples = 24;
constexpr std::size_t kSpreadSamples = 40;
// Residuals that differ by less than this (in bound units) are one rounding apart and say nothing about plausibility.
constexpr double kEqualResidual = 0.15;
// An overdetermined fit has at least this many equations per free number.
constexpr std::int64_t kEquationsPerParameter = 4;
// A reproduction has finite values on at least this share of the elements.
constexpr double kLeastCompared = 0.9;

std::vector<std::int64_t> sample_elements(std::span<const float> device, std::span<const float> reference) {
  const std::size_t n = std::min(device.size(), reference.size());
  std::vector<std::int64_t> elements(n);
  std::iota(elements.begin(), elements.end(), 0);
  if (n <= kWorstSamples + kSpreadSamples) return elements;
  const auto error = [&](std::int64_t i) {
    const double e =
        std::fabs(static_cast<double>(device[static_cast<std::size_t>(i)]) - reference[static_cast<std::size_t>(i)]);
    return std::isfinite(e) ? e : HUGE_VAL;
  };
  std::nth_element(elements.begin(), elements.begin() + kWorstSamples, elements.end(),
                   [&](std::int64_t a, std::int64_t b) {
                     const double ea = error(a);
                     const double eb = error(b);
                     return ea != eb ? ea > eb : a < b;
                   });
  elements.resize(kWorstSamples);
  // A stride prime to usual extents, so that the spread does not stay in one column or channel.
  for (std::size_t k = 0; k < kSpreadSamples; ++k)
    elements.push_back(static_cast<std::int64_t>((k * n / kSpreadSamples + k * 7919) % n));
  return elements;
}

/// The bound as a line in |y| alone. The magnitude of a sum is not known here; sums of a trained network rarely exceed
/// the largest result by more than this factor.
ErrorLine line_of(const Bound& bound, std::span<const float> reference) {
  constexpr double kMagnitudePerResult = 4;
  double max = 0;
  for (float v : reference) max = std::max(max, std::isfinite(v) ? std::fabs(static_cast<double>(v)) : 0);
  return {.relative = bound.y * kHalfUnitRoundoff,
          .absolute = bound.absolute + (bound.max_y + kMagnitudePerResult * bound.magnitude) * kHalfUnitRoundoff * max};
}

/// Largest error over the sample in units of the bound; nullopt when the hypothesis has no evaluator or its bound needs
/// the whole tensor.
std::optional<double> sampled_ratio(const Hypothesis& hypothesis, const Bound& bound, const RunContext& context,
                                    std::span<const float> device, const std::vector<std::int64_t>& sample,
                                    HalfKind half) {
  if (!hypothesis.exact || bound.magnitude > 0 || bound.max_y > 0) return std::nullopt;
  auto evaluate = hypothesis.exact(context);
  if (!evaluate) return std::nullopt;
  double worst = 0;
  for (std::int64_t i : sample) {
    double value = (*evaluate)(i);
    if (!std::isfinite(value)) continue;
    if (bound.clip) value = std::clamp(value, bound.clip->low, bound.clip->high);
    if (half == HalfKind::htp) value = std::clamp(value, -kHtpHalfMax, kHtpHalfMax);
    const double error = std::fabs(device[static_cast<std::size_t>(i)] - value);
    const double line = bound.absolute + bound.y * kHalfUnitRoundoff * std::fabs(value);
    worst = std::max(worst, error == 0 ? 0 : line > 0 ? error / line : HUGE_VAL);
    if (worst > 4) break;
  }
  return worst;
}

Attempt attempt(Hypothesis hypothesis, const Bound& bound, const Evidence& evidence,
                const std::vector<std::int64_t>& sample) {
  const RunContext& context = evidence.context;
  const std::span<const float> device = evidence.device.f32();
  Attempt out{.hypothesis = std::move(hypothesis), .ratio = HUGE_VAL};
  if (auto ratio = sampled_ratio(out.hypothesis, bound, context, device, sample, context.half); ratio && *ratio > 1) {
    out.ratio = *ratio;
    out.sampled = true;
    return out;
  }
  RunContext run = context;
  run.want_magnitude = bound.magnitude > 0;
  auto result = out.hypothesis.compute(run);
  if (!result || result->value.size() != evidence.device.size()) return out;
  Tensor value = as_float(std::move(result->value));
  const auto exact = [&]() -> std::optional<ElementValue> {
    if (!out.hypothesis.exact) return std::nullopt;
    auto evaluator = out.hypothesis.exact(context);
    if (!evaluator) return std::nullopt;
    return std::move(*evaluator);
  };
  // A looser line than the stage's own proves nothing where the right output lies within it too.
  if (!out.hypothesis.bound.empty() && !bound.clip) {
    Tensor right = evidence.reference.clone();
    if (judge(device, right.f32(), result->magnitude.f32(), bound, context.half, {}).right()) return out;
  }
  const Judgement judgement = judge(device, value.f32(), result->magnitude.f32(), bound, context.half, exact);
  out.ratio = judgement.bound_ratio;
  // A function without values where the device has some (0 / 0, powers of negative numbers) explains nothing there.
  const bool has_values = judgement.compared >= kLeastCompared * static_cast<double>(device.size());
  out.matches = judgement.right() && judgement.device_nonfinite == 0 && has_values;
  return out;
}

/// Matches ahead; among them fewer free parameters, then a clearly smaller residual, else the operator's order.
void rank(std::vector<Attempt>& attempts) {
  std::stable_sort(attempts.begin(), attempts.end(), [](const Attempt& a, const Attempt& b) {
    if (a.matches != b.matches) return a.matches;
    return a.matches ? a.hypothesis.free_parameters < b.hypothesis.free_parameters : false;
  });
  const auto first = attempts.begin();
  if (first == attempts.end() || !first->matches) return;
  const auto end = std::find_if(first, attempts.end(), [&](const Attempt& a) {
    return !a.matches || a.hypothesis.free_parameters != first->hypothesis.free_parameters;
  });
  for (auto a = first; a != end; ++a) a->decisive = true;
  const double least =
      std::min_element(first, end, [](const Attempt& a, const Attempt& b) { return a.ratio < b.ratio; })->ratio;
  std::stable_partition(first, end, [&](const Attempt& a) { return a.ratio <= least + kEqualResidual; });
}

}  // namespace

std::vector<Attempt> try_hypotheses(const Stage& stage, const Evidence& evidence, const Bound& own,
                                    const Bounds& bounds) {
  std::vector<Attempt> attempts;
  if (!stage.hypotheses) return attempts;
  const std::vector<std::int64_t> sample = sample_elements(evidence.device.f32(), evidence.reference.f32());
  Evidence with_line = evidence;
  with_line.line = line_of(own, evidence.reference.f32());
  with_line.clip = own.clip;
  for (Hypothesis& hypothesis : stage.hypotheses(with_line)) {
    if (hypothesis.free_parameters > 0 && hypothesis.free_parameters * kEquationsPerParameter > evidence.device.size())
      continue;
    // Steps of the output's scale are the measure of a fixed-point tensor, whatever made it.
    const Bound bound = hypothesis.bound.empty() || own.clip ? own : bounds.of(hypothesis.bound);
    attempts.push_back(attempt(std::move(hypothesis), bound, evidence, sample));
  }
  rank(attempts);
  return attempts;
}

std::vector<Attempt> try_hypotheses(const Replayer& replayer, const ReplayedOp& replayed, const JudgedStage& broken,
                                    HalfRounding constants) {
  std::vector<const Tensor*> storage;
  const RunContext context = replayer.context_of(replayed, broken.stage, constants, storage);
  const Evidence evidence{
      .context = context, .device = broken.device, .reference = broken.reference, .peers = [&](const Dims& dims) {
        return replayer.peers(replayed, broken.stage, dims);
      }};
  return try_hypotheses(replayed.stages[broken.stage], evidence, broken.bound, replayer.settings().bounds);
}

}  // namespace qnndbg
