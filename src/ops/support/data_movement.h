// Operators that only move data: their result is bit-exact on the device.
#pragma once

#include <vector>

#include "ops/op.h"

namespace qnndbg {

/// Calls f(elements of x, elements of y) with their type. Precondition: both tensors have the same one.
template <class F>
void with_elements(const Tensor& x, Tensor& y, F f) {
  if (x.type() == DType::f32) {
    f(x.f32(), y.f32());
  } else {
    f(x.i32(), y.i32());
  }
}

/// out[i0, i1, ...] = in[i0 * strides[0] + i1 * strides[1] + ...]: strides count elements of `in`, 0 repeats an axis.
/// Precondition: every position lies inside `in`.
Tensor strided_copy(const Tensor& in, Dims dims, const Dims& strides);

/// The parts side by side along `axis` of `dims`. Each holds one position of that axis, whether its own dims show the
/// extent 1 or leave it out. Precondition: their element counts fit, and they have one type.
Tensor stack(std::span<const Tensor* const> parts, Dims dims, int axis);

/// out.dims[i] = in.dims[permutation[i]]; either element type.
Tensor permute(const Tensor& in, const std::vector<int>& permutation);

/// Same elements in the same logical order under other dims.
Tensor reshaped(const Tensor& in, Dims dims);

/// One stage that copies operand 0 into output 0 under the output's dims ("bound exact").
Stage reshape_stage(std::string qnn_type, const Dims& output_dims);

/// The stages of MNN's QNN Reshape family (Reshape, Flatten, Squeeze, Unsqueeze). When the backend brought NC4HW4 data
/// to logical order first, the dump has "permute_input" and "permute_output".
std::vector<Stage> reshape_family_stages(const LowerContext& context);

/// Checks that `permutation` is one of 0..rank-1.
Result<std::vector<int>> check_permutation(const std::vector<std::int64_t>& permutation, int rank);

}  // namespace qnndbg
