// The values that a model's tensors take on given inputs: what post-training quantization (graph/quantize.h) goes by.
#pragma once

#include <optional>
#include <vector>

#include "diagnose/baseline.h"
#include "graph/quantize.h"

namespace qnndbg {

struct TensorRanges {
  std::vector<std::optional<ObservedRange>> ranges;  // by tensor; nullopt: integers, no element, or not computed
  std::vector<BaselineGap> gaps;
};

/// Runs the fp32 baseline. Errors: as run_baseline().
Result<TensorRanges> observe_ranges(const Model& model, const InputMap& inputs, const BaselineOptions& options);

}  // namespace qnndbg
