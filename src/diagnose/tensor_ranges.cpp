#include "diagnose/tensor_ranges.h"

#include <utility>

namespace qnndbg {

Result<TensorRanges> observe_ranges(const Model& model, const InputMap& inputs, const BaselineOptions& options) {
  TensorRanges seen;
  seen.ranges.resize(model.graph().tensors.size());
  auto gaps = run_baseline(model, inputs, options, [&](const BaselineTensor& tensor) -> Result<void> {
    if (tensor.value->type() != DType::f32 || tensor.value->empty()) return {};
    std::optional<ObservedRange>& range = seen.ranges[static_cast<std::size_t>(tensor.tensor)];
    if (!range) range.emplace();
    range->add(tensor.value->f32());
    return {};
  });
  if (!gaps) return fail(std::move(gaps.error()));
  seen.gaps = std::move(*gaps);
  return seen;
}

}  // namespace qnndbg
