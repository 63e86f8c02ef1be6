// Quantization scales that no device can use: zero, negative, NaN or infinite.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/model.h"
#include "knowledge/explanation.h"

namespace qnndbg {

/// The scales of one operator's weights, or of one tensor.
struct InvalidScales {
  int op_index = -1;  // whose weights they are, or who makes the tensor
  std::string op;     // its name
  std::string what;   // "weights" or "tensor t12"
  std::int64_t total = 0;
  std::int64_t nan = 0;  // also infinite ones
  std::int64_t zero = 0;
  std::int64_t negative = 0;
  std::int64_t first = 0;  // position of the first invalid one: the output channel where there is one per channel
  double first_value = 0;
};

struct ScaleScan {
  std::int64_t total = 0;  // scales looked at
  std::vector<InvalidScales> invalid;
  std::vector<std::string> unreadable;  // operators whose scales could not be read, with the reason
};

/// Looks at every scale that the model stores: of coded weights and of tensors with an encoding. QNN requires positive
/// scales; a scale of a symmetric weight may be negative in MNN's format and is then counted only if it is not finite
/// or zero.
ScaleScan scan_scales(const Model& model);

/// The scan as an explanation: class quant_params_invalid when there is an invalid scale, else not_decidable.
Explanation explain_scales(const Model& model);

}  // namespace qnndbg
