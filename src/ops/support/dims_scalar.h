// Rank and Size: one integer that follows from the dims of operand 0, computed on the host.
#pragma once

#include "ops/op.h"
#include "ops/support/host_values.h"

namespace qnndbg {

class DimsScalar : public Op {
 public:
  bool shape_only() const override { return true; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    return std::vector<TensorSpec>{{DType::i32, {}}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    return std::vector<Stage>{
        {.compute = [number = value(context.inputs[0].spec.dims)](const RunContext&) -> Result<StageResult> {
          Tensor scalar = Tensor::i32({});
          scalar.i32()[0] = static_cast<std::int32_t>(number);
          return StageResult{.value = std::move(scalar)};
        }}};
  }

 protected:
  /// Fits int32: check_dims() allows no more elements.
  virtual std::int64_t value(const Dims& dims) const = 0;
};

}  // namespace qnndbg
