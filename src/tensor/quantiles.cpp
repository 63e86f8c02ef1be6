#include "tensor/quantiles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tensor/metrics_simd.h"

namespace qnndbg {
namespace {

// Standard deviations of the sample's rank on either side of the bracket: it misses about once in 2000 times.
constexpr double kDeviations = 3.5;

/// The sample's order statistic `position` (from 0, may lie outside the sample): `below` or `beyond` it there.
float order_statistic(std::span<float> sample, double position, float below, float beyond) {
  if (position < 0) return below;
  if (position >= static_cast<double>(sample.size())) return beyond;
  const auto nth = sample.begin() + static_cast<std::ptrdiff_t>(position);
  std::nth_element(sample.begin(), nth, sample.end());
  return *nth;
}

}  // namespace

std::int64_t Window::sample_size(std::int64_t total) { return std::clamp<std::int64_t>(total / 512, 1024, 4096); }

Window::Window(std::span<float> sample, std::int64_t total, double first, double last)
    : low_(-1), high_(std::numeric_limits<float>::infinity()), capacity_(static_cast<std::size_t>(total)) {
  if (total > kSmall) {
    const auto size = static_cast<double>(sample.size());
    const auto margin = [&](double q) { return kDeviations * std::sqrt(size * q * (1 - q)) + 2; };
    low_ = order_statistic(sample, std::floor(size * first - margin(first)), low_, high_);
    high_ = order_statistic(sample, std::ceil(size * last + margin(last)), low_, high_);
    // A good bracket holds far less than this; one that holds more is useless anyway.
    capacity_ /= 4;
  }
  stored_ = std::make_unique_for_overwrite<float[]>(capacity_ + simd::kBlock + simd::kSlack);
}

void Window::add(std::span<const float> values) {
  seen_ += static_cast<std::int64_t>(values.size());
  while (!values.empty() && !overflowed_) {
    const std::size_t n = std::min(values.size(), simd::kBlock);
    const auto [stored, above] = simd::filter(values.data(), n, low_, high_, stored_.get() + stored_count_);
    stored_count_ += stored;
    above_ += static_cast<std::int64_t>(above);
    overflowed_ = stored_count_ > capacity_;
    values = values.subspan(n);
  }
}

std::optional<float> Window::at_rank(std::int64_t rank) const {
  if (overflowed_) return std::nullopt;
  const std::int64_t below = seen_ - above_;
  // No value is less than zero, so that the values at or below zero are zeros.
  if (rank <= below) return low_ == 0 ? std::optional(0.0f) : std::nullopt;
  if (rank - below > static_cast<std::int64_t>(stored_count_)) return std::nullopt;
  return value_at_rank({stored_.get(), stored_count_}, rank - below);
}

float value_at_rank(std::span<const float> values, std::int64_t rank) {
  const auto total = static_cast<std::int64_t>(values.size());
  if (total > Window::kSmall) {
    std::vector<float> sample;
    const std::size_t step = values.size() / static_cast<std::size_t>(Window::sample_size(total));
    for (std::size_t i = 0; i < values.size(); i += step) sample.push_back(values[i]);
    const double q = static_cast<double>(rank) / static_cast<double>(total);
    Window window(sample, total, q, q);
    window.add(values);
    if (const auto value = window.at_rank(rank)) return *value;
  }
  std::vector<float> copy(values.begin(), values.end());
  std::nth_element(copy.begin(), copy.begin() + (rank - 1), copy.end());
  return copy[static_cast<std::size_t>(rank - 1)];
}

namespace {

// Floats that are not negative have the order of their bits, so that the upper half of the bits is the leading digit of
// a radix sort and the lower half the other.
constexpr std::uint32_t upper_half(float value) { return std::bit_cast<std::uint32_t>(value) >> 16; }
constexpr std::uint32_t lower_half(float value) { return std::bit_cast<std::uint32_t>(value) & 0xffff; }

using Histogram = std::vector<std::int64_t>;

/// The bin that holds `rank`, which becomes the rank within that bin.
std::uint32_t bin_at(const Histogram& histogram, std::int64_t& rank) {
  std::uint32_t bin = 0;
  for (; rank > histogram[bin]; ++bin) rank -= histogram[bin];
  return bin;
}

}  // namespace

std::vector<float> values_at_ranks(const std::function<void(const Consumer&)>& feed,
                                   std::span<const std::int64_t> ranks) {
  constexpr std::size_t kBins = 1 << 16;
  Histogram upper(kBins);
  feed([&](std::span<const float> values) {
    for (float v : values) ++upper[upper_half(v)];
  });
  struct Digit {
    std::uint32_t bin;  // the upper half
    std::int64_t rank;  // within it
    Histogram lower;
  };
  std::vector<Digit> digits;
  for (std::int64_t rank : ranks) {
    const std::uint32_t bin = bin_at(upper, rank);
    digits.push_back({bin, rank, Histogram(kBins)});
  }
  feed([&](std::span<const float> values) {
    for (Digit& d : digits)
      for (float v : values)
        if (upper_half(v) == d.bin) ++d.lower[lower_half(v)];
  });
  std::vector<float> result;
  for (Digit& d : digits) result.push_back(std::bit_cast<float>((d.bin << 16) | bin_at(d.lower, d.rank)));
  return result;
}

}  // namespace qnndbg
