#include "ops/support/snap.h"

#include <algorithm>
#include <cmath>

namespace qnndbg {

std::vector<double> snap_candidates(double fitted) {
  constexpr double kNear = 0.01;  // a least-squares slope over rounded data is far better than this
  std::vector<double> candidates;
  const auto consider = [&](double value) {
    if (value != 0 && std::fabs(value - fitted) <= kNear * std::fabs(fitted)) candidates.push_back(value);
  };
  for (double grid : {1.0, 2.0, 4.0, 10.0, 100.0, 1000.0}) {
    consider(std::round(fitted * grid) / grid);
    if (fitted != 0) consider(grid / std::max(1.0, std::round(grid / std::fabs(fitted))) * (fitted < 0 ? -1 : 1));
  }
  consider(std::copysign(std::exp2(std::round(std::log2(std::fabs(fitted)))), fitted));
  candidates.push_back(fitted);
  std::stable_sort(candidates.begin(), candidates.end() - 1,
                   [&](double a, double b) { return std::fabs(a - fitted) < std::fabs(b - fitted); });
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  if (candidates.size() > 4) candidates.erase(candidates.begin() + 3, candidates.end() - 1);
  return candidates;
}

}  // namespace qnndbg
