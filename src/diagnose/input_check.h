// The commonest mistake first: is the dump's input the one that was given?
#pragma once

#include <optional>
#include <string>

#include "tensor/half.h"
#include "tensor/metrics.h"
#include "tensor/tensor.h"

namespace qnndbg {

struct InputDifference {
  std::string cause;  // "input_not_copied" or "input_differs"
  std::string evidence;
};

/// Compares a device input with the given one (same dims); nullopt when they agree up to rounding to half.
std::optional<InputDifference> compare_input(const Tensor& device, const Tensor& given);

}  // namespace qnndbg
