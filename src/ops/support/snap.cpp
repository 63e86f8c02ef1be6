#include "ops/support/snap.h"

#include <algorithm>
#include <cmath>

namespace qnndbg {

std::vector<double> plain_values(double low, double high) {
  std::vector<double> values;
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high)) return values;
  const auto consider = [&](double v) {
    const bool fresh = v >= low && v <= high && std::find(values.begin(), values.end(), v) == values.end();
    if (fresh) values.push_back(v);
    return fresh;
  };
  const double middle = (low + high) / 2;
  // Decimals: the coarsest grids that have a point inside.
  int found = 0;
  for (double grid = 1e-6; grid <= 1e9 && found < 3; grid *= 10) {
    if (consider(std::round(middle * grid) / grid)) ++found;
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
