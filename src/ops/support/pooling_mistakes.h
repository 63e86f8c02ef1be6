// Mistakes of 2-D pooling nodes.
#pragma once

#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/support/pooling_kernel.h"

namespace qnndbg {

/// A pooling node as the model means it.
struct PoolNode {
  PoolKind kind = PoolKind::max;
  PoolCount count = PoolCount::inside;
  PoolGeometry geometry = {};
  std::int64_t pad_bottom = 0, pad_right = 0;
  Dims out = {};
};

/// Another kind, divisor, padding split or stride, and windows of a ceil-mode average that stick out of the padded
/// input: the device leaves those at zero or unwritten, or divides them by the whole window.
std::vector<Hypothesis> pooling_mistakes(const Evidence& evidence, const PoolNode& node);

}  // namespace qnndbg
