// The vector kernels under compute_metrics. Internal to the room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace qnndbg::simd {

/// Elements that compute_metrics handles at a time: three arrays of 8 KiB stay in the L1 cache.
inline constexpr std::size_t kBlock = 2048;

/// What a block adds to the metrics. a is actual, x expected, e = a - x.
struct BlockSums {
  double e = 0, abs_e = 0, abs_x = 0;
  double ee = 0, xx = 0, aa = 0, ax = 0;
  float e_max = 0;  // max |e|
  float a_min = kLargest, a_max = -kLargest, x_min = kLargest, x_max = -kLargest;
  std::int64_t a_zero = 0, x_zero = 0;

  static constexpr float kLargest = std::numeric_limits<float>::max();
  void add(const BlockSums& other);
};

/// Sums over n elements; writes |e| of each to `errors`, in float. The sums are in double, in which products of floats
/// are exact. When an element is not finite, neither is xx + aa, and the rest means nothing.
BlockSums block_sums(const float* a, const float* x, std::size_t n, float* errors);

/// Copies the values in (low, high] to `out`, in order. `out` has room for n values and kSlack more.
inline constexpr std::size_t kSlack = 64;
struct Filtered {
  std::size_t stored = 0;  // values in (low, high]
  std::size_t above = 0;   // values > low
};
Filtered filter(const float* values, std::size_t n, float low, float high, float* out);

}  // namespace qnndbg::simd
