// Operators y_i = f(x_i).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "ops/op.h"

namespace qnndbg {

/// Applies f to every element of an f32 tensor.
template <class F>
Tensor map_elements(const Tensor& x, F f) {
  Tensor y = Tensor::f32(x.dims());
  std::transform(x.f32().begin(), x.f32().end(), y.f32().begin(), f);
  return y;
}

/// One stage y = f(x) on operand 0. `magnitude(x)` gives M_i for the bound, or nullptr for none.
template <class F>
Stage unary_stage(std::string_view qnn_type, std::string_view bound, F f, float (*magnitude)(float) = nullptr) {
  return {.qnn_type = std::string(qnn_type),
          .inputs = {0},
          .bound = std::string(bound),
          .compute = [f, magnitude](const RunContext& run) -> Result<StageResult> {
            if (run.inputs[0]->type() != DType::f32) return fail("integer data is not implemented for this function");
            StageResult result{.value = map_elements(*run.inputs[0], f)};
            if (run.want_magnitude && magnitude != nullptr) result.magnitude = map_elements(*run.inputs[0], magnitude);
            return result;
          }};
}

/// Base of operators with one data operand whose output has its shape, type and layout.
class ElementwiseOp : public Op {
 public:
  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override;
  Result<std::vector<Stage>> lower(const LowerContext& context) const override;
  Layout output_layout(std::span<const Operand> inputs) const override;

 protected:
  virtual Result<Stage> stage() const = 0;
};

}  // namespace qnndbg
