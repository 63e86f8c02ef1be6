#include "tensor/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tensor/every_target.h"

namespace qnndbg {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// The definitions of metrics.h, one element at a time, in double.
Metrics naive(const std::vector<float>& actual, const std::vector<float>& expected) {
  Metrics m;
  m.count = static_cast<std::int64_t>(actual.size());
  m.sqnr_db = kInf;
  std::vector<float> errors;
  double e_sum = 0, abs_sum = 0, x_abs = 0, ee = 0, xx = 0, aa = 0, ax = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const float a = actual[i], x = expected[i];
    m.actual_nan += std::isnan(a);
    m.actual_inf += std::isinf(a);
    m.actual_zero += a == 0;
    m.expected_nan += std::isnan(x);
    m.expected_inf += std::isinf(x);
    m.expected_zero += x == 0;
    if (!std::isfinite(a) || !std::isfinite(x)) continue;
    const double e = static_cast<double>(a) - x;
    const float error = std::abs(a - x);
    const bool first = m.compared++ == 0;
    m.actual_min = first ? a : std::min<double>(m.actual_min, a);
    m.actual_max = first ? a : std::max<double>(m.actual_max, a);
    m.expected_min = first ? x : std::min<double>(m.expected_min, x);
    m.expected_max = first ? x : std::max<double>(m.expected_max, x);
    m.expected_max_abs = std::max<double>(m.expected_max_abs, std::abs(x));
    m.max_abs = std::max<double>(m.max_abs, error);
    errors.push_back(error);
    if (error > 0) m.worst.push_back({static_cast<std::int64_t>(i), a, x});
    e_sum += e;
    abs_sum += std::abs(e);
    x_abs += std::abs(x);
    ee += e * e;
    xx += static_cast<double>(x) * x;
    aa += static_cast<double>(a) * a;
    ax += static_cast<double>(a) * x;
  }
  std::stable_sort(m.worst.begin(), m.worst.end(), [](const WorstElement& l, const WorstElement& r) {
    return std::abs(l.actual - l.expected) > std::abs(r.actual - r.expected);
  });
  if (m.worst.size() > 5) m.worst.resize(5);
  if (m.compared == 0) return m;
  const auto n = static_cast<double>(m.compared);
  const auto relative = [](double e, double size) { return size > 0 ? e / size : e > 0 ? kInf : 0; };
  m.mean_abs = abs_sum / n;
  m.mean = e_sum / n;
  m.max_rel = relative(m.max_abs, m.expected_max_abs);
  m.mean_rel = relative(abs_sum, x_abs);
  m.rmse = std::sqrt(ee / n);
  if (ee > 0) m.sqnr_db = 10 * std::log10(xx / ee);
  m.cosine = aa == 0 && xx == 0 ? 1 : aa == 0 || xx == 0 ? 0 : ax / std::sqrt(aa) / std::sqrt(xx);
  std::sort(errors.begin(), errors.end());
  const auto quantile = [&](std::int64_t permille) {
    std::size_t below = 0;  // the smallest |e| with at least q * compared elements at or below it
    while (static_cast<std::int64_t>(below + 1) * 1000 < permille * m.compared) ++below;
    return errors[below];
  };
  m.p50 = quantile(500);
  m.p99 = quantile(990);
  m.p999 = quantile(999);
  return m;
}

void expect_close(double value, double expected, double tolerance, const char* name) {
  if (std::isinf(expected)) {
    EXPECT_EQ(value, expected) << name;
  } else {
    EXPECT_NEAR(value, expected, tolerance * std::abs(expected)) << name;
  }
}

void expect_same(const Metrics& m, const Metrics& n) {
  // What is counted or selected is exact.
  EXPECT_EQ(m.count, n.count);
  EXPECT_EQ(m.compared, n.compared);
  EXPECT_EQ(m.actual_nan, n.actual_nan);
  EXPECT_EQ(m.actual_inf, n.actual_inf);
  EXPECT_EQ(m.actual_zero, n.actual_zero);
  EXPECT_EQ(m.expected_nan, n.expected_nan);
  EXPECT_EQ(m.expected_inf, n.expected_inf);
  EXPECT_EQ(m.expected_zero, n.expected_zero);
  EXPECT_EQ(m.max_abs, n.max_abs);
  EXPECT_EQ(m.max_rel, n.max_rel);
  EXPECT_EQ(m.p50, n.p50);
  EXPECT_EQ(m.p99, n.p99);
  EXPECT_EQ(m.p999, n.p999);
  EXPECT_EQ(m.expected_max_abs, n.expected_max_abs);
  EXPECT_EQ(m.expected_min, n.expected_min);
  EXPECT_EQ(m.expected_max, n.expected_max);
  EXPECT_EQ(m.actual_min, n.actual_min);
  EXPECT_EQ(m.actual_max, n.actual_max);
  ASSERT_EQ(m.worst.size(), n.worst.size());
  for (std::size_t i = 0; i < m.worst.size(); ++i) {
    EXPECT_EQ(m.worst[i].index, n.worst[i].index) << i;
    EXPECT_EQ(m.worst[i].actual, n.worst[i].actual) << i;
    EXPECT_EQ(m.worst[i].expected, n.worst[i].expected) << i;
  }
  // Sums differ by their order.
  expect_close(m.mean_abs, n.mean_abs, 1e-12, "mean_abs");
  EXPECT_NEAR(m.mean, n.mean, 1e-12 * n.mean_abs) << "mean";
  expect_close(m.mean_rel, n.mean_rel, 1e-12, "mean_rel");
  expect_close(m.rmse, n.rmse, 1e-12, "rmse");
  expect_close(m.sqnr_db, n.sqnr_db, 1e-9, "sqnr_db");
  EXPECT_NEAR(m.cosine, n.cosine, 1e-12) << "cosine";
}

TEST(Metrics, EqualTensors) {
  for (const std::size_t n : {1, 5, 1000, 10'000}) {
    std::vector<float> x(n);
    std::iota(x.begin(), x.end(), 1.0f);
    const Metrics m = compute_metrics(x, x);
    EXPECT_EQ(m.compared, static_cast<std::int64_t>(n));
    EXPECT_EQ(m.max_abs, 0);
    EXPECT_EQ(m.mean_abs, 0);
    EXPECT_EQ(m.max_rel, 0);
    EXPECT_EQ(m.mean_rel, 0);
    EXPECT_EQ(m.rmse, 0);
    EXPECT_EQ(m.sqnr_db, kInf);
    EXPECT_EQ(m.cosine, 1);
    EXPECT_EQ(m.p50, 0);
    EXPECT_EQ(m.p999, 0);
    EXPECT_TRUE(m.worst.empty());
    EXPECT_EQ(m.expected_min, 1);
    EXPECT_EQ(m.actual_max, static_cast<double>(n));
  }
}

TEST(Metrics, EmptyTensors) {
  const Metrics m = compute_metrics(std::span<const float>(), {});
  expect_same(m, naive({}, {}));
  EXPECT_EQ(m.count, 0);
  EXPECT_EQ(m.max_rel, 0);
  EXPECT_EQ(m.cosine, 1);
  EXPECT_EQ(m.expected_max, 0);
}

TEST(Metrics, SmallExampleByHand) {
  const Metrics m = compute_metrics(std::vector<float>{1, 2, 3, 5}, std::vector<float>{1, 2, 4, 3});
  EXPECT_EQ(m.max_abs, 2);
  EXPECT_EQ(m.mean_abs, 0.75);
  EXPECT_EQ(m.mean, 0.25);
  EXPECT_EQ(m.max_rel, 0.5);
  EXPECT_EQ(m.mean_rel, 0.3);
  EXPECT_EQ(m.rmse, std::sqrt(1.25));
  EXPECT_NEAR(m.sqnr_db, 10 * std::log10(30.0 / 5), 1e-12);
  EXPECT_NEAR(m.cosine, 32 / std::sqrt(39.0 * 30), 1e-12);
  EXPECT_EQ(m.p50, 0);  // two of four at or below it
  EXPECT_EQ(m.p99, 2);
  ASSERT_EQ(m.worst.size(), 2u);
  EXPECT_EQ(m.worst[0].index, 3);
  EXPECT_EQ(m.worst[0].actual, 5);
  EXPECT_EQ(m.worst[0].expected, 3);
  EXPECT_EQ(m.worst[1].index, 2);
}

TEST(Metrics, SpecialsAreCountedAndLeftOut) {
  const std::vector<float> actual = {kNan, 1, kInf, -kInf, 0, 2, -0.0f, kNan, 7};
  const std::vector<float> expected = {1, kNan, kInf, 3, 0, 2.5f, 1, kNan, kInf};
  const Metrics m = compute_metrics(actual, expected);
  expect_same(m, naive(actual, expected));
  EXPECT_EQ(m.count, 9);
  EXPECT_EQ(m.compared, 3);
  EXPECT_EQ(m.actual_nan, 2);
  EXPECT_EQ(m.actual_inf, 2);
  EXPECT_EQ(m.actual_zero, 2);
  EXPECT_EQ(m.expected_nan, 2);
  EXPECT_EQ(m.expected_inf, 2);
  EXPECT_EQ(m.max_abs, 1);
  EXPECT_EQ(m.worst.at(0).index, 6);
  EXPECT_EQ(m.worst.at(1).index, 5);
}

TEST(Metrics, NothingFiniteToCompare) {
  for (const std::size_t n : {3, 5000}) {
    const std::vector<float> actual(n, kNan), expected(n, 1);
    const Metrics m = compute_metrics(actual, expected);
    expect_same(m, naive(actual, expected));
    EXPECT_EQ(m.compared, 0);
    EXPECT_EQ(m.actual_nan, static_cast<std::int64_t>(n));
    EXPECT_EQ(m.max_abs, 0);
    EXPECT_EQ(m.p50, 0);
  }
}

TEST(Metrics, ZeroReference) {
  const Metrics m = compute_metrics(std::vector<float>{0, 3, 0}, std::vector<float>{0, 0, 0});
  EXPECT_EQ(m.max_rel, kInf);
  EXPECT_EQ(m.mean_rel, kInf);
  EXPECT_EQ(m.sqnr_db, -kInf);
  EXPECT_EQ(m.cosine, 0);
  const Metrics both = compute_metrics(std::vector<float>{0, -0.0f}, std::vector<float>{0, 0});
  EXPECT_EQ(both.max_rel, 0);
  EXPECT_EQ(both.sqnr_db, kInf);
  EXPECT_EQ(both.cosine, 1);
  EXPECT_EQ(both.actual_zero, 2);
}

TEST(Metrics, TiesAmongTheWorstGoByIndex) {
  for (const std::size_t n : {20, 9000}) {
    std::vector<float> actual(n, 1), expected(n, 0);
    actual[n - 2] = 2;
    actual[n - 5] = -2;
    const Metrics m = compute_metrics(actual, expected);
    std::vector<std::int64_t> indices;
    for (const WorstElement& w : m.worst) indices.push_back(w.index);
    const auto end = static_cast<std::int64_t>(n);
    EXPECT_EQ(indices, (std::vector<std::int64_t>{end - 5, end - 2, 0, 1, 2}));
  }
}

TEST(Metrics, VerySmallAndVeryLargeNumbers) {
  const std::vector<float> tiny = {1e-45f, -3e-40f, 2e-39f}, tiny2 = {2e-45f, -3.5e-40f, 2e-39f};
  expect_same(compute_metrics(tiny, tiny2), naive(tiny, tiny2));
  EXPECT_GT(compute_metrics(tiny, tiny2).cosine, 0.9);
  const std::vector<float> huge = {3e38f, -2e38f, 1e38f}, huge2 = {2.5e38f, -2e38f, 1e38f};
  expect_same(compute_metrics(huge, huge2), naive(huge, huge2));
  EXPECT_TRUE(std::isfinite(compute_metrics(huge, huge2).rmse));
}

struct Case {
  std::string name;
  std::function<void(std::mt19937&, std::size_t, float& actual, float& expected)> make;
};

std::vector<Case> cases() {
  const auto normal = [](std::mt19937& random) { return std::normal_distribution<float>()(random); };
  return {
      {"rounding",
       [=](std::mt19937& random, std::size_t, float& a, float& x) {
         x = normal(random);
         a = half_to_float(float_to_half(x, HalfRounding::nearest), HalfKind::htp);
       }},
      {"noise",
       [=](std::mt19937& random, std::size_t, float& a, float& x) {
         x = 100 * normal(random);
         a = x * (1 + 1e-2f * normal(random)) + 3;
       }},
      {"few errors",
       [=](std::mt19937& random, std::size_t, float& a, float& x) {
         a = x = normal(random);
         if (random() % 300 == 0) a += normal(random);
       }},
      {"whole numbers",  // ties at every quantile
       [](std::mt19937& random, std::size_t, float& a, float& x) {
         x = static_cast<float>(random() % 7);
         a = static_cast<float>(random() % 7);
       }},
      {"all ones",
       [](std::mt19937&, std::size_t, float& a, float& x) {
         a = 1;
         x = 2;
       }},
      {"growing",
       [](std::mt19937&, std::size_t i, float& a, float& x) {
         x = -1;
         a = static_cast<float>(i);
       }},
      {"specials here and there",
       [=](std::mt19937& random, std::size_t, float& a, float& x) {
         x = normal(random);
         a = normal(random);
         if (random() % 1000 == 0) a = kNan;
         if (random() % 1500 == 0) x = -kInf;
         if (random() % 100 == 0) a = 0;
       }},
      {"mostly NaN",
       [=](std::mt19937& random, std::size_t, float& a, float& x) {
         x = normal(random);
         a = random() % 50 == 0 ? normal(random) : kNan;
       }},
      {"one block of NaN",
       [=](std::mt19937& random, std::size_t i, float& a, float& x) {
         x = normal(random);
         a = i / 2048 == 1 ? kNan : normal(random);
       }},
      {"any bits",
       [](std::mt19937& random, std::size_t, float& a, float& x) {
         // Halved exponents, so that no difference overflows.
         a = std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0xbfffffff);
         x = std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0xbfffffff);
       }},
  };
}

TEST(Metrics, FollowTheDefinitionOnEveryTarget) {
  on_every_target([] {
    for (const Case& c : cases())
      for (const std::size_t n : {1, 2, 7, 16, 33, 100, 1000, 2048, 2049, 4096, 4097, 5000, 20'011}) {
        SCOPED_TRACE(c.name + ", " + std::to_string(n));
        std::mt19937 random(static_cast<std::uint32_t>(n));
        std::vector<float> actual(n), expected(n);
        for (std::size_t i = 0; i < n; ++i) c.make(random, i, actual[i], expected[i]);
        expect_same(compute_metrics(actual, expected), naive(actual, expected));
      }
  });
}

TEST(Metrics, QuantilesOfALargeTensor) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    constexpr std::size_t kCount = 600'000;
    std::mt19937 random(23);
    std::vector<float> actual(kCount), expected(kCount);
    for (std::size_t i = 0; i < kCount; ++i) c.make(random, i, actual[i], expected[i]);
    const Metrics m = compute_metrics(actual, expected), n = naive(actual, expected);
    EXPECT_EQ(m.p50, n.p50);
    EXPECT_EQ(m.p99, n.p99);
    EXPECT_EQ(m.p999, n.p999);
    EXPECT_EQ(m.max_abs, n.max_abs);
  }
}

TEST(Metrics, PeriodOfTheDataDoesNotFoolTheSample) {
  constexpr std::size_t kCount = 1 << 20;
  for (const std::size_t period : {2, 64, 512, 513, 1024}) {
    std::vector<float> actual(kCount), expected(kCount, 0);
    for (std::size_t i = 0; i < kCount; ++i) actual[i] = i % period == 0 ? 1000.0f : static_cast<float>(i % 977);
    const Metrics m = compute_metrics(actual, expected), n = naive(actual, expected);
    EXPECT_EQ(m.p50, n.p50) << period;
    EXPECT_EQ(m.p99, n.p99) << period;
    EXPECT_EQ(m.p999, n.p999) << period;
  }
}

void expect_identical(const Metrics& m, const Metrics& n) {
  expect_same(m, n);
  EXPECT_EQ(m.mean, n.mean);
  EXPECT_EQ(m.mean_abs, n.mean_abs);
  EXPECT_EQ(m.rmse, n.rmse);
  EXPECT_EQ(m.cosine, n.cosine);
  EXPECT_EQ(m.sqnr_db, n.sqnr_db);
}

TEST(Metrics, HalfSideEqualsItsConversion) {
  std::mt19937 random(29);
  for (const HalfKind kind : {HalfKind::htp, HalfKind::ieee})
    for (const std::size_t n : {0, 1, 31, 2048, 10'001}) {
      std::vector<std::uint16_t> half(n);
      std::vector<float> actual(n), expected(n);
      for (std::size_t i = 0; i < n; ++i) {
        half[i] = static_cast<std::uint16_t>(random());
        expected[i] = std::normal_distribution<float>(0, 100)(random);
      }
      half_to_float(half, actual, kind);
      const Metrics m = compute_metrics(half, kind, expected);
      expect_identical(m, compute_metrics(actual, expected));
      if (kind == HalfKind::htp) {
        EXPECT_EQ(m.compared, static_cast<std::int64_t>(n));
      } else if (n > 1000) {
        EXPECT_LT(m.compared, static_cast<std::int64_t>(n));
      }
    }
}

}  // namespace
}  // namespace qnndbg
