#include "ops/support/softmax_kernel.h"

#include <algorithm>
#include <cmath>

namespace qnndbg {

void softmax(std::span<const float> x, const AxisView& view, std::span<float> y, float beta) {
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      const auto at = [&](std::int64_t k) { return static_cast<std::size_t>((o * view.extent + k) * view.inner + i); };
      float max = -INFINITY;
      for (std::int64_t k = 0; k < view.extent; ++k) max = std::max(max, beta * x[at(k)]);
      double sum = 0;
      for (std::int64_t k = 0; k < view.extent; ++k) {
        const float e = std::exp(beta * x[at(k)] - max);
        y[at(k)] = e;
        sum += e;
      }
      const auto scale = static_cast<float>(1.0 / sum);
      for (std::int64_t k = 0; k < view.extent; ++k) y[at(k)] *= scale;
    }
  }
}

}  // namespace qnndbg
