// One device tensor against its reference and its bound.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "diagnose/bounds.h"
#include "ops/op.h"
#include "tensor/half.h"
#include "tensor/tensor.h"

namespace qnndbg {

struct Judgement {
  double bound_ratio = 0;     // max over elements of |e| / bound; infinity when a NaN or Inf stands against a number
  double within_bound = 1;    // fraction of the compared elements with |e| <= bound
  std::int64_t worst = -1;    // element with the largest ratio
  std::int64_t compared = 0;  // elements with a finite reference
  std::int64_t device_nonfinite = 0;  // NaN or Inf on the device where the reference is finite
  std::int64_t beyond_half = 0;       // elements whose reference lies beyond 65504
  std::int64_t first_beyond = -1;
  double first_beyond_value = 0;  // of the exact result, before it is clamped to what half holds
  double reference_max_abs = 0;
  // Fixed-point tensors: elements whose reference lies beyond what the tensor can hold by more than the bound, and the
  // farthest of these references.
  std::int64_t beyond_low = 0;
  std::int64_t beyond_high = 0;
  float lowest = 0;
  float highest = 0;

  bool right() const { return bound_ratio <= 1; }
};

/// Compares element by element. `reference` is brought to what the device can hold (HTP's half ends at 131008, a
/// fixed-point tensor at its bound's clip) and,
/// where the fp32 sums of the host could have made the difference, replaced by the exact value: an element counts as
/// beyond its bound only when `exact` (made on first need; may be empty) agrees. `magnitude` is empty unless the bound
/// needs it.
Judgement judge(std::span<const float> device, std::span<float> reference, std::span<const float> magnitude,
                const Bound& bound, HalfKind half, const std::function<std::optional<ElementValue>()>& exact);

}  // namespace qnndbg
