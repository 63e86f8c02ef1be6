// A cheap look at whether a mistake could explain a device output, before it is listed as a hypothesis: operators with
// hundreds of conceivable mistakes (padding splits, slice begins, permutations) list the few that survive.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ops/op.h"

namespace qnndbg {

/// A value and the scale on which its error is to be seen (0: bit-exact data movement).
struct Estimate {
  double value = 0;
  double magnitude = 0;
};

class Screen {
 public:
  /// Picks the elements: those where the device is furthest from the reference, and some spread over the tensor.
  explicit Screen(const Evidence& evidence);

  /// False when `estimate` is far from the device at one of the elements. The line is a multiple of the bounds that the
  /// engine holds a match to: passing it proves nothing.
  bool may_fit(const std::function<Estimate(std::int64_t element)>& estimate) const;

 private:
  const Tensor& device_;
  std::optional<ValueRange> clip_;  // of a fixed-point output
  double steps_ = 0;                // its steps are coarser than what a half leaves
  std::vector<std::int64_t> elements_;
};

}  // namespace qnndbg
