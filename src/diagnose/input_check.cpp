#include "diagnose/input_check.h"

#include <algorithm>
#include <cmath>

#include "tensor/result.h"

namespace qnndbg {
namespace {

constexpr std::string_view kNotCopied = "input_not_copied";

/// What a conversion to half may change: one unit in the last place (truncation), and values below the normal range.
bool within_rounding(float device, float given) {
  if (std::isnan(given)) return true;  // no half stands for it
  const double clipped = std::clamp<double>(given, -kHtpHalfMax, kHtpHalfMax);
  if (std::fabs(clipped) > kHalfMax)
    return std::fabs(device) >= kHalfMax && std::signbit(device) == std::signbit(given);
  return std::fabs(device - clipped) <= 2.1 * kHalfUnitRoundoff * std::fabs(clipped) + kHalfMinNormal;
}

}  // namespace

std::optional<InputDifference> compare_input(const Tensor& device, const Tensor& given) {
  if (device.type() == DType::i32 && given.type() == DType::i32) {
    if (std::equal(device.i32().begin(), device.i32().end(), given.i32().begin(), given.i32().end()))
      return std::nullopt;
    if (std::all_of(device.i32().begin(), device.i32().end(), [](std::int32_t v) { return v == 0; })) {
      return InputDifference{std::string(kNotCopied),
                             fmt::format("all {} elements on the device are 0, the given input is not", device.size())};
    }
    return InputDifference{"input_differs", "the integers on the device are not the given ones"};
  }
  const std::span<const float> d = device.f32();
  const std::span<const float> g = given.f32();
  std::int64_t unequal = 0;
  std::size_t worst = 0;
  for (std::size_t i = 0; i < d.size(); ++i) {
    if (within_rounding(d[i], g[i])) continue;
    ++unequal;
    if (std::fabs(d[i] - g[i]) > std::fabs(d[worst] - g[worst]) || unequal == 1) worst = i;
  }
  if (unequal == 0) return std::nullopt;
  if (std::all_of(d.begin(), d.end(), [](float v) { return v == 0; })) {
    return InputDifference{
        std::string(kNotCopied),
        fmt::format("all {} elements on the device are 0; the given input reaches {:.4g}", d.size(), g[worst])};
  }
  return InputDifference{
      "input_differs",
      fmt::format("{} of {} elements differ beyond rounding to half; worst at element {}: device {:.5g}, given {:.5g}",
                  unequal, d.size(), worst, d[worst], g[worst])};
}

}  // namespace qnndbg
