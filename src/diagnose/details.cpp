#include "diagnose/details.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qnndbg {
namespace {

void widen(std::span<const float> values, Histogram& histogram) {
  for (const float v : values) {
    if (!std::isfinite(v)) continue;
    histogram.low = std::min<double>(histogram.low, v);
    histogram.high = std::max<double>(histogram.high, v);
  }
}

std::int64_t count(std::span<const float> values, const Histogram& histogram, std::vector<std::int64_t>& bins) {
  const double width = histogram.high - histogram.low;
  const double per_unit = width > 0 ? static_cast<double>(bins.size()) / width : 0;
  std::int64_t outside = 0;
  for (const float v : values) {
    if (!std::isfinite(v)) {
      ++outside;
      continue;
    }
    const auto bin = static_cast<std::size_t>((v - histogram.low) * per_unit);
    ++bins[std::min(bin, bins.size() - 1)];
  }
  return outside;
}

}  // namespace

Histogram histogram_of(std::span<const float> device, std::span<const float> reference, std::size_t bins) {
  Histogram out;
  out.low = std::numeric_limits<double>::infinity();
  out.high = -out.low;
  widen(device, out);
  widen(reference, out);
  if (out.low > out.high) out.low = out.high = 0;
  out.device.resize(bins, 0);
  out.reference.resize(bins, 0);
  out.device_outside = count(device, out, out.device);
  out.reference_outside = count(reference, out, out.reference);
  return out;
}

}  // namespace qnndbg
