#include "ops/support/screen_mistakes.h"

#include <algorithm>
#include <cmath>

namespace qnndbg {
namespace {

constexpr std::size_t kWorst = 16;
constexpr std::size_t kSpread = 48;
// 41 u: three times the bound of the loosest operator screened here (ResizeBilinear, 13.5 u of its magnitude).
constexpr double kRelative = 0.02;
constexpr double kAbsolute = 1e-3;

}  // namespace

Screen::Screen(const Evidence& evidence)
    : device_(evidence.device), clip_(evidence.clip), steps_(evidence.clip ? 2 * evidence.line.absolute : 0) {
  const std::span<const float> device = evidence.device.f32();
  const std::span<const float> reference = evidence.reference.f32();
  const std::size_t n = std::min(device.size(), reference.size());
  // The worst of each stretch instead of the worst of all: they would crowd at one border.
  const std::size_t stretch = std::max<std::size_t>(1, n / kWorst);
  for (std::size_t from = 0; from < n; from += stretch) {
    std::size_t worst = from;
    double largest = -1;
    for (std::size_t i = from; i < std::min(n, from + stretch); ++i) {
      const double error = std::fabs(static_cast<double>(device[i]) - reference[i]);
      if (error > largest) largest = error, worst = i;
    }
    elements_.push_back(static_cast<std::int64_t>(worst));
  }
  // The stride of a prime keeps the spread from staying in one column or channel.
  for (std::size_t k = 0; k < kSpread && n > 0; ++k)
    elements_.push_back(static_cast<std::int64_t>((k * n / kSpread + k * 7919) % n));
}

bool Screen::may_fit(const std::function<Estimate(std::int64_t)>& estimate) const {
  return std::all_of(elements_.begin(), elements_.end(), [&](std::int64_t i) {
    const Estimate expected = estimate(i);
    const double value = clip_ ? std::clamp(expected.value, clip_->low, clip_->high) : expected.value;
    const double error = std::fabs(device_.f32()[static_cast<std::size_t>(i)] - value);
    const double line = kRelative * std::max(std::fabs(expected.value), expected.magnitude) + kAbsolute + steps_;
    return !(error > line);
  });
}

}  // namespace qnndbg
