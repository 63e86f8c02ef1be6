#include "graph/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "graph/mnn_wire.h"

namespace qnndbg {
namespace {

constexpr double kLargestInt8 = 127;
/// The largest bias, in its own steps: half of what 32 bits hold leaves room for the sum that it is added to.
constexpr double kLargestBias = 0x1p30;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// A scale as the model file stores it: a normal float. Devices flush smaller ones to zero, which is no scale.
float stored_scale(double scale) {
  constexpr double kSmallest = std::numeric_limits<float>::min();
  constexpr double kLargest = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(scale, kSmallest, kLargest));
}

bool joins_all_operands(const OpNode& op) { return op.type == wire::Kind_Concat || op.type == wire::Kind_Pack; }

bool is_constant(const OpNode& op) { return op.type == wire::Kind_Const || op.type == wire::Kind_TrainableParam; }

/// True for an operand whose values reach the output; the others configure an operator that only moves data.
bool is_data_operand(const OpNode& op, std::size_t k) {
  return k == 0 || !keeps_encoding(op) || joins_all_operands(op);
}

/// Operators that the device gets wrong in this type where MNN hands them integers (libQnnHtp.so 2.51, v75): it takes
/// symmetric 8-bit results of a Softmax for unsigned ones, and refuses MNN's LayerNorm and MatMul in 16 bits, because
/// their second operand has to be symmetric.
bool stays_in_floats(const OpNode& op, DType type) {
  if (type == DType::sfixed8) return op.type == wire::Kind_Softmax;
  return op.type == wire::Kind_LayerNorm || op.type == wire::Kind_MatMul;
}

bool is_read_as_data(const Graph& graph, int tensor) {
  const std::vector<int>& readers = graph.tensors[at(tensor)].consumers;
  return std::any_of(readers.begin(), readers.end(), [&](int reader) {
    const OpNode& op = graph.ops[at(reader)];
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (op.inputs[k] == tensor && is_data_operand(op, k)) return true;
    }
    return false;
  });
}

/// Tensors that have to share an encoding (a disjoint-set forest).
class SharedEncodings {
 public:
  explicit SharedEncodings(const Graph& graph) : parent_(graph.tensors.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const OpNode& op : graph.ops) {
      if (!keeps_encoding(op) || op.inputs.empty() || op.inputs[0] < 0) continue;
      for (const int output : op.outputs) join(op.inputs[0], output);
      if (!joins_all_operands(op)) continue;
      for (const int input : op.inputs) {
        if (input >= 0) join(op.inputs[0], input);
      }
    }
  }

  int representative(int tensor) {
    while (parent_[at(tensor)] != tensor) tensor = parent_[at(tensor)] = parent_[at(parent_[at(tensor)])];
    return tensor;
  }

 private:
  void join(int a, int b) { parent_[at(representative(a))] = representative(b); }

  std::vector<int> parent_;
};

}  // namespace

void ObservedRange::add(std::span<const float> values) {
  for (const float value : values) {
    if (!std::isfinite(value)) {
      finite = false;
      continue;
    }
    low = std::min(low, static_cast<double>(value));
    high = std::max(high, static_cast<double>(value));
  }
}

Encoding encoding_of_range(DType type, ValueRange range) {
  double low = std::min(range.low, 0.0);
  double high = std::max(range.high, 0.0);
  if (low == high) high = 1;
  if (type == DType::sfixed8) return {stored_scale(std::max(-low, high) / kLargestInt8), 0};
  const IntRange integers = range_of(type);
  const double steps = integers.high - integers.low;
  const float scale = stored_scale((high - low) / steps);
  return {scale, static_cast<std::int32_t>(std::clamp(std::round(low / scale), -steps, 0.0))};
}

std::vector<std::optional<Encoding>> choose_encodings(const Graph& graph,
                                                      const std::vector<std::optional<ObservedRange>>& ranges,
                                                      DType type) {
  SharedEncodings shared(graph);
  std::vector<ObservedRange> common(graph.tensors.size());
  std::vector<bool> wanted(graph.tensors.size(), false);
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const int tensor = static_cast<int>(t);
    const int producer = graph.tensors[t].producer;
    if (!ranges[t]) continue;
    const OpNode* maker = producer < 0 ? nullptr : &graph.ops[at(producer)];
    wanted[t] = maker == nullptr || !is_constant(*maker) || is_read_as_data(graph, tensor);
    if (!wanted[t]) continue;
    ObservedRange& range = common[at(shared.representative(tensor))];
    // MNN runs an operator in floats when its output has no encoding.
    if (maker != nullptr && stays_in_floats(*maker, type)) range.finite = false;
    range.low = std::min(range.low, ranges[t]->low);
    range.high = std::max(range.high, ranges[t]->high);
    range.finite = range.finite && ranges[t]->finite;
  }
  std::vector<std::optional<Encoding>> encodings(graph.tensors.size());
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const ObservedRange& range = common[at(shared.representative(static_cast<int>(t)))];
    if (wanted[t] && range.finite) encodings[t] = encoding_of_range(type, {range.low, range.high});
  }
  return encodings;
}

std::optional<QuantizedWeights> quantize_weights(std::span<const float> weights, std::span<const float> bias,
                                                 std::size_t channels, double input_scale) {
  if (channels == 0 || weights.empty() || weights.size() % channels != 0) return std::nullopt;
  if (!bias.empty() && bias.size() != channels) return std::nullopt;
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (!std::all_of(weights.begin(), weights.end(), is_finite) || !std::all_of(bias.begin(), bias.end(), is_finite))
    return std::nullopt;

  const std::size_t run = weights.size() / channels;
  QuantizedWeights result;
  result.integers.reserve(weights.size());
  for (std::size_t c = 0; c < channels; ++c) {
    const std::span<const float> channel = weights.subspan(c * run, run);
    double largest = 0;
    for (const float weight : channel) largest = std::max(largest, std::fabs(static_cast<double>(weight)));
    // A channel of zeros has no scale of its own; this one keeps its bias fine.
    double wanted = (largest == 0 ? 1 : largest) / kLargestInt8;
    if (!bias.empty() && input_scale > 0)
      wanted = std::max(wanted, std::fabs(static_cast<double>(bias[c])) / (input_scale * kLargestBias));
    const float scale = stored_scale(wanted);
    result.scales.push_back(scale);
    for (const float weight : channel) {
      const double q = std::nearbyint(static_cast<double>(weight) / scale);
      result.integers.push_back(static_cast<std::int8_t>(std::clamp(q, -kLargestInt8, kLargestInt8)));
    }
  }
  return result;
}

}  // namespace qnndbg
