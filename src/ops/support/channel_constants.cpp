#include "ops/support/channel_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "ops/support/snap.h"

namespace qnndbg {
namespace {

using Values = std::vector<float>;

bool fits(std::span<const float> values, std::span<const Interval> observed) {
  for (std::size_t c = 0; c < observed.size(); ++c) {
    if (!observed[c].contains(values[c])) return false;
  }
  return true;
}

/// values[c] = meant[source(c)].
template <class Source>
Values reordered(std::span<const float> meant, Source source) {
  Values out(meant.size());
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = meant[source(c)];
  return out;
}

/// An assignment of the model's values to the channels, each used once: for intervals, serving the one that ends first
/// finds one whenever there is one.
std::optional<Values> matched(std::span<const float> meant, std::span<const Interval> observed) {
  std::vector<std::size_t> channels(meant.size());
  std::iota(channels.begin(), channels.end(), 0);
  std::sort(channels.begin(), channels.end(),
            [&](std::size_t a, std::size_t b) { return observed[a].high < observed[b].high; });
  std::vector<float> left(meant.begin(), meant.end());
  std::sort(left.begin(), left.end());
  Values out(meant.size());
  for (std::size_t c : channels) {
    const auto value = std::lower_bound(left.begin(), left.end(), observed[c].low,
                                        [](float v, double low) { return static_cast<double>(v) < low; });
    if (value == left.end() || *value > observed[c].high) return std::nullopt;
    out[c] = *value;
    left.erase(value);
  }
  return out;
}

/// Factors that every channel allows.
Interval common_factor(std::span<const float> meant, std::span<const Interval> observed) {
  Interval factor;
  for (std::size_t c = 0; c < meant.size(); ++c) {
    const double v = meant[c];
    if (v == 0 || !std::isfinite(observed[c].low) || !std::isfinite(observed[c].high)) continue;
    // Both the scaled and the plain value were cut to half, each off by up to 2u.
    const double slack = 4 * kHalfUnitRoundoff * std::max(std::fabs(observed[c].low), std::fabs(observed[c].high));
    const double a = (observed[c].low - slack) / v;
    const double b = (observed[c].high + slack) / v;
    factor.meet(std::min(a, b), std::max(a, b));
  }
  return factor;
}

std::optional<ConstantMistake> other_values(std::span<const float> meant, std::span<const Interval> observed) {
  ConstantMistake mistake{.kind = ConstantMistakeKind::differs, .used = {}, .values = {meant.begin(), meant.end()}};
  std::size_t changed = 0;
  for (std::size_t c = 0; c < meant.size(); ++c) {
    if (observed[c].contains(meant[c])) continue;
    // One element alone can be met by any value.
    if (observed[c].equations < 2) return std::nullopt;
    mistake.values[c] = static_cast<float>((observed[c].low + observed[c].high) / 2);
    round_to_half({&mistake.values[c], 1}, HalfRounding::nearest, HalfKind::htp);
    ++mistake.free_parameters;
    changed = c;
  }
  mistake.used = mistake.free_parameters == 1
                     ? fmt::format("{:.5g} on channel {}", mistake.values[changed], changed)
                     : fmt::format("other values on {} of {} channels", mistake.free_parameters, meant.size());
  return mistake;
}

}  // namespace

void Interval::meet(double l, double h) {
  low = std::max(low, l);
  high = std::min(high, h);
  ++equations;
}

void Interval::at_most(double h) { high = std::min(high, h); }

void Interval::at_least(double l) { low = std::max(low, l); }

std::vector<ScaledRounding> scaled_roundings(HalfRounding constants) {
  return {{true, constants}, {false, HalfRounding::nearest}, {false, HalfRounding::toward_zero}};
}

float scaled(float model, float device, double factor, ScaledRounding how) {
  auto value = static_cast<float>(factor * (how.before ? model : device));
  round_to_half({&value, 1}, how.rounding, HalfKind::htp);
  return value;
}

std::vector<ConstantMistake> explain_constants(const ChannelConstants& constants, std::span<const Interval> observed) {
  const std::vector<float>& meant = constants.device;
  using enum ConstantMistakeKind;
  std::vector<ConstantMistake> list;
  const std::size_t n = meant.size();
  if (n == 0 || observed.size() != n || fits(meant, observed)) return list;
  if (std::any_of(observed.begin(), observed.end(), [](const Interval& i) { return i.empty(); })) return list;
  const auto consider = [&](ConstantMistakeKind kind, std::string used, Values values, int free_parameters = 0) {
    const bool listed = std::any_of(list.begin(), list.end(), [&](const auto& m) { return m.values == values; });
    if (!listed && fits(values, observed)) list.push_back({kind, std::move(used), std::move(values), free_parameters});
  };
  consider(dropped, "zeros", Values(n, 0.0F));
  consider(ignored, "ones", Values(n, 1.0F));
  for (std::size_t k = 1; k < n && list.empty(); ++k) {
    consider(misordered, k <= n / 2 ? fmt::format("rolled by {}", k) : fmt::format("rolled by -{}", n - k),
             reordered(meant, [&](std::size_t c) { return (c + n - k) % n; }));
  }
  consider(misordered, "reversed", reordered(meant, [&](std::size_t c) { return n - 1 - c; }));
  std::vector<std::size_t> wrong;
  for (std::size_t c = 0; c < n; ++c) {
    if (!observed[c].contains(meant[c])) wrong.push_back(c);
  }
  if (wrong.size() == 2) {
    consider(misordered, fmt::format("channels {} and {} exchanged", wrong[0], wrong[1]), reordered(meant, [&](auto c) {
               return c == wrong[0] ? wrong[1] : c == wrong[1] ? wrong[0] : c;
             }));
  }
  const Interval factor = common_factor(meant, observed);
  // A factor that may be zero is the dropped constant above.
  if (factor.equations > 0 && !factor.empty() && !factor.contains(0)) {
    for (double s : plain_values(factor.low, factor.high)) {
      for (ScaledRounding how : scaled_roundings(constants.rounding)) {
        Values values(n);
        for (std::size_t c = 0; c < n; ++c) values[c] = qnndbg::scaled(constants.model[c], constants.device[c], s, how);
        consider(ConstantMistakeKind::scaled, fmt::format("x {:g}", s), std::move(values), 1);
      }
    }
  }
  if (auto values = matched(meant, observed)) consider(misordered, "in another order", std::move(*values), 1);
  if (list.empty()) {
    if (auto other = other_values(meant, observed)) list.push_back(std::move(*other));
  }
  return list;
}

}  // namespace qnndbg
