#include "ops/support/elementwise.h"

#include "ops/support/host_values.h"
#include "ops/support/layouts.h"

namespace qnndbg {

Result<std::vector<TensorSpec>> ElementwiseOp::infer(std::span<const Operand> inputs) const {
  auto x = require_operand(inputs, 0);
  if (!x) return fail(x.error());
  return std::vector<TensorSpec>{std::move(*x)};
}

Result<std::vector<Stage>> ElementwiseOp::lower(const LowerContext& /*context*/) const {
  auto one = stage();
  if (!one) return fail(one.error());
  std::vector<Stage> stages;
  stages.push_back(std::move(*one));
  return stages;
}

Layout ElementwiseOp::output_layout(std::span<const Operand> inputs) const { return follow_first(inputs); }

}  // namespace qnndbg
