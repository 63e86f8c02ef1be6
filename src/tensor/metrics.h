// Error metrics of one tensor against its reference.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/half.h"

namespace qnndbg {

/// The element with a large error.
struct WorstElement {
  std::int64_t index = 0;  // flat, logical order
  float actual = 0;
  float expected = 0;
};

/// Metrics of `actual` against `expected`. Only elements where both are finite ("compared") enter the error figures,
/// the extremes and the worst elements; NaN, infinities and zeros are counted over all elements of their side. e =
/// actual - expected. |e| of max_abs, of the quantiles and of the order of the worst is a float's (infinite where the
/// difference of two finite floats overflows); sums are in double. Where nothing was compared, the figures are those of
/// two equal tensors: look at `compared` first.
struct Metrics {
  std::int64_t count = 0;     // elements
  std::int64_t compared = 0;  // elements with both sides finite
  std::int64_t actual_nan = 0, actual_inf = 0, actual_zero = 0;
  std::int64_t expected_nan = 0, expected_inf = 0, expected_zero = 0;
  double max_abs = 0;   // max |e|
  double mean_abs = 0;  // mean |e|
  double mean = 0;      // mean e: rounding is nearly unbiased, a shift is not
  double max_rel = 0;   // max |e| / max |expected|; 0 when max |expected| is 0 and max |e| is 0, else infinity
  double mean_rel = 0;  // mean |e| / mean |expected|, same convention
  double rmse = 0;
  double sqnr_db = 0;  // 10 log10(sum expected^2 / sum e^2); +infinity without error, -infinity when all expected are 0
  double cosine = 1;   // of the two tensors as vectors; 1 when both are zero, 0 when one is
  double p50 = 0, p99 = 0,
         p999 = 0;              // quantiles of |e|: the smallest |e| with at least q * compared elements at or below it
  double expected_max_abs = 0;  // max |expected|
  double expected_min = 0, expected_max = 0, actual_min = 0, actual_max = 0;
  std::vector<WorstElement> worst;  // up to five with |e| > 0, by |e| descending, then by index
};

/// All metrics in one pass over the data, one thread, SIMD; about once in a thousand times, or when most errors have
/// one of a few values, the quantiles take two passes more. Spans have the same size.
Metrics compute_metrics(std::span<const float> actual, std::span<const float> expected);

/// The same with the device side still in half precision (no fp32 copy of it is made).
Metrics compute_metrics(std::span<const std::uint16_t> actual, HalfKind half, std::span<const float> expected);

}  // namespace qnndbg
