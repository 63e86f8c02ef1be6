// The trusted CPU baseline: the whole model in fp32.
#pragma once

#include <functional>

#include "dump/inputs.h"
#include "graph/model.h"
#include "ops/op.h"

namespace qnndbg {

struct BaselineTensor {
  int tensor = 0;  // t<tensor>
  int op_index = 0;
  int output = 0;
  const Tensor* value = nullptr;  // logical order; valid during the call only
};

struct BaselineOptions {
  int threads = 0;
  std::function<bool(int done, int total, std::string_view op)> progress;
};

/// Operators that could not be computed, and why; what depends on them is listed too.
struct BaselineGap {
  int op_index = 0;
  std::string reason;
};

/// Runs the model on `inputs` (by name; an input that is missing or has other dims is an error) and hands every tensor
/// to `sink` as soon as it exists; an error of the sink ends the run. Memory: only tensors that are still needed are
/// kept.
Result<std::vector<BaselineGap>> run_baseline(const Model& model, const InputMap& inputs,
                                              const BaselineOptions& options,
                                              const std::function<Result<void>(const BaselineTensor&)>& sink);

}  // namespace qnndbg
