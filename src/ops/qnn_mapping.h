// The QNN nodes that MNN's backend writes for an operator, as plain data: node types, parameters, stage tensors, static
// tensors. An operator describes its own in Op::qnn_mapping(); qnn_graph.h joins them to one graph. Whoever talks to
// Qualcomm's library interprets the data; nothing here knows it.
//
// Words: *device dims* are in the order of the device (channel-last for NC4HW4 data, [1] for a scalar); *node* names
// are made of the operator's node name (qnn_node_name) and a suffix.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "ops/op.h"

namespace qnndbg {

/// Whose nodes: MNN's as they are, its mistakes included, or those that compute what the model means. Stage names are
/// the same wherever both have the stage.
enum class MappingStyle : std::uint8_t { mnn, model };

/// Qnn_QuantizeParams_t, as far as MNN writes it. real = (stored + offset) * scale.
struct QnnEncoding {
  enum class Kind : std::uint8_t {
    none,
    per_tensor,     // SCALE_OFFSET: one entry of `values`
    per_axis,       // AXIS_SCALE_OFFSET: an entry per position of `axis`
    per_axis_4bit,  // BW_AXIS_SCALE_OFFSET with bit width 4: the same, the low four bits of each byte count
    blockwise,  // BLOCKWISE_EXPANSION: scale of block b of channel c = values[c].scale * block_scales[c * blocks + b]
  };
  Kind kind = Kind::none;
  int axis = 0;
  std::vector<Encoding> values = {};
  int bit_width = 0;                            // per_axis_4bit and blockwise
  std::uint32_t blocks = 0;                     // blockwise: blocks per channel
  std::vector<std::uint8_t> block_scales = {};  // blockwise: multipliers of four bits, 1 to 16
  bool operator==(const QnnEncoding&) const = default;

  static QnnEncoding of_tensor(Encoding encoding) { return {.kind = Kind::per_tensor, .values = {encoding}}; }
};

/// Element type of a device tensor with the encoding that goes with it.
struct QnnType {
  DType type = DType::f16;
  QnnEncoding encoding = {};
  bool operator==(const QnnType&) const = default;
};

/// What an operator may look at while it describes its nodes. The spans are parallel to the operator's lists.
struct QnnContext {
  std::span<const Operand> inputs = {};
  std::span<const Operand> outputs = {};
  std::span<const QnnType> input_types = {};
  std::span<const QnnType> output_types = {};
  MappingStyle style = MappingStyle::mnn;
  /// f16, or f32 for a graph of precision High.
  DType float_type = DType::f16;
  /// How constants become half. An overflowing one stays infinite (bits 0x7C00) as MNN writes it.
  HalfRounding rounding = HalfRounding::toward_zero;

  bool as_mnn() const { return style == MappingStyle::mnn; }
  /// True when the operator reads fixed-point data.
  bool quantized() const { return !input_types.empty() && is_quantized(input_types[0].type); }
  /// Device dims of an operand.
  Dims in_dims(int k) const;
  Dims out_dims(int k) const;
};

/// What a node reads or writes.
struct QnnTensorRef {
  enum class From : std::uint8_t {
    input,     // operand `index` of the operator; a host value becomes a static tensor of the graph
    output,    // output `index` of the operator
    stage,     // QnnMapping::stages[index]
    constant,  // QnnMapping::constants[index]
  };
  From from = From::input;
  int index = 0;
  bool operator==(const QnnTensorRef&) const = default;
};

/// An intermediate tensor of the operator, "<node>_<name>".
struct QnnStageTensor {
  std::string name = {};
  Dims dims = {};  // device dims
  QnnType type = {};
  /// How the logical dims of the stage (Stage in op.h) relate to `dims`.
  Layout layout = Layout::logical;
};

/// A static tensor of the operator, "<node>_<name>". `data` makes its bytes when they are wanted: weights can be large.
/// It refers to the operator and its model and lives no longer than they do.
struct QnnConstant {
  std::string name = {};
  Dims dims = {};  // device dims
  QnnType type = {};
  std::function<Result<std::vector<std::byte>>()> data = {};
};

/// A tensor parameter, "<node>_<parameter>_PARAM", or "<node>_<parameter>_<post>_PARAM" where `post` is not empty.
struct QnnTensorParam {
  Dims dims = {};
  DType type = DType::u32;                // u32 or i32
  std::vector<std::int64_t> values = {};  // u32 values wrap: MNN writes negative ones as they are
  std::string post = {};
  bool operator==(const QnnTensorParam&) const = default;
};

using QnnParamValue = std::variant<std::uint32_t, std::int32_t, float, bool, QnnTensorParam>;

struct QnnParam {
  std::string name = {};
  QnnParamValue value = {};
  bool operator==(const QnnParam&) const = default;
};

/// The package of all nodes.
inline constexpr std::string_view kQnnPackage = "qti.aisw";

struct QnnNode {
  std::string suffix = {};  // behind the operator's node name: "_conv"
  std::string type = {};    // "Conv2d"
  std::vector<QnnTensorRef> inputs = {};
  std::vector<QnnTensorRef> outputs = {};
  std::vector<QnnParam> params = {};
};

struct QnnMapping {
  std::vector<QnnStageTensor> stages = {};
  std::vector<QnnConstant> constants = {};
  std::vector<QnnNode> nodes = {};  // in the order in which they are added
  /// MNN names the node after the type and counters and not after the operator (LayerNorm, Scale).
  bool named_by_counters = false;
};

/// Why an operator has no nodes.
struct QnnRefusal {
  enum class Kind : std::uint8_t {
    unregistered,  // MNN's backend has no creator for the type: "Not registered type"
    refused,       // its creator returns nothing with these parameters: "Don't support type"
    encode_error,  // its encoder returns an error and the whole graph fails: "Error <type> encoding"
    crash,         // MNN's process ends
    not_mapped,    // this program cannot tell: parameters or shapes that it does not know
  };
  Kind kind = Kind::not_mapped;
  std::string reason = {};
};

/// "unregistered", "refused", "encode_error", "crash", "not_mapped".
std::string_view name_of(QnnRefusal::Kind kind);

using QnnMappingResult = tl::expected<QnnMapping, QnnRefusal>;

template <class... Args>
[[nodiscard]] tl::unexpected<QnnRefusal> refuse(QnnRefusal::Kind kind, fmt::format_string<Args...> format,
                                                Args&&... args) {
  return tl::unexpected<QnnRefusal>(QnnRefusal{kind, fmt::format(format, std::forward<Args>(args)...)});
}
[[nodiscard]] inline tl::unexpected<QnnRefusal> not_mapped(const Error& error) {
  return tl::unexpected<QnnRefusal>(QnnRefusal{QnnRefusal::Kind::not_mapped, error.message});
}

// ---- Helpers for the operators' files

/// Assembles a mapping: each function appends and returns what a node refers to.
class QnnBuilder {
 public:
  explicit QnnBuilder(const QnnContext& context) : context_(context) {}

  static QnnTensorRef input(int k = 0) { return {QnnTensorRef::From::input, k}; }
  static QnnTensorRef output(int k = 0) { return {QnnTensorRef::From::output, k}; }

  QnnTensorRef stage(std::string name, Dims device_dims, QnnType type, Layout layout = Layout::logical);
  QnnTensorRef constant(QnnConstant constant);
  /// Floats in the graph's float type, rounded as the context says.
  QnnTensorRef floats(std::string name, Dims device_dims, std::vector<float> values);
  /// The same, made when they are wanted.
  QnnTensorRef floats(std::string name, Dims device_dims, std::function<Result<std::vector<float>>()> values);
  QnnTensorRef node(std::string suffix, std::string type, std::vector<QnnTensorRef> inputs, QnnTensorRef output,
                    std::vector<QnnParam> params = {});
  QnnNode& add(QnnNode node);
  /// Transpose of a tensor. `post` tells several "perm" parameters of one operator apart.
  QnnTensorRef transpose(std::string suffix, QnnTensorRef from, QnnTensorRef to, const std::vector<int>& permutation,
                         std::string post = {});
  QnnTensorRef reshape(std::string suffix, QnnTensorRef from, QnnTensorRef to);

  /// Operand k in the order of the model: itself, or a Transpose of it (stage "logical_<k>") where the device keeps it
  /// channel-last.
  QnnTensorRef logical_input(int k);
  /// Where a node writes output k in the order of the model: the output itself, or a stage ("logical_output_<k>").
  /// finish_logical brings that to the device's order behind the node.
  QnnTensorRef logical_target(int k);
  void finish_logical(int k, QnnTensorRef target);
  /// Both around `write(target)`.
  template <class F>
  void logical_output(int k, F write) {
    const QnnTensorRef target = logical_target(k);
    write(target);
    finish_logical(k, target);
  }
  /// True for operands whose device dims are not in the order of the model.
  static bool is_reordered(const Operand& operand) {
    return operand.layout == Layout::channel_last && operand.spec.dims.size() >= 3;
  }

  QnnType float_type() const { return {context_.float_type, {}}; }
  QnnMapping take() { return std::move(mapping_); }

 private:
  const QnnContext& context_;
  QnnMapping mapping_;
};

/// A mapping of one node without stages: the first `inputs` operands in order, all outputs.
QnnMapping single_node(const QnnContext& context, std::string type, std::vector<QnnParam> params = {}, int inputs = 1,
                       std::string suffix = {});

QnnParam u32_tensor(std::string name, Dims dims, std::vector<std::int64_t> values, std::string post = {});
QnnParam i32_tensor(std::string name, Dims dims, std::vector<std::int64_t> values, std::string post = {});
QnnParam u32_scalar(std::string name, std::int64_t value);  // negative values wrap, as MNN writes them
QnnParam flag(std::string name, bool value);
/// A rank-1 UINT_32 tensor.
QnnParam u32_list(std::string name, std::vector<std::int64_t> values, std::string post = {});

/// Device dims of logical ones; a scalar is [1].
Dims device_dims(const Dims& logical, Layout layout);

/// Where a logical axis stands on the device. Precondition: 0 <= axis < rank.
int device_axis(int axis, int rank, Layout layout);

/// The permutation of device axes that a permutation of logical axes means between two layouts.
std::vector<int> device_permutation(const std::vector<int>& logical, Layout from, Layout to);

/// Brings a tensor of this rank from channel-last to logical order, and back.
std::vector<int> to_logical_permutation(int rank);
std::vector<int> to_channel_last_permutation(int rank);

/// Bytes of floats as the device keeps them: f16 (rounded; infinite where they overflow) or f32.
std::vector<std::byte> float_bytes(std::span<const float> values, DType type, HalfRounding rounding);

/// Bytes of a host value in device order.
std::vector<std::byte> host_value_bytes(const Tensor& value, Layout layout, DType float_type, HalfRounding rounding);

}  // namespace qnndbg
