// Batched matrix products in fp32 by oneDNN, and single elements in double.
#pragma once

#include <cstdint>
#include <span>

#include "ops/op.h"

namespace qnndbg {

/// The extents of a product, and how its operands are read.
struct MatMulShapes {
  Dims a = {}, b = {};  // operands with a leading 1 (a) or trailing 1 (b) where they had rank 1
  Dims out = {};        // with those ones still in it
  Dims result = {};     // without them
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
};

/// NumPy's rules: the last two axes are the matrix, those before broadcast. An error names what does not fit.
Result<MatMulShapes> mat_mul_shapes(const Dims& a, const Dims& b, bool transpose_a, bool transpose_b);

/// a b + bias, one value of `bias` per column or none, with M_i = sum |a||b| + |bias| if it is wanted. The tensors are
/// f32 with the element counts that the shapes were made for.
Result<StageResult> mat_mul(const MatMulShapes& shapes, const Tensor& a, const Tensor& b, std::span<const float> bias,
                            bool want_magnitude);

/// One element of the same, in double.
double mat_mul_element(const MatMulShapes& shapes, const Tensor& a, const Tensor& b, std::span<const float> bias,
                       std::int64_t element);

}  // namespace qnndbg
