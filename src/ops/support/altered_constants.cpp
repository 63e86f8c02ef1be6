#include "ops/support/altered_constants.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/support/snap.h"

namespace qnndbg {
namespace {

// Where the output tells little, many orders fit; the replay sorts out a few of them.
constexpr std::size_t kMostOrders = 8;
// Every roll of a longer constant is not worth the comparison; those by one step are.
constexpr std::size_t kLongestRolled = 4096;

bool allowed(std::span<const float> values, std::span<const ConstantEstimate> device) {
  return std::equal(values.begin(), values.end(), device.begin(),
                    [](float v, const ConstantEstimate& e) { return e.allows(v); });
}

/// Adds `values` unless they are the right ones, or the device's output speaks against them.
class Candidates {
 public:
  Candidates(std::span<const float> meant, std::span<const ConstantEstimate> device) : meant_(meant), device_(device) {}

  bool consider(std::string_view cause, std::string used, int free_parameters, std::vector<float> values) {
    if (cause.empty() || std::equal(values.begin(), values.end(), meant_.begin()) || !allowed(values, device_) ||
        std::any_of(list_.begin(), list_.end(), [&](const AlteredConstant& m) { return m.values == values; })) {
      return false;
    }
    list_.push_back({std::string(cause), std::move(used), free_parameters, std::move(values)});
    return true;
  }

  std::size_t size() const { return list_.size(); }
  std::vector<AlteredConstant> take() { return std::move(list_); }

 private:
  std::span<const float> meant_;
  std::span<const ConstantEstimate> device_;
  std::vector<AlteredConstant> list_;
};

void consider_rolls(Candidates& out, std::span<const float> meant, std::span<const ConstantEstimate> device,
                    std::string_view cause) {
  const std::size_t n = meant.size();
  for (std::size_t k = 1; k < n && out.size() < kMostOrders; ++k) {
    if (n > kLongestRolled && k != 1 && k != n - 1) continue;
    bool fits = true;
    for (std::size_t i = 0; i < n && fits; ++i) fits = device[(i + k) % n].allows(meant[i]);
    if (!fits) continue;
    std::vector<float> rolled(meant.begin(), meant.end());
    std::rotate(rolled.begin(), rolled.end() - static_cast<std::ptrdiff_t>(k), rolled.end());
    // The shorter way round is the one that somebody would name.
    out.consider(cause, k <= n / 2 ? fmt::format("rolled forward by {}", k) : fmt::format("rolled back by {}", n - k),
                 0, std::move(rolled));
  }
}

void consider_exchange(Candidates& out, std::span<const float> meant, std::span<const ConstantEstimate> device,
                       std::string_view cause) {
  std::vector<std::size_t> off;
  for (std::size_t i = 0; i < meant.size() && off.size() <= 2; ++i) {
    if (!device[i].allows(meant[i])) off.push_back(i);
  }
  if (off.size() != 2) return;
  std::vector<float> values(meant.begin(), meant.end());
  std::swap(values[off[0]], values[off[1]]);
  out.consider(cause, fmt::format("{} and {} exchanged", off[0], off[1]), 0, std::move(values));
}

/// The order in which the device's numbers rank as the right ones do. Each place is read off the output, so each counts
/// as fitted.
void consider_any_order(Candidates& out, std::span<const float> meant, std::span<const ConstantEstimate> device,
                        std::string_view cause) {
  if (meant.size() > std::numeric_limits<int>::max() ||
      std::any_of(device.begin(), device.end(),
                  [](const ConstantEstimate& e) { return !std::isfinite(e.tolerance); })) {
    return;
  }
  std::vector<float> sorted(meant.begin(), meant.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::size_t> rank(meant.size());
  std::iota(rank.begin(), rank.end(), 0);
  std::stable_sort(rank.begin(), rank.end(),
                   [&](std::size_t a, std::size_t b) { return device[a].value < device[b].value; });
  std::vector<float> values(meant.size());
  for (std::size_t i = 0; i < rank.size(); ++i) values[rank[i]] = sorted[i];
  out.consider(cause, "the same values in another order", static_cast<int>(meant.size()), std::move(values));
}

void consider_factor(Candidates& out, std::span<const float> meant, std::span<const float> unrounded,
                     std::span<const ConstantEstimate> device, std::string_view cause, const RunContext& run) {
  const auto consider = [&](std::span<const float> from, double f, HalfRounding rounding) {
    std::vector<float> values(from.size());
    std::transform(from.begin(), from.end(), values.begin(), [f](float v) { return static_cast<float>(f * v); });
    if (run.constants) round_to_half(values, rounding, run.half);
    out.consider(cause, fmt::format("times {:.6g}", f), 1, std::move(values));
  };
  SlopeFit sum;
  for (std::size_t i = 0; i < meant.size(); ++i) {
    if (std::isfinite(device[i].tolerance)) sum.add(meant[i], device[i].value, device[i].tolerance);
  }
  const ConstantEstimate factor = sum.estimate();
  if (!std::isfinite(factor.tolerance) || factor.value == 0 || !std::isfinite(factor.value)) return;
  for (double f : snap_candidates(factor.value)) {
    // The factor met the constant before or after it was rounded to half; who edits halves rounds to nearest.
    consider(meant, f, HalfRounding::nearest);
    if (!run.constants) continue;
    consider(meant, f, *run.constants);
    if (unrounded.size() == meant.size()) consider(unrounded, f, *run.constants);
  }
}

/// The device's own numbers where the right ones are not allowed, each of them fitted.
void consider_others(Candidates& out, std::span<const float> meant, std::span<const ConstantEstimate> device,
                     std::string_view cause, const RunContext& run) {
  std::vector<float> values(meant.begin(), meant.end());
  int changed = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < meant.size(); ++i) {
    if (device[i].allows(meant[i])) continue;
    values[i] = static_cast<float>(device[i].value);
    if (run.constants) round_to_half({&values[i], 1}, HalfRounding::nearest, run.half);
    ++changed;
    last = i;
  }
  if (changed == 0) return;
  std::string used = changed == 1 ? fmt::format("{:.5g} at {}", values[last], last)
                                  : fmt::format("other values at {} of {} places", changed, meant.size());
  out.consider(cause, std::move(used), changed, std::move(values));
}

}  // namespace

bool ConstantEstimate::allows(double v) const { return !std::isfinite(tolerance) || std::fabs(v - value) <= tolerance; }

void SlopeFit::add(double weight, double target, double error) {
  if (!std::isfinite(weight) || !std::isfinite(target)) return;
  weight_target_ += weight * target;
  weight_weight_ += weight * weight;
  weight_error_ += std::fabs(weight) * error;
}

ConstantEstimate SlopeFit::estimate() const {
  const ConstantEstimate e{weight_target_ / weight_weight_, weight_error_ / weight_weight_};
  if (!(weight_weight_ > 0) || !std::isfinite(e.value)) return {0, std::numeric_limits<double>::infinity()};
  return e;
}

std::vector<AlteredConstant> altered_constants(std::span<const float> meant, std::span<const float> unrounded,
                                               std::span<const ConstantEstimate> device, const ConstantRole& role,
                                               const RunContext& run) {
  if (meant.empty() || meant.size() != device.size()) return {};
  if (!std::all_of(meant.begin(), meant.end(), [](float v) { return std::isfinite(v); })) return {};
  Candidates out(meant, device);
  out.consider(role.dropped, "zeros", 0, std::vector<float>(meant.size(), 0.0F));
  if (!role.misordered.empty() && meant.size() > 1) {
    out.consider(role.misordered, "in reverse order", 0, std::vector<float>(meant.rbegin(), meant.rend()));
    consider_rolls(out, meant, device, role.misordered);
    consider_exchange(out, meant, device, role.misordered);
    if (out.size() == 0) consider_any_order(out, meant, device, role.misordered);
  }
  if (!role.scaled.empty()) consider_factor(out, meant, unrounded, device, role.scaled, run);
  if (out.size() == 0) consider_others(out, meant, device, role.differs, run);
  return out.take();
}

}  // namespace qnndbg
