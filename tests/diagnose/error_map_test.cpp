#include "diagnose/error_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace qnndbg {
namespace {

using testing::ElementsAre;

constexpr Bound kOne{.absolute = 1};  // one unit is one

/// An error of `size` at one element of a tensor of zeros.
ErrorMap map_of_one(const Dims& dims, std::size_t element, float size, const Bound& bound = kOne) {
  std::vector<float> device(static_cast<std::size_t>(element_count(dims)), 0);
  const std::vector<float> reference = device;
  device[element] = size;
  return map_errors(device, reference, {}, dims, bound);
}

TEST(ErrorMap, FindsOneElement) {
  const ErrorMap map = map_of_one({2, 3, 4, 5}, 1 * 60 + 2 * 20 + 3 * 5 + 4, 7);
  EXPECT_EQ(map.beyond, 1);
  ASSERT_EQ(map.worst.size(), 1U);
  EXPECT_THAT(map.worst[0].position, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(map.worst[0].ratio, 7);
  EXPECT_EQ(map.worst[0].bound, 1);
  ASSERT_EQ(map.axes.size(), 4U);
  const std::vector<std::int64_t> position{1, 2, 3, 4};
  for (const AxisErrors& axis : map.axes) {
    const auto at = static_cast<std::size_t>(position[static_cast<std::size_t>(axis.axis)]);
    EXPECT_EQ(axis.ratio[at], 7);
    EXPECT_EQ(axis.beyond[at], 1);
    EXPECT_EQ(std::accumulate(axis.beyond.begin(), axis.beyond.end(), 0), 1);
    ASSERT_EQ(axis.worst.size(), 1U);
    EXPECT_EQ(axis.worst[0].index, position[static_cast<std::size_t>(axis.axis)]);
  }
  EXPECT_EQ(map.plane.row_axis, 2);
  EXPECT_EQ(map.plane.column_axis, 3);
  EXPECT_EQ(map.plane.ratio[3 * 5 + 4], 7);
}

TEST(ErrorMap, WithinTheBoundIsNotBeyond) {
  const ErrorMap map = map_of_one({4}, 2, 1);  // exactly on the line
  EXPECT_EQ(map.beyond, 0);
  EXPECT_EQ(map.axes.at(0).ratio[2], 1);
  EXPECT_TRUE(map.axes.at(0).worst.empty());
  EXPECT_EQ(map.worst.at(0).ratio, 1);
}

TEST(ErrorMap, TheBoundHasFourParts) {
  const std::vector<float> reference{-8, 4}, device{-8 + 1, 4}, magnitude{100, 0};
  const Bound bound{.y = 2, .max_y = 3, .magnitude = 5, .absolute = 0.5};
  const ErrorMap map = map_errors(device, reference, magnitude, {2}, bound);
  EXPECT_DOUBLE_EQ(map.worst.at(0).bound, 0.5 + (2 * 8 + 3 * 8 + 5 * 100) / 2048.0);
}

TEST(ErrorMap, NotANumberIsInfinitelyWrong) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> device{nan, nan, 1}, reference{0, nan, 1};
  const ErrorMap map = map_errors(device, reference, {}, {3}, kOne);
  EXPECT_EQ(map.beyond, 1);  // where the reference is no number there is nothing to compare
  EXPECT_TRUE(std::isinf(map.worst.at(0).ratio));
  EXPECT_EQ(map.worst[0].index, 0);
}

TEST(ErrorMap, AZeroBoundForgivesNothing) {
  const ErrorMap map = map_of_one({3}, 1, 1e-20F, Bound{});
  EXPECT_EQ(map.beyond, 1);
  EXPECT_TRUE(std::isinf(map.worst.at(0).ratio));
}

TEST(ErrorMap, LongAxesArePooledAndKeepSingleIndices) {
  const ErrorMap map = map_of_one({18000}, 17999, 3);
  const AxisErrors& axis = map.axes.at(0);
  EXPECT_EQ(axis.extent, 18000);
  EXPECT_LE(axis.ratio.size(), 256U);
  EXPECT_EQ(axis.ratio.size(), axis.beyond.size());
  EXPECT_EQ(axis.ratio.back(), 3);
  EXPECT_EQ(axis.worst.at(0).index, 17999);
  EXPECT_EQ(map.plane.row_axis, -1);
  EXPECT_EQ(map.plane.rows, 1);
  EXPECT_EQ(map.plane.ratio.back(), 3);
}

TEST(ErrorMap, ThePlaneSkipsAxesWithoutExtent) {
  const ErrorMap map = map_of_one({1, 32, 1, 256}, 31 * 256 + 255, 2);
  EXPECT_EQ(map.plane.row_axis, 1);
  EXPECT_EQ(map.plane.column_axis, 3);
  EXPECT_EQ(map.plane.rows, 16);
  EXPECT_EQ(map.plane.columns, 64);
  EXPECT_EQ(map.plane.ratio.back(), 2);
  EXPECT_EQ(map.axes.size(), 2U);
}

TEST(ErrorMap, TheWorstComeFirstAndAreEight) {
  std::vector<float> device(20), reference(20, 0);
  std::iota(device.begin(), device.end(), 0.0F);
  const ErrorMap map = map_errors(device, reference, {}, {20}, kOne);
  ASSERT_EQ(map.worst.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(map.worst[i].index, 19 - static_cast<std::int64_t>(i));
  EXPECT_EQ(map.beyond, 18);
}

TEST(ErrorMap, ScalarsAndEmptyTensors) {
  const ErrorMap scalar = map_of_one({}, 0, 5);
  EXPECT_EQ(scalar.beyond, 1);
  EXPECT_TRUE(scalar.axes.empty());
  EXPECT_EQ(scalar.plane.ratio.at(0), 5);
  const ErrorMap empty = map_errors({}, {}, {}, {0, 3}, kOne);
  EXPECT_EQ(empty.beyond, 0);
  EXPECT_TRUE(empty.worst.empty());
}

}  // namespace
}  // namespace qnndbg
