// Strided windows of a tensor.
#pragma once

#include "tensor/tensor.h"

namespace qnndbg {

/// Along each axis: `begin`, begin + step, ... (`size` positions).
struct SliceAxis {
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t size = 0;
};

/// Copies the window that `axes` (one per axis of x) describes; the result has rank x.rank().
/// Precondition: every position lies inside x.
Tensor slice(const Tensor& x, const std::vector<SliceAxis>& axes);

}  // namespace qnndbg
