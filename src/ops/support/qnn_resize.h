// QNN nodes that resize as the model means it.
#pragma once

#include "ops/qnn_mapping.h"
#include "ops/support/resize_mistakes.h"

namespace qnndbg {

/// Values of the parameters interpolation_mode and transformation_mode of QNN's Resize.
inline constexpr std::int64_t kQnnCubic = 2;
inline constexpr std::int64_t kQnnHalfPixel = 0;
inline constexpr std::int64_t kQnnPytorchHalfPixel = 1;
inline constexpr std::int64_t kQnnAlignCorners = 2;
inline constexpr std::int64_t kQnnAsymmetric = 3;

/// A resize node of QNN where one samples at the model's positions. QNN knows no scale but in/out and rounds in one
/// way; where that is not the model's, the positions are gathered and weighted: nodes Gather, ElementWiseMultiply and
/// ElementWiseAdd for the rows, then for the columns.
QnnMappingResult resize_mapping(const QnnContext& context, const ResizeNode& node, float cubic_coefficient);

}  // namespace qnndbg
