// QNN nodes of operators that only move data.
#pragma once

#include <vector>

#include "ops/qnn_mapping.h"

namespace qnndbg {

/// Transpose by a checked permutation of logical axes. MNN writes it `as_stored`, which is right only where device and
/// model have one order.
QnnMapping transpose_mapping(const QnnContext& context, const std::vector<int>& permutation,
                             const std::vector<std::int64_t>& as_stored);

/// Reshape, Flatten, Squeeze and Unsqueeze.
QnnMapping reshape_family_mapping(const QnnContext& context);

/// Operand k as an element-wise node or a Concat must read it beside the output: of the output's rank and order. MNN
/// leaves that to QNN's broadcasting; a host value is written in the right order at once (static tensor "operand_<k>"),
/// a device tensor is transposed and reshaped.
QnnTensorRef aligned_input(QnnBuilder& builder, const QnnContext& context, int k);

}  // namespace qnndbg
