#include "diagnose/ratio_histogram.h"

#include <bit>
#include <cmath>
#include <cstddef>

namespace qnndbg {
namespace {

// The bits of non-negative floats are ordered as the floats are; those above the fifth of the fraction are the bucket.
constexpr int kDroppedBits = 23 - 5;
constexpr std::size_t kBuckets = std::size_t{1} << (31 - kDroppedBits);

}  // namespace

void RatioHistogram::add(float value) {
  if (!(value >= 0)) return;
  if (buckets_.empty()) buckets_.resize(kBuckets);
  // Exact zeros have the bucket 0, whose upper end is denormal. -0 becomes 0 by the absolute value.
  ++buckets_[std::bit_cast<std::uint32_t>(std::fabs(value)) >> kDroppedBits];
  ++count_;
}

void RatioHistogram::add(const RatioHistogram& other) {
  if (other.count_ == 0) return;
  if (buckets_.empty()) buckets_.resize(kBuckets);
  for (std::size_t b = 0; b < kBuckets; ++b) buckets_[b] += other.buckets_[b];
  count_ += other.count_;
}

double RatioHistogram::quantile(double q) const {
  const double wanted = q * static_cast<double>(count_);
  std::int64_t seen = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    seen += buckets_[b];
    if (seen == 0 || static_cast<double>(seen) < wanted) continue;
    return b == 0 ? 0.0 : std::bit_cast<float>(static_cast<std::uint32_t>(b + 1) << kDroppedBits);
  }
  return 0;
}

}  // namespace qnndbg
