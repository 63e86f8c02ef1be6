#include "tensor/quantiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tensor/every_target.h"

namespace qnndbg {
namespace {

struct Case {
  std::string name;
  std::function<float(std::size_t)> value;
};

std::vector<Case> cases() {
  auto random = std::make_shared<std::mt19937>(11);
  const auto uniform = [random] { return std::uniform_real_distribution<float>(0, 1)(*random); };
  return {
      {"uniform", [=](std::size_t) { return uniform(); }},
      {"nine decades", [=](std::size_t) { return std::pow(10.0f, 9 * uniform() - 6); }},
      {"zeros", [](std::size_t) { return 0.0f; }},
      {"one value", [](std::size_t) { return 3.0f; }},
      {"mostly zeros", [=](std::size_t i) { return i % 100 == 7 ? uniform() : 0.0f; }},
      {"half zeros", [=](std::size_t i) { return i % 2 == 0 ? uniform() : 0.0f; }},
      {"three values", [](std::size_t i) { return static_cast<float>(i % 3); }},
      {"ascending", [](std::size_t i) { return static_cast<float>(i); }},
      {"descending", [](std::size_t i) { return 1e6f - static_cast<float>(i); }},
      {"blocks", [](std::size_t i) { return static_cast<float>(i / 2048); }},
      {"subnormal", [=](std::size_t) { return uniform() * 1e-40f; }},
      {"infinite tail",
       [=](std::size_t i) { return i % 50 == 0 ? std::numeric_limits<float>::infinity() : uniform(); }},
  };
}

std::vector<float> make(const Case& c, std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = c.value(i);
  return values;
}

TEST(Quantiles, ValueAtRankIsThatOfASort) {
  on_every_target([] {
    for (const Case& c : cases())
      for (const std::size_t n : {1, 2, 17, 4096, 4097, 30'001}) {
        const std::vector<float> values = make(c, n);
        std::vector<float> sorted = values;
        std::sort(sorted.begin(), sorted.end());
        for (const double q : {0.0, 0.001, 0.25, 0.5, 0.75, 0.99, 0.999, 1.0}) {
          const auto rank = std::max<std::int64_t>(1, std::llround(q * static_cast<double>(n)));
          ASSERT_EQ(value_at_rank(values, rank), sorted[static_cast<std::size_t>(rank - 1)])
              << c.name << ", rank " << rank << " of " << n;
        }
      }
  });
}

TEST(Quantiles, TheSlowWayIsThatOfASort) {
  for (const Case& c : cases())
    for (const std::size_t n : {1, 2, 1000, 30'001}) {
      const std::vector<float> values = make(c, n);
      std::vector<float> sorted = values;
      std::sort(sorted.begin(), sorted.end());
      const auto count = static_cast<std::int64_t>(n);
      const std::vector<std::int64_t> ranks = {1, (count + 1) / 2, count};
      const auto feed = [&](const Consumer& use) {
        use(std::span(values).first(n / 3));
        use({});
        use(std::span(values).subspan(n / 3));
      };
      const std::vector<float> found = values_at_ranks(feed, ranks);
      ASSERT_EQ(found.size(), ranks.size());
      for (std::size_t i = 0; i < ranks.size(); ++i)
        ASSERT_EQ(found[i], sorted[static_cast<std::size_t>(ranks[i] - 1)]) << c.name << ", rank " << ranks[i];
    }
}

/// A window answers rightly or not at all, even when its sample has nothing to do with the stream.
TEST(Quantiles, WindowNeverLies) {
  std::mt19937 random(13);
  int answered = 0;
  for (const Case& c : cases())
    for (const Case& sampled : cases())
      for (const double q : {0.0, 0.5, 0.99, 1.0}) {
        const std::vector<float> values = make(c, 20'000);
        std::vector<float> sorted = values, sample = make(sampled, 500);
        std::sort(sorted.begin(), sorted.end());
        Window window(sample, 20'000, q, q);
        for (std::size_t i = 0; i < values.size();) {
          const std::size_t n = std::min<std::size_t>(random() % 5000, values.size() - i);
          window.add(std::span(values).subspan(i, n));
          i += n;
        }
        for (const std::int64_t rank : {1, 3, 10'000, 19'800, 20'000}) {
          const auto value = window.at_rank(rank);
          if (!value) continue;
          ++answered;
          ASSERT_EQ(*value, sorted[static_cast<std::size_t>(rank - 1)]) << c.name << " sampled as " << sampled.name;
        }
      }
  EXPECT_GT(answered, 100);
}

TEST(Quantiles, GoodSamplesAreEnough) {
  std::mt19937 random(17);
  int answered = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<float> values(50'000), sample;
    for (float& v : values) v = std::abs(std::normal_distribution<float>()(random));
    for (std::size_t i = 0; i < 1024; ++i) sample.push_back(values[random() % values.size()]);
    Window window(sample, 50'000, 0.5, 0.5);
    window.add(values);
    answered += window.at_rank(25'000).has_value();
  }
  EXPECT_GE(answered, 48);
}

}  // namespace
}  // namespace qnndbg
