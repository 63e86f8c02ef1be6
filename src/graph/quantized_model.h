// A float model written again as one that MNN runs in fixed point: the form that MNN's own quantizer writes
// (docs/mnn-format.md, quantized tensors).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "graph/model.h"
#include "graph/quantize.h"

namespace qnndbg {

/// What stays in floats although its neighbours need not.
struct LeftInFloat {
  int tensor = -1;  // -1: it is the weights of operator `op`
  int op = -1;      // who makes the tensor, or whose weights; -1: nobody
  std::string reason;
};

struct QuantizedModel {
  std::vector<std::byte> bytes;  // the .mnn file
  int tensors = 0;               // with an encoding
  int weights = 0;               // operators whose weights became integers
  std::vector<LeftInFloat> left;
};

/// Copies the model with encodings of `type` (sfixed8 or ufixed16) chosen from `ranges` (by tensor,
/// choose_encodings()); convolutions of one operand between encoded tensors get symmetric int8 weights, and integer
/// weights stay what they are. Which operators run in fixed point is MNN's decision when it loads the file; the others
/// are handed floats. Weights of side files move into the model. Errors: the model is quantized already, is a static or
/// offline one, or has subgraphs; an operator cannot be copied (as cut_operator()); the file would exceed 2 GB.
Result<QuantizedModel> quantize_model(const Model& model, const std::vector<std::optional<ObservedRange>>& ranges,
                                      DType type);

}  // namespace qnndbg
