// Softmax along one axis.
#pragma once

#include <span>

#include "ops/support/axis_swap.h"

namespace qnndbg {

/// y = exp(beta (x - max)) / sum along the axis of `view`; the sum in double. Both spans have the view's elements.
void softmax(std::span<const float> x, const AxisView& view, std::span<float> y, float beta = 1);

}  // namespace qnndbg
