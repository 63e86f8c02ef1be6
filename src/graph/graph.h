// The operator graph of one model: operators in execution order, tensors by index, who makes and who reads what.
// It holds no parameters and no weights; those stay in the model file (model.h) and are read by src/ops.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/layout.h"
#include "tensor/tensor.h"

namespace qnndbg {

/// How MNN stores a tensor on the host; NC4HW4 becomes Layout::channel_last on the device.
enum class MnnFormat : std::uint8_t { nchw, nhwc, nc4hw4, unknown };

/// "NCHW", "NHWC", "NC4HW4", "unknown".
std::string_view name_of(MnnFormat format);

/// One operator of Net.oplists.
struct OpNode {
  int index = 0;                       // position in Net.oplists
  std::string name;                    // may be empty, need not be unique
  int type = 0;                        // OpType number as stored in the file
  std::string type_name;               // "Convolution", or "OpType 123" for a number that this version does not know
  std::vector<int> inputs;             // tensor indices; -1 marks an omitted optional input
  std::vector<int> outputs;            // tensor indices
  MnnFormat origin = MnnFormat::nhwc;  // defaultDimentionFormat: the layout that the source framework thought in
};

/// One entry of Net.tensorName; the QNN backend calls tensor i "t<i>".
struct TensorNode {
  std::string name;
  int producer = -1;                    // operator index; -1: nobody makes it
  int producer_output = 0;              // which output of the producer
  std::vector<int> consumers;           // operator indices, ascending, each once
  std::optional<Encoding> encoding;     // quantization that the model declares for it (QNN sign)
  std::optional<DType> quantized_type;  // sfixed8 or ufixed16, with `encoding`
  /// The tensor whose declared encoding holds for this one: itself, or the one that it inherits from through operators
  /// that keep their input's encoding; -1: none.
  int encoding_source = -1;
};

/// A graph input: an operator of type Input and the tensor that it makes.
struct GraphInput {
  int op = 0;
  int tensor = 0;
  Dims dims;  // as stored; -1 where the model leaves an extent open
  DType type = DType::f32;
  MnnFormat format = MnnFormat::nchw;
};

class Graph {
 public:
  std::vector<OpNode> ops;
  std::vector<TensorNode> tensors;
  std::vector<GraphInput> inputs;
  std::vector<int> outputs;  // tensor indices of the graph's outputs, in the model's order
  std::string source;        // "ONNX", "TENSORFLOW", "CAFFE", "TFLITE", "TORCH"

  /// The encoding that the model means for a tensor, declared or inherited; null if there is none.
  const Encoding* meant_encoding(int tensor) const;
  /// The element type that goes with it.
  std::optional<DType> meant_quantized_type(int tensor) const;

  /// Operator of type Input that carries this name, by the tensor's or the operator's name; nullptr if there is none.
  const GraphInput* find_input(std::string_view name) const;

  /// Resolves what a user typed for an operator: its name, "#12" (position), or "t34" (the operator that makes tensor
  /// 34). A name comes first; where it stands for several operators the error lists their positions. Otherwise the
  /// error suggests the nearest names.
  Result<int> find_op(std::string_view text) const;
};

/// Fills in TensorNode::encoding_source. The operators must be linked and stored in execution order.
void inherit_encodings(Graph& graph);

/// True for operators whose output takes its input's encoding where the model declares none (ReLU, pooling, resizing,
/// concatenation, reshaping and other data movement).
bool keeps_encoding(const OpNode& op);

/// The name under which MNN's QNN backend adds an operator's node: '.', '/' and ':' become '_'.
std::string qnn_node_name(std::string_view op_name);

/// "t20"
std::string tensor_id(int tensor);

/// How messages name an operator: `operator #12 "conv1" (Convolution)`. A very long name is shortened in the middle.
std::string describe(const OpNode& op);

/// Names of `candidates` that are close to `text` by edit distance, best first, at most `limit`.
std::vector<std::string> nearest_names(std::string_view text, const std::vector<std::string>& candidates,
                                       std::size_t limit = 3);

}  // namespace qnndbg
