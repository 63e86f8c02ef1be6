// Compressed convolution weights (wire table IDSTQuan) decoded to float.
//
// Formats: docs/mnn-format.md. The decoder works on spans, wherever they lie; it trusts no number in them: sizes are
// checked against what the payload can hold before anything is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/result.h"

namespace qnndbg {

/// IDSTQuan.type.
enum class WeightCoding : int {
  palette = 1,         // a table of values and one index per weight
  sparse_palette = 2,  // the same for listed positions; all others hold zero
  half = 3,            // IEEE binary16
  int8 = 4,
};

/// One IDSTQuan record with its parts brought together.
struct CodedWeights {
  int coding = 0;                        // WeightCoding as stored
  std::span<const std::byte> payload;    // `buffer`
  std::span<const float> alpha;          // one scale per group, or pairs of minimum and scale
  bool pairs = false;                    // alpha holds pairs (asymmetric)
  int lowest = 0;                        // aMin: the lowest stored integer, 0 where the writer did not say
  float factor = 1;                      // quantScale, 1 where it does not apply
  bool wide_dims = false;                // shapeInt32: the payload's dims are u32, not u16
  std::span<const std::uint32_t> index;  // with has_index: positions of the weights in alpha, all others are zero
  bool has_index = false;
  std::int64_t index_elements = 0;  // weightSize, with has_index
};

/// How many weights the record says it holds.
Result<std::int64_t> stored_elements(const CodedWeights& weights);

/// All weights in stored order, with the arithmetic (order of the float operations) of MNN's own decoder.
/// `elements` is stored_elements(weights) after the caller has compared it with the convolution's shape.
Result<std::vector<float>> decode_weights(const CodedWeights& weights, std::int64_t elements);

}  // namespace qnndbg
