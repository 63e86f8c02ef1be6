#include "diagnose/error_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
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

/// Elements of a random tensor one by one, as the header says what a map is.
TEST(ErrorMap, IsWhatAPlainLoopFinds) {
  std::mt19937 random(11);
  const auto below = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  for (int trial = 0; trial < 300; ++trial) {
    Dims dims(static_cast<std::size_t>(below(5)));
    for (std::int64_t& extent : dims) extent = 1 + below(9);
    std::vector<float> device(static_cast<std::size_t>(element_count(dims))), reference(device.size(), 0);
    for (float& v : device) v = static_cast<float>(below(8)) / 2;
    const MapSize size{
        .axis_entries = 1 + below(9), .plane_rows = 1 + below(9), .plane_columns = 1 + below(9), .worst = 2};
    const ErrorMap map = map_errors(device, reference, {}, dims, kOne, size);

    std::vector<std::vector<double>> along;
    for (const AxisErrors& axis : map.axes) along.emplace_back(axis.ratio.size(), 0);
    std::vector<double> plane(map.plane.ratio.size(), 0);
    std::int64_t beyond = 0;
    for (std::size_t i = 0; i < device.size(); ++i) {
      std::vector<std::int64_t> position(dims.size());
      std::int64_t rest = static_cast<std::int64_t>(i);
      for (std::size_t k = dims.size(); k-- > 0; rest /= dims[k]) position[k] = rest % dims[k];
      beyond += device[i] > 1 ? 1 : 0;
      for (std::size_t a = 0; a < map.axes.size(); ++a) {
        const std::int64_t entry = position[static_cast<std::size_t>(map.axes[a].axis)] / map.axes[a].group;
        double& at = along[a][static_cast<std::size_t>(entry)];
        at = std::max<double>(at, device[i]);
      }
      const auto cell_of = [&](int axis, std::int64_t group) {
        return axis < 0 ? 0 : position[static_cast<std::size_t>(axis)] / group;
      };
      double& cell =
          plane[static_cast<std::size_t>(cell_of(map.plane.row_axis, map.plane.row_group) * map.plane.columns +
                                         cell_of(map.plane.column_axis, map.plane.column_group))];
      cell = std::max<double>(cell, device[i]);
    }
    ASSERT_EQ(map.beyond, beyond) << "trial " << trial;
    ASSERT_EQ(map.plane.ratio, plane) << "trial " << trial;
    for (std::size_t a = 0; a < map.axes.size(); ++a) ASSERT_EQ(map.axes[a].ratio, along[a]) << "trial " << trial;
    if (beyond > 0) {
      ASSERT_EQ(map.worst.at(0).ratio, *std::max_element(device.begin(), device.end())) << "trial " << trial;
      ASSERT_EQ(map.worst[0].device, device[static_cast<std::size_t>(map.worst[0].index)]) << "trial " << trial;
    }
  }
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
