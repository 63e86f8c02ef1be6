#include "diagnose/error_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/half.h"

namespace qnndbg {
namespace {

std::int64_t group_of(std::int64_t extent, std::int64_t entries) { return (extent + entries - 1) / entries; }

/// Error and allowance of single elements; the formula is that of bounds.h.
class ElementRatio {
 public:
  ElementRatio(std::span<const float> device, std::span<const float> reference, std::span<const float> magnitude,
               const Bound& bound)
      : device_(device), reference_(reference), magnitude_(magnitude), bound_(bound) {
    double max = 0;
    if (bound.max_y > 0) {
      for (float r : reference) max = std::max(max, std::isfinite(r) ? std::fabs(static_cast<double>(r)) : 0);
    }
    base_ = bound.absolute + bound.max_y * kHalfUnitRoundoff * std::min(max, kHtpHalfMax);
  }

  double bound(std::size_t i) const {
    const double m = magnitude_.empty() ? 0 : magnitude_[i];
    return base_ + kHalfUnitRoundoff * (bound_.y * std::fabs(reference_[i]) + bound_.magnitude * m);
  }

  double operator()(std::size_t i) const {
    if (!std::isfinite(reference_[i])) return 0;
    const double error = std::fabs(static_cast<double>(device_[i]) - reference_[i]);
    if (error == 0) return 0;
    const double line = bound(i);
    return std::isfinite(error) && line > 0 ? error / line : std::numeric_limits<double>::infinity();
  }

 private:
  std::span<const float> device_, reference_, magnitude_;
  Bound bound_;
  double base_ = 0;
};

/// Errors by single index of every axis, before they are pooled.
using Profile = std::vector<AxisIndex>;

Profile empty_profile(std::int64_t extent) {
  Profile profile(static_cast<std::size_t>(extent));
  for (std::size_t i = 0; i < profile.size(); ++i) profile[i].index = static_cast<std::int64_t>(i);
  return profile;
}

AxisErrors pooled(int axis, const Profile& profile, const MapSize& size) {
  AxisErrors out;
  out.axis = axis;
  out.extent = static_cast<std::int64_t>(profile.size());
  out.group = group_of(out.extent, size.axis_entries);
  const auto entries = static_cast<std::size_t>(group_of(out.extent, out.group));
  out.ratio.resize(entries, 0);
  out.beyond.resize(entries, 0);
  for (const AxisIndex& at : profile) {
    const auto entry = static_cast<std::size_t>(at.index / out.group);
    out.ratio[entry] = std::max(out.ratio[entry], at.ratio);
    out.beyond[entry] += at.beyond;
    if (at.beyond > 0) out.worst.push_back(at);
  }
  const std::size_t shown = std::min(size.worst, out.worst.size());
  std::partial_sort(out.worst.begin(), out.worst.begin() + static_cast<std::ptrdiff_t>(shown), out.worst.end(),
                    [](const AxisIndex& a, const AxisIndex& b) {
                      return a.ratio != b.ratio ? a.ratio > b.ratio : a.index < b.index;
                    });
  out.worst.resize(shown);
  return out;
}

ErrorPlane plane_of(const Dims& dims, const MapSize& size) {
  ErrorPlane plane;
  for (int axis = static_cast<int>(dims.size()) - 1; axis >= 0 && plane.row_axis < 0; --axis) {
    if (dims[static_cast<std::size_t>(axis)] < 2) continue;
    (plane.column_axis < 0 ? plane.column_axis : plane.row_axis) = axis;
  }
  const auto extent = [&](int axis) { return axis < 0 ? 1 : dims[static_cast<std::size_t>(axis)]; };
  plane.row_group = group_of(extent(plane.row_axis), size.plane_rows);
  plane.column_group = group_of(extent(plane.column_axis), size.plane_columns);
  plane.rows = group_of(extent(plane.row_axis), plane.row_group);
  plane.columns = group_of(extent(plane.column_axis), plane.column_group);
  plane.ratio.resize(static_cast<std::size_t>(plane.rows * plane.columns), 0);
  return plane;
}

/// Steps through the rows of a tensor in memory order: all positions of the axes before `axes`.
void advance(std::vector<std::int64_t>& position, const Dims& dims, std::size_t axes) {
  for (std::size_t k = axes; k-- > 0;) {
    if (++position[k] < dims[k]) return;
    position[k] = 0;
  }
}

void add(AxisIndex& at, double ratio, std::int64_t beyond) {
  at.ratio = std::max(at.ratio, ratio);
  at.beyond += beyond;
}

/// The worst elements seen so far, worst first, at most `most`.
void keep(std::vector<ElementError>& worst, ElementError element, std::size_t most) {
  const auto place = std::upper_bound(worst.begin(), worst.end(), element.ratio,
                                      [](double ratio, const ElementError& other) { return ratio > other.ratio; });
  worst.insert(place, std::move(element));
  if (worst.size() > most) worst.pop_back();
}

}  // namespace

ErrorMap map_errors(std::span<const float> device, std::span<const float> reference, std::span<const float> magnitude,
                    const Dims& dims, const Bound& bound, const MapSize& size) {
  const ElementRatio ratio_at(device, reference, magnitude, bound);
  ErrorMap map;
  map.plane = plane_of(dims, size);
  std::vector<Profile> profiles;
  for (std::int64_t extent : dims) profiles.push_back(empty_profile(extent));
  ErrorPlane& plane = map.plane;

  // Along the last axis with more than one index elements are neighbours in memory; the other axes stand still there.
  const bool has_rows = plane.column_axis >= 0;
  const auto outer = has_rows ? static_cast<std::size_t>(plane.column_axis) : dims.size();
  const auto row_length = has_rows ? static_cast<std::size_t>(dims[outer]) : std::size_t{1};
  std::vector<std::int64_t> position(dims.size(), 0);
  for (std::size_t begin = 0; begin < device.size(); begin += row_length, advance(position, dims, outer)) {
    const std::int64_t row = plane.row_axis < 0 ? 0 : position[static_cast<std::size_t>(plane.row_axis)];
    double* cells = &plane.ratio[static_cast<std::size_t>(row / plane.row_group * plane.columns)];
    double row_ratio = 0;
    std::int64_t row_beyond = 0;
    for (std::size_t j = 0; j < row_length; ++j) {
      const double ratio = ratio_at(begin + j);
      if (ratio == 0) continue;
      const int beyond = ratio > 1 ? 1 : 0;
      if (has_rows) add(profiles[outer][j], ratio, beyond);
      double& cell = cells[static_cast<std::int64_t>(j) / plane.column_group];
      cell = std::max(cell, ratio);
      row_ratio = std::max(row_ratio, ratio);
      row_beyond += beyond;
      if (map.worst.size() == size.worst && (size.worst == 0 || ratio <= map.worst.back().ratio)) continue;
      if (has_rows) position[outer] = static_cast<std::int64_t>(j);
      const std::size_t i = begin + j;
      keep(map.worst, {static_cast<std::int64_t>(i), position, device[i], reference[i], ratio_at.bound(i), ratio},
           size.worst);
    }
    if (has_rows) position[outer] = 0;
    map.beyond += row_beyond;
    for (std::size_t axis = 0; axis < outer; ++axis)
      add(profiles[axis][static_cast<std::size_t>(position[axis])], row_ratio, row_beyond);
  }
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] > 1) map.axes.push_back(pooled(static_cast<int>(axis), profiles[axis], size));
  }
  return map;
}

}  // namespace qnndbg
