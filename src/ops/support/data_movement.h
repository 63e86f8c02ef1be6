// Operators that only move data: their result is bit-exact on the device.
#pragma once

#include <vector>

#include "ops/op.h"

namespace qnndbg {

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
