#include "diagnose/shift.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/half.h"

namespace qnndbg {
namespace {

constexpr std::int64_t kFewestValues = 256;
/// Of the line: less is no use to anybody, however certain.
constexpr double kSmallestShare = 0.03;
/// Standard deviations for one channel; many channels raise it. The 189 recorded runs stay below half of it.
constexpr double kDeviations = 8;
/// Nearness to half a unit in the last place, in such units, that counts as a tie. Covers the host's fp32 sums.
constexpr double kTie = 0.01;
/// Grid points to a unit in the last place. Between two of them rounding errors differ by a sixteenth of their range.
constexpr double kGrid = 16;

struct Sums {
  double error = 0;
  double variance = 0;
  double line = 0;
  std::int64_t values = 0;

  void add(double mean_error, double y, const Bound& bound) {
    const double widest = 2 * kHalfUnitRoundoff * std::fabs(y);
    error += mean_error;
    variance += widest * widest / 12;
    line += bound.at(y, 0, 0);
    ++values;
  }
  double deviations() const { return variance > 0 ? std::fabs(error) / std::sqrt(variance) : 0; }
  double share() const { return line > 0 ? std::fabs(error) / line : 0; }
};

/// The outer, channel and inner extents of a tensor.
struct Planes {
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t inner = 1;
};

Planes planes_of(const Dims& dims) {
  const std::size_t axis = dims.size() == 4 ? 1 : dims.size() - 1;
  Planes planes;
  for (std::size_t k = 0; k < dims.size(); ++k)
    (k < axis ? planes.outer : k == axis ? planes.channels : planes.inner) *= dims[k];
  return planes;
}

/// A reference's unit in the last place as a half.
double unit_of(double y) { return std::ldexp(2 * kHalfUnitRoundoff, std::ilogb(y)); }

bool counts(float device, float reference) {
  const double y = std::fabs(static_cast<double>(reference));
  if (!(y >= kHalfMinNormal) || !(y <= kHalfMax) || !std::isfinite(device)) return false;
  const double half_unit = unit_of(y) / 2;
  return std::fabs(std::fabs(static_cast<double>(device) - reference) - half_unit) > kTie * half_unit;
}

/// The reference on a grid that divides a unit in the last place: one observation each.
double grid_point(double y) {
  const double step = unit_of(y) / kGrid;
  return std::round(y / step) * step;
}

template <class Visit>
void for_each_of_channel(const Planes& planes, std::int64_t channel, Visit visit) {
  for (std::int64_t o = 0; o < planes.outer; ++o) {
    const std::int64_t first = (o * planes.channels + channel) * planes.inner;
    for (std::int64_t i = first; i < first + planes.inner; ++i) visit(static_cast<std::size_t>(i));
  }
}

/// A first look at every element as an observation of its own, for all channels in one pass: only those that it finds
/// need sorting.
std::vector<Sums> plain_sums(std::span<const float> device, std::span<const float> reference, const Planes& planes) {
  constexpr double kWidest = 2 * kHalfUnitRoundoff;
  std::vector<Sums> sums(static_cast<std::size_t>(planes.channels));
  std::size_t at = 0;
  for (std::int64_t o = 0; o < planes.outer; ++o) {
    for (Sums& sum : sums) {
      double error = 0;
      double squares = 0;
      double magnitudes = 0;
      for (std::int64_t i = 0; i < planes.inner; ++i, ++at) {
        const double y = reference[at];
        error += device[at] - y;
        squares += y * y;
        magnitudes += std::fabs(y);
      }
      sum.error += error;
      sum.variance += kWidest * kWidest / 12 * squares;
      sum.line += kHalfUnitRoundoff * magnitudes;
    }
  }
  return sums;
}

Sums distinct_sums(std::span<const float> device, std::span<const float> reference, const Planes& planes,
                   std::int64_t channel, const Bound& bound) {
  std::vector<std::pair<double, double>> observed;  // grid point, error
  for_each_of_channel(planes, channel, [&](std::size_t i) {
    if (counts(device[i], reference[i]))
      observed.emplace_back(grid_point(reference[i]), static_cast<double>(device[i]) - reference[i]);
  });
  std::sort(observed.begin(), observed.end());
  Sums sums;
  for (std::size_t begin = 0, end = 0; begin < observed.size(); begin = end) {
    double error = 0;
    for (end = begin; end < observed.size() && observed[end].first == observed[begin].first; ++end)
      error += observed[end].second;
    sums.add(error / static_cast<double>(end - begin), observed[begin].first, bound);
  }
  return sums;
}

/// The threshold for the largest of n normal deviates grows as sqrt(2 ln n) (extreme value theory).
double deviations_wanted(std::int64_t channels) {
  return std::sqrt(kDeviations * kDeviations + 2 * std::log(static_cast<double>(channels)));
}

}  // namespace

std::optional<ChannelShift> find_shift(std::span<const float> device, std::span<const float> reference,
                                       const Dims& dims, const Bound& bound) {
  if (dims.empty() || device.size() != reference.size() || device.empty()) return std::nullopt;
  const Planes planes = planes_of(dims);
  if (planes.outer * planes.inner < kFewestValues) return std::nullopt;
  const double wanted = deviations_wanted(planes.channels);
  ChannelShift worst;
  const std::vector<Sums> first_look = plain_sums(device, reference, planes);
  for (std::int64_t c = 0; c < planes.channels; ++c) {
    const Sums& plain = first_look[static_cast<std::size_t>(c)];
    if (!(plain.deviations() >= wanted) || !(plain.share() >= kSmallestShare)) continue;
    const Sums sums = distinct_sums(device, reference, planes, c, bound);
    if (sums.values < kFewestValues || sums.deviations() < wanted || sums.share() < kSmallestShare) continue;
    ++worst.shifted;
    if (sums.deviations() <= worst.deviations) continue;
    worst.channel = c;
    worst.mean = sums.error / static_cast<double>(sums.values);
    worst.share = sums.share();
    worst.deviations = sums.deviations();
    worst.values = sums.values;
  }
  if (worst.shifted == 0) return std::nullopt;
  worst.channels = planes.channels;
  return worst;
}

}  // namespace qnndbg
