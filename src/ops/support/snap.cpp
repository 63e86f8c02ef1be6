#include "ops/support/snap.h"

#include <algorithm>
#include <cmath>

namespace qnndbg {

std::vector<double> plain_values(double low, double high) {
  std::vector<double> values;
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high)) return values;
  const auto consider = [&](double v) {
    if (v >= low && v <= high && std::find(values.begin(), values.end(), v) == values.end()) values.push_back(v);
  };
  const double middle = (low + high) / 2;
  // Decimals: the coarsest grid that has a point inside, and the next finer one.
  int found = 0;
  for (double grid = 1e-6; grid <= 1e9 && found < 2; grid *= 10) {
    const double v = std::round(middle * grid) / grid;
    if (v < low || v > high) continue;
    consider(v);
    ++found;
  }
  if (middle != 0) {
    for (double numerator = 1; numerator <= 4; ++numerator)
      consider(std::copysign(numerator / std::max(1.0, std::round(numerator / std::fabs(middle))), middle));
    consider(std::copysign(std::exp2(std::round(std::log2(std::fabs(middle)))), middle));
  }
  consider(middle);
  return values;
}

std::vector<double> snap_candidates(double fitted, double relative) {
  return plain_values(fitted - relative * std::fabs(fitted), fitted + relative * std::fabs(fitted));
}

}  // namespace qnndbg
