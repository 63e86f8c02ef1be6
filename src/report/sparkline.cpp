#include "report/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace qnndbg {
namespace {

constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr double kLow = 0.1;
constexpr double kSmallestHigh = 10;

std::string_view block_of(double value, double high) {
  if (!std::isfinite(value)) return kBlocks.back();
  const double share = std::log(std::max(value, kLow) / kLow) / std::log(high / kLow);
  const auto level = static_cast<std::size_t>(std::lround(share * (kBlocks.size() - 1)));
  return kBlocks.at(std::min(level, kBlocks.size() - 1));
}

}  // namespace

Sparkline sparkline(const std::vector<std::optional<double>>& values, std::size_t columns) {
  Sparkline line;
  line.low = kLow;
  line.high = kSmallestHigh;
  if (values.empty() || columns == 0) return line;
  for (const auto& value : values)
    if (value && std::isfinite(*value)) line.high = std::max(line.high, *value);

  line.group = (values.size() + columns - 1) / columns;
  for (std::size_t begin = 0; begin < values.size(); begin += line.group) {
    std::optional<double> worst;
    for (std::size_t i = begin; i < std::min(begin + line.group, values.size()); ++i) {
      if (!values[i]) continue;
      worst = !worst || !std::isfinite(*values[i]) || *values[i] > *worst ? values[i] : worst;
    }
    line.blocks += worst ? block_of(*worst, line.high) : "·";
  }
  return line;
}

}  // namespace qnndbg
