// Values of an fp32 run of the whole model, kept only as long as something still reads them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/graph_plan.h"

namespace qnndbg {

class BaselineValues {
 public:
  explicit BaselineValues(const GraphPlan& plan);

  void set_input(int tensor, Tensor value);

  /// Computes the outputs of `op` from the values so far, in fp32 with unrounded constants. An error says what is
  /// missing.
  Result<void> compute(int op);

  /// Releases what no operator after `op` reads. Call after the outputs were used.
  void release_after(int op);

  /// The value of a tensor; null if it was not computed or is released.
  const Tensor* value(int tensor) const;

 private:
  const GraphPlan& plan_;
  std::vector<std::optional<Tensor>> values_;
  std::vector<int> last_reader_;
};

}  // namespace qnndbg
