// Weights and bias of a convolution that the device runs in integers.
//
// MNN hands such a node its weights as stored (signed 8-bit integers with one scale per output channel) and its bias as
// 32-bit integers in units of input scale x weight scale, cut off toward zero (facts: docs/mnn-format.md).
#pragma once

#include <optional>
#include <vector>

#include "graph/model.h"

namespace qnndbg {

struct IntegerConstants {
  std::vector<float> weight;  // in the model's order
  std::vector<float> bias;    // empty if the model has none
};

/// The real values of these integers; nullopt when the weights are of a kind that MNN brings to float first, or when
/// the model declares no usable encoding for the convolution's input.
Result<std::optional<IntegerConstants>> integer_conv_constants(const Model& model, int op);

}  // namespace qnndbg
