#include "diagnose/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace qnndbg {
namespace {

const Bound kLinear{.y = 1.1, .max_y = 0, .magnitude = 0, .absolute = 0x1.1p-15};

struct Pair {
  std::vector<float> device;
  std::vector<float> reference;
};

/// References with their device side rounded once to half, as a sound linear operator leaves it.
Pair sound_pair(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> value(0, 3);
  Pair pair;
  for (std::size_t i = 0; i < n; ++i) {
    pair.reference.push_back(value(random));
    pair.device.push_back(half_to_float(float_to_half(pair.reference.back(), HalfRounding::nearest), HalfKind::htp));
  }
  return pair;
}

TEST(Judge, RoundingOnceToHalfStaysWithinTheLinearBound) {
  Pair pair = sound_pair(5000, 1);
  const Judgement j = judge(pair.device, pair.reference, {}, kLinear, HalfKind::htp, {});
  EXPECT_TRUE(j.right());
  EXPECT_GT(j.bound_ratio, 0.8);
  EXPECT_LT(j.bound_ratio, 0.95);
  EXPECT_EQ(j.within_bound, 1.0);
}

TEST(Judge, FindsOneWrongElementWhereverItStands) {
  for (std::size_t at : {std::size_t{0}, std::size_t{1023}, std::size_t{1024}, std::size_t{2047}, std::size_t{4999}}) {
    Pair pair = sound_pair(5000, 2);
    pair.device[at] += 1.0F;
    const Judgement j = judge(pair.device, pair.reference, {}, kLinear, HalfKind::htp, {});
    EXPECT_FALSE(j.right());
    EXPECT_EQ(j.worst, static_cast<std::int64_t>(at));
    EXPECT_NEAR(j.within_bound, 1 - 1.0 / 5000, 1e-9);
  }
}

TEST(Judge, AnElementThatOnlyFp32SumsBlurIsClearedByTheExactValue) {
  std::vector<float> device{0.0F, 1.0F};
  std::vector<float> reference{0.01F, 1.0F};
  int asked = 0;
  const auto exact = [&]() -> std::optional<ElementValue> {
    return [&](std::int64_t element) {
      ++asked;
      return element == 0 ? 0.0 : 1.0;
    };
  };
  const Judgement j = judge(device, reference, {}, kLinear, HalfKind::htp, exact);
  EXPECT_TRUE(j.right());
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(reference[0], 0.0F);
  EXPECT_EQ(j.within_bound, 1.0);
}

TEST(Judge, AnElementThatTheExactValueConfirmsStaysBroken) {
  std::vector<float> device{0.5F, 1.0F};
  std::vector<float> reference{0.01F, 1.0F};
  const auto exact = []() -> std::optional<ElementValue> { return [](std::int64_t) { return 0.0101; }; };
  EXPECT_FALSE(judge(device, reference, {}, kLinear, HalfKind::htp, exact).right());
}

TEST(Judge, ResultsBeyondHalfAreComparedWithTheClampedValue) {
  std::vector<float> device{131008.0F, -131008.0F, 2.0F};
  std::vector<float> reference{1e6F, -INFINITY, 2.0F};
  const Judgement j = judge(device, reference, {}, kLinear, HalfKind::htp, {});
  EXPECT_TRUE(j.right());
  EXPECT_EQ(j.beyond_half, 2);
  EXPECT_EQ(j.first_beyond, 0);
}

TEST(Judge, NanOnTheDeviceIsNeverRight) {
  std::vector<float> device{NAN, 1.0F};
  std::vector<float> reference{0.5F, 1.0F};
  const Judgement j = judge(device, reference, {}, kLinear, HalfKind::ieee, {});
  EXPECT_FALSE(j.right());
  EXPECT_EQ(j.device_nonfinite, 1);
  EXPECT_TRUE(std::isinf(j.bound_ratio));
}

TEST(Judge, NanInTheReferenceIsNotCompared) {
  std::vector<float> device{3.0F, 1.0F};
  std::vector<float> reference{NAN, 1.0F};
  const Judgement j = judge(device, reference, {}, kLinear, HalfKind::htp, {});
  EXPECT_TRUE(j.right());
  EXPECT_EQ(j.compared, 1);
}

TEST(Judge, TheMagnitudeWidensTheBoundOfItsElementOnly) {
  std::vector<float> device{1.01F, 1.01F};
  std::vector<float> reference{1.0F, 1.0F};
  const std::vector<float> magnitude{100.0F, 1.0F};
  const Judgement j =
      judge(device, reference, magnitude, {.y = 0, .max_y = 0, .magnitude = 1, .absolute = 0}, HalfKind::htp, {});
  EXPECT_FALSE(j.right());
  EXPECT_EQ(j.worst, 1);
  EXPECT_DOUBLE_EQ(j.within_bound, 0.5);
}

TEST(Judge, TheExactBoundTellsNeighbouringHalvesApart) {
  auto bounds = Bounds::load("v75", 1);
  ASSERT_TRUE(bounds.has_value());
  for (std::uint16_t bits : {std::uint16_t{1}, std::uint16_t{0x03FF}, std::uint16_t{0x0400}, std::uint16_t{0x3BFF},
                             std::uint16_t{0x3C00}, std::uint16_t{0x7BFE}}) {
    const float here = half_to_float(bits, HalfKind::htp);
    const float next = half_to_float(static_cast<std::uint16_t>(bits + 1), HalfKind::htp);
    std::vector<float> reference{here};
    EXPECT_TRUE(judge(std::vector<float>{here}, reference, {}, bounds->of("exact"), HalfKind::htp, {}).right()) << bits;
    EXPECT_FALSE(judge(std::vector<float>{next}, reference, {}, bounds->of("exact"), HalfKind::htp, {}).right())
        << bits;
  }
}

TEST(Judge, EmptyTensorsAreRight) {
  std::vector<float> reference;
  EXPECT_TRUE(judge({}, reference, {}, kLinear, HalfKind::htp, {}).right());
}

TEST(Bounds, ScaleAndArchitectureWidenThem) {
  const Bound plain = Bounds::load("v75", 1)->of("Conv2d");
  const Bound twice = Bounds::load("v75", 2)->of("Conv2d");
  const Bound unmeasured = Bounds::load("v81", 1)->of("Conv2d");
  EXPECT_DOUBLE_EQ(twice.y, 2 * plain.y);
  EXPECT_DOUBLE_EQ(twice.absolute, 2 * plain.absolute);
  EXPECT_EQ(plain.magnitude, 0);
  EXPECT_GT(unmeasured.magnitude, 1);
  EXPECT_FALSE(Bounds::load("v81", 1)->architecture_measured());
  EXPECT_TRUE(Bounds::load("unknown", 1)->architecture_measured());
}

TEST(Bounds, AKeyThatTheTableLacksIsUnmeasured) {
  auto bounds = Bounds::load("v75", 1);
  EXPECT_DOUBLE_EQ(bounds->of("NoSuchOperator").max_y, bounds->of("unmeasured").max_y);
}

}  // namespace
}  // namespace qnndbg
