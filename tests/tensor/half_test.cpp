#include "tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "tensor/every_target.h"

namespace qnndbg {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<std::uint16_t> all_halves() {
  std::vector<std::uint16_t> bits(0x10000);
  std::iota(bits.begin(), bits.end(), std::uint16_t{0});
  return bits;
}

/// From the definition: sign, exponent, fraction.
double value_of(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

bool same_bits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

/// Nearest by search among all finite halves, ties to the even pattern: slow and obvious.
std::uint16_t nearest_by_search(double value) {
  const double magnitude = std::abs(value);
  std::uint16_t below = 0;
  for (std::uint16_t step = 0x4000; step != 0; step >>= 1)
    if (below + step <= 0x7c00 && value_of(static_cast<std::uint16_t>(below + step)) <= magnitude) below += step;
  if (below < 0x7c00) {
    const double under = magnitude - value_of(below),
                 over = value_of(static_cast<std::uint16_t>(below + 1)) - magnitude;
    if (over < under || (over == under && (below & 1) != 0)) ++below;
  }
  return static_cast<std::uint16_t>(below | (std::signbit(value) ? 0x8000 : 0));
}

/// Values where rounding decides: every half, the middles between neighbours, and the floats beside both.
std::vector<float> boundary_floats() {
  std::vector<float> values;
  for (std::uint32_t h = 0; h <= 0x7c00; ++h) {
    const auto here = static_cast<float>(value_of(static_cast<std::uint16_t>(h)));
    const auto next = static_cast<float>(value_of(static_cast<std::uint16_t>(h + 1)));
    for (const float v : {here, here + (next - here) / 2})
      for (const float w : {std::nextafter(v, -kInf), v, std::nextafter(v, kInf)}) {
        values.push_back(w);
        values.push_back(-w);
      }
  }
  for (const float v : {std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(), 1e-30f, 1e30f,
                        std::numeric_limits<float>::max(), 131008.0f, kInf}) {
    values.push_back(v);
    values.push_back(-v);
  }
  return values;
}

TEST(Half, HtpReadsEveryPatternAsANumber) {
  for (const std::uint16_t bits : all_halves()) {
    const float value = half_to_float(bits, HalfKind::htp);
    ASSERT_TRUE(same_bits(value, static_cast<float>(value_of(bits)))) << bits;
  }
  EXPECT_EQ(half_to_float(0x7c00, HalfKind::htp), 65536.0f);
  EXPECT_EQ(half_to_float(0x7fff, HalfKind::htp), static_cast<float>(kHtpHalfMax));
  EXPECT_EQ(half_to_float(0xfe00, HalfKind::htp), -98304.0f);
  EXPECT_TRUE(std::signbit(half_to_float(0x8000, HalfKind::htp)));
}

TEST(Half, IeeeHasInfinityAndNan) {
  for (const std::uint16_t bits : all_halves()) {
    const float value = half_to_float(bits, HalfKind::ieee);
    if ((bits & 0x7c00) != 0x7c00) {
      ASSERT_TRUE(same_bits(value, static_cast<float>(value_of(bits)))) << bits;
    } else if ((bits & 0x3ff) == 0) {
      ASSERT_EQ(value, (bits & 0x8000) != 0 ? -kInf : kInf);
    } else {
      ASSERT_TRUE(std::isnan(value)) << bits;
    }
  }
}

TEST(Half, BulkEqualsOneByOneOnEveryTarget) {
  on_every_target([] {
    for (const HalfKind kind : {HalfKind::htp, HalfKind::ieee}) {
      const std::vector<std::uint16_t> in = all_halves();
      std::vector<float> out(in.size());
      half_to_float(in, out, kind);
      for (std::size_t i = 0; i < in.size(); ++i)
        ASSERT_TRUE(same_bits(out[i], half_to_float(in[i], kind))) << "bits " << i;
    }
  });
}

TEST(Half, BulkHandlesEveryLengthAndWritesNothingBeyond) {
  on_every_target([] {
    for (std::size_t n = 0; n < 70; ++n) {
      const std::vector<std::uint16_t> in(n, 0x7c01);
      std::vector<float> out(n + 1, -1);
      half_to_float(in, std::span(out).first(n), HalfKind::htp);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], 65600.0f) << n;
      ASSERT_EQ(out[n], -1) << n;
    }
  });
}

TEST(Half, NearestIsTiesToEven) {
  for (const float v : boundary_floats()) ASSERT_EQ(float_to_half(v, HalfRounding::nearest), nearest_by_search(v)) << v;
  EXPECT_EQ(float_to_half(65519.996f, HalfRounding::nearest), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f, HalfRounding::nearest), 0x7c00);
  EXPECT_EQ(float_to_half(-65520.0f, HalfRounding::nearest), 0xfc00);
  EXPECT_EQ(float_to_half(0x1p-25f, HalfRounding::nearest), 0);  // half of the smallest subnormal, a tie
  EXPECT_EQ(float_to_half(0x1.8p-25f, HalfRounding::nearest), 1);
}

#ifdef __FLT16_MAX__
TEST(Half, NearestAgreesWithTheCompiler) {
  std::mt19937 random(7);
  for (int i = 0; i < 1'000'000; ++i) {
    const float v = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(v)) continue;
    const auto expected = std::bit_cast<std::uint16_t>(static_cast<_Float16>(v));
    ASSERT_EQ(float_to_half(v, HalfRounding::nearest), expected) << v;
  }
}
#endif

TEST(Half, TowardZeroCutsOff) {
  for (const float v : boundary_floats()) {
    const std::uint16_t h = float_to_half(v, HalfRounding::toward_zero);
    ASSERT_EQ((h & 0x8000) != 0, std::signbit(v));
    if (std::abs(v) >= 65536) {
      ASSERT_EQ(h & 0x7fff, 0x7c00) << v;
      continue;
    }
    ASSERT_LE(std::abs(value_of(h)), std::abs(v)) << v;
    ASSERT_GT(std::abs(value_of(static_cast<std::uint16_t>(h + 1))), std::abs(v)) << v;
  }
  EXPECT_EQ(float_to_half(65535.996f, HalfRounding::toward_zero), 0x7bff);
  EXPECT_EQ(float_to_half(65536.0f, HalfRounding::toward_zero), 0x7c00);
}

TEST(Half, NanStaysNan) {
  for (const HalfRounding rounding : {HalfRounding::nearest, HalfRounding::toward_zero}) {
    EXPECT_EQ(float_to_half(std::bit_cast<float>(0x7fc00000u), rounding), 0x7e00);
    EXPECT_EQ(float_to_half(std::bit_cast<float>(0x7f800001u), rounding), 0x7e00);
    EXPECT_EQ(float_to_half(std::bit_cast<float>(0xffc00000u), rounding), 0xfe00);
    EXPECT_EQ(float_to_half(kInf, rounding), 0x7c00);
    EXPECT_EQ(float_to_half(-kInf, rounding), 0xfc00);
  }
}

TEST(Half, HalvesSurviveTheRoundTrip) {
  for (const std::uint16_t bits : all_halves()) {
    if ((bits & 0x7c00) == 0x7c00) continue;
    const float value = half_to_float(bits, HalfKind::ieee);
    ASSERT_EQ(float_to_half(value, HalfRounding::nearest), bits);
    ASSERT_EQ(float_to_half(value, HalfRounding::toward_zero), bits);
  }
}

TEST(Half, RoundToHalfIsBothConversions) {
  std::vector<float> values = boundary_floats();
  std::mt19937 random(3);
  for (int i = 0; i < 100'000; ++i) values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  on_every_target([&] {
    for (const HalfRounding rounding : {HalfRounding::nearest, HalfRounding::toward_zero})
      for (const HalfKind kind : {HalfKind::htp, HalfKind::ieee}) {
        std::vector<float> rounded = values;
        round_to_half(rounded, rounding, kind);
        for (std::size_t i = 0; i < values.size(); ++i) {
          const float expected = half_to_float(float_to_half(values[i], rounding), kind);
          ASSERT_TRUE(same_bits(rounded[i], expected)) << values[i] << " became " << rounded[i];
        }
      }
  });
}

TEST(Half, OverflowedConstantsReadAsHtpReadsThem) {
  std::vector<float> values = {1e6f, -kInf, 65519.0f, std::bit_cast<float>(0x7fc00000u)};
  round_to_half(values, HalfRounding::nearest, HalfKind::htp);
  EXPECT_EQ(values, (std::vector<float>{65536.0f, -65536.0f, 65504.0f, 98304.0f}));
}

}  // namespace
}  // namespace qnndbg
