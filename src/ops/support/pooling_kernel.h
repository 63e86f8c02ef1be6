// 2-D pooling windows on logical NCHW data.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace qnndbg {

enum class PoolKind : std::uint8_t { max, average };

/// Which cells the divisor of an average counts.
enum class PoolCount : std::uint8_t {
  inside,  // cells inside the input
  // cells up to the input's end plus the begin-side padding, whatever the end side has (as MNN's CPU counts); what a
  // ceil-mode window sticks out beyond that is not counted
  with_padding,
  // every cell of the window, wherever it lies
  whole_window
};

struct PoolGeometry {
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0;  // padding after the data is what the output extents need
};

/// Max: the window clipped to the input, padding never wins. Average: sums in double. `absolute` averages |x|, the
/// magnitude of the average's error bound. A window wholly outside the input gives 0.
Tensor pool(const Tensor& x, PoolKind kind, PoolCount count, const PoolGeometry& geometry, const Dims& out,
            bool absolute = false);

/// One element of the same.
float pool_element(const Tensor& x, PoolKind kind, PoolCount count, const PoolGeometry& geometry, const Dims& out,
                   std::int64_t element, bool absolute = false);

}  // namespace qnndbg
