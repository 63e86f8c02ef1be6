#include "diagnose/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qnndbg {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The bound's constants in the form of the inner loop: bound = base + y |ref| + magnitude M.
struct Line {
  float base = 0;
  float y = 0;
  float magnitude = 0;

  float at(float reference, float m) const { return base + y * std::fabs(reference) + magnitude * m; }
};

double ratio_of(double error, double line) { return error == 0 ? 0 : line > 0 ? error / line : kInfinity; }

struct Scan {
  float worst_ratio = -1;
  std::int64_t worst = -1;
  std::int64_t beyond = 0;
  std::int64_t odd = 0;  // elements that are not a number on either side
};

/// The common case in a loop without branches: every element finite.
template <bool kWithMagnitude>
Scan scan(std::span<const float> device, std::span<const float> reference, std::span<const float> magnitude,
          const Line& line) {
  constexpr std::size_t kBlock = 1024;
  Scan result;
  for (std::size_t begin = 0; begin < device.size(); begin += kBlock) {
    const std::size_t end = std::min(device.size(), begin + kBlock);
    float worst = 0;
    std::int32_t beyond = 0;
    std::int32_t odd = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const float error = std::fabs(device[i] - reference[i]);
      const float limit = line.at(reference[i], kWithMagnitude ? magnitude[i] : 0.0F);
      // Compared as a product: a division by a zero bound would make NaN of a perfect element.
      beyond += error > limit ? 1 : 0;
      odd += error <= std::numeric_limits<float>::max() ? 0 : 1;
      const float ratio = error / (limit + std::numeric_limits<float>::min());
      worst = ratio > worst ? ratio : worst;
    }
    result.beyond += beyond;
    result.odd += odd;
    if (worst > result.worst_ratio) {
      result.worst_ratio = worst;
      result.worst = static_cast<std::int64_t>(begin);  // the block; found exactly below
    }
  }
  if (result.worst >= 0) {
    const auto begin = static_cast<std::size_t>(result.worst);
    float best = -1;
    for (std::size_t i = begin; i < std::min(device.size(), begin + kBlock); ++i) {
      const float ratio =
          std::fabs(device[i] - reference[i]) /
          (line.at(reference[i], kWithMagnitude ? magnitude[i] : 0.0F) + std::numeric_limits<float>::min());
      if (ratio > best) {
        best = ratio;
        result.worst = static_cast<std::int64_t>(i);
      }
    }
  }
  return result;
}

/// Brings the reference to what the tensor can hold and counts what that changes beyond the bound.
void saturate(std::span<float> reference, const ValueRange& range, const Bound& bound, Judgement& out) {
  const auto low = static_cast<float>(range.low);
  const auto high = static_cast<float>(range.high);
  const auto slack = static_cast<float>(bound.absolute);
  for (float& r : reference) {
    if (r > high) {
      if (r - high > slack) ++out.beyond_high;
      out.highest = std::max(out.highest, r);
      r = high;
    } else if (r < low) {
      if (low - r > slack) ++out.beyond_low;
      out.lowest = std::min(out.lowest, r);
      r = low;
    }
  }
}

}  // namespace

Judgement judge(std::span<const float> device, std::span<float> reference, std::span<const float> magnitude,
                const Bound& bound, HalfKind half, const std::function<std::optional<ElementValue>()>& exact) {
  Judgement out;
  if (bound.clip) saturate(reference, *bound.clip, bound, out);
  float max_abs = 0;
  bool finite = true;
  for (float& r : reference) {
    const float a = std::fabs(r);
    finite = finite && a <= std::numeric_limits<float>::max();
    max_abs = a > max_abs ? a : max_abs;
  }
  out.reference_max_abs = max_abs;
  const std::size_t n = std::min(device.size(), reference.size());
  if (max_abs > kHalfMax) {
    for (std::size_t i = 0; i < n; ++i) {
      if (!(std::fabs(reference[i]) > kHalfMax)) continue;
      ++out.beyond_half;
      if (out.first_beyond < 0) {
        out.first_beyond = static_cast<std::int64_t>(i);
        out.first_beyond_value = reference[i];
      }
      if (half == HalfKind::htp)
        reference[i] = std::copysign(std::min(std::fabs(reference[i]), static_cast<float>(kHtpHalfMax)), reference[i]);
    }
  }
  const Line line{
      static_cast<float>(bound.absolute + bound.max_y * kHalfUnitRoundoff * std::min<double>(max_abs, kHtpHalfMax)),
      static_cast<float>(bound.y * kHalfUnitRoundoff), static_cast<float>(bound.magnitude * kHalfUnitRoundoff)};
  const bool with_magnitude = bound.magnitude > 0 && magnitude.size() == reference.size();
  const Scan first = with_magnitude ? scan<true>(device.first(n), reference.first(n), magnitude, line)
                                    : scan<false>(device.first(n), reference.first(n), {}, line);
  out.compared = static_cast<std::int64_t>(n);
  if (first.odd == 0 && finite && first.beyond == 0) {
    out.bound_ratio = n == 0 ? 0 : first.worst_ratio;
    out.worst = first.worst;
    return out;
  }

  // Something is off or not finite: collect the elements beyond the line, worst first.
  struct Suspect {
    std::int64_t index;
    double ratio;
  };
  std::vector<Suspect> suspects;
  const auto ratio_at = [&](std::size_t i) {
    const double error = std::fabs(static_cast<double>(device[i]) - reference[i]);
    return ratio_of(error, line.at(reference[i], with_magnitude ? magnitude[i] : 0.0F));
  };
  double best_within = -1;
  std::int64_t best_within_at = -1;
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(reference[i])) {
      --out.compared;
      continue;
    }
    if (!std::isfinite(device[i])) {
      ++out.device_nonfinite;
      suspects.push_back({static_cast<std::int64_t>(i), kInfinity});
      continue;
    }
    const double ratio = ratio_at(i);
    if (ratio > 1) {
      suspects.push_back({static_cast<std::int64_t>(i), ratio});
    } else if (ratio > best_within) {
      best_within = ratio;
      best_within_at = static_cast<std::int64_t>(i);
    }
  }
  std::sort(suspects.begin(), suspects.end(), [](const Suspect& a, const Suspect& b) {
    return a.ratio != b.ratio ? a.ratio > b.ratio : a.index < b.index;
  });

  std::optional<ElementValue> evaluate;
  bool evaluate_made = false;
  std::size_t refuted = 0;
  for (const Suspect& suspect : suspects) {
    double ratio = suspect.ratio;
    if (std::isfinite(ratio) && exact) {
      if (!evaluate_made) {
        evaluate = exact();
        evaluate_made = true;
      }
      if (evaluate) {
        const auto i = static_cast<std::size_t>(suspect.index);
        double value = (*evaluate)(suspect.index);
        if (bound.clip) value = std::clamp(value, bound.clip->low, bound.clip->high);
        if (half == HalfKind::htp) value = std::clamp(value, -kHtpHalfMax, kHtpHalfMax);
        reference[i] = static_cast<float>(value);
        ratio = ratio_at(i);
        if (ratio <= 1) {
          ++refuted;
          if (ratio > best_within) {
            best_within = ratio;
            best_within_at = suspect.index;
          }
          continue;
        }
      }
    }
    out.bound_ratio = ratio;
    out.worst = suspect.index;
    break;
  }
  if (out.worst < 0 || out.bound_ratio <= 1) {
    out.bound_ratio = std::max(0.0, best_within);
    out.worst = best_within_at;
  }
  if (out.compared > 0) {
    out.within_bound = 1.0 - static_cast<double>(suspects.size() - refuted) / static_cast<double>(out.compared);
  }
  return out;
}

}  // namespace qnndbg
