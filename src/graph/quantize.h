// Post-training quantization: from the values that a model's tensors took to encodings, and from float weights to
// integers. quantized_model.h writes the result.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace qnndbg {

/// The values that a float tensor was seen to take.
struct ObservedRange {
  double low = 0;
  double high = 0;
  bool finite = true;  // no NaN and no infinity among them

  /// Takes these values in.
  void add(std::span<const float> values);
};

/// The encoding that spends all integers on a range: sfixed8 uses -127 to 127 around zero (offset 0, as MNN's int8 has
/// it), ufixed16 all of its integers. Zero is always exact, and the scale is a float, as the model file stores it. A
/// range that holds nothing but zero is taken for [0, 1]. Preconditions: type is sfixed8 or ufixed16, the range is
/// finite, low <= high.
Encoding encoding_of_range(DType type, ValueRange range);

/// An encoding for every tensor with a range, by tensor; `ranges` likewise. Tensors that MNN makes share one encoding
/// (keeps_encoding()), and the parts of a Concat or Pack, get that of their common range: device nodes that move
/// integers do not convert them. Without one: tensors whose values are not all finite, results of operators that the
/// device gets wrong in `type` (Softmax in 8 bits; LayerNorm and MatMul in 16), what shares an encoding with these, and
/// constants that only configure an operator.
std::vector<std::optional<Encoding>> choose_encodings(const Graph& graph,
                                                      const std::vector<std::optional<ObservedRange>>& ranges,
                                                      DType type);

/// Weights in symmetric int8, -127 to 127, with one scale per output channel.
struct QuantizedWeights {
  std::vector<std::int8_t> integers;
  std::vector<float> scales;
};

/// `weights` is split evenly among the channels. The device keeps the bias in 32-bit steps of input scale times weight
/// scale; where a channel's weights are so small that its bias would not fit, the scale is as large as the bias needs.
/// `bias` holds one number per channel or none. nullopt: the channels do not divide the weights, or a number is not
/// finite.
std::optional<QuantizedWeights> quantize_weights(std::span<const float> weights, std::span<const float> bias,
                                                 std::size_t channels, double input_scale);

}  // namespace qnndbg
