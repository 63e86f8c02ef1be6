#include "tensor/metrics_simd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "tensor/every_target.h"

namespace qnndbg::simd {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(MetricsSimd, FilterKeepsTheIntervalAndItsUpperEnd) {
  on_every_target([] {
    std::mt19937 random(31);
    for (const auto& [low, high] : {std::pair{-1.0f, kInf}, {2.0f, 5.0f}, {0.0f, 0.0f}, {3.0f, 3.0f}, {8.0f, kInf}})
      for (std::size_t n = 0; n < 100; ++n) {
        std::vector<float> values(n), expected, out(n + kSlack, -7);
        for (float& v : values) v = random() % 20 == 0 ? kInf : static_cast<float>(random() % 10);
        std::copy_if(values.begin(), values.end(), std::back_inserter(expected),
                     [&](float v) { return v > low && v <= high; });
        const Filtered f = filter(values.data(), n, low, high, out.data());
        ASSERT_EQ(f.stored, expected.size());
        ASSERT_EQ(f.above, static_cast<std::size_t>(
                               std::count_if(values.begin(), values.end(), [&](float v) { return v > low; })));
        out.resize(f.stored);
        ASSERT_EQ(out, expected);
      }
  });
}

}  // namespace
}  // namespace qnndbg::simd
