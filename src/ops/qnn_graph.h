// A model as one QNN graph, with the names, device dims and types that MNN's QNN backend gives its tensors: the
// operators' mappings (qnn_mapping.h) joined in execution order, with the casts and the quantizing and dequantizing
// nodes that the backend puts between them. Operators that MNN computes on the host become static tensors.
#pragma once

#include <string>
#include <vector>

#include "ops/graph_plan.h"
#include "ops/qnn_mapping.h"

namespace qnndbg {

/// What a graph tensor is for the library (Qnn_TensorType_t).
enum class QnnTensorKind : std::uint8_t {
  input,       // APP_WRITE
  output,      // APP_READ
  native,      // between nodes; MNN's dump reads those too, as APP_READ
  static_data  // STATIC
};

struct QnnGraphTensor {
  std::string name = {};
  QnnTensorKind kind = QnnTensorKind::native;
  Dims dims = {};  // device dims
  QnnType type = {};
  Layout layout = Layout::logical;  // how `dims` relate to logical ones
  int tensor = -1;                  // the model tensor whose value it holds; -1: none
  int op = -1;                      // the operator whose stage or constant it is; -1: none
  std::string stage = {};           // its name there
  /// static_data: makes the bytes, as QnnConstant::data.
  std::function<Result<std::vector<std::byte>>()> data = {};
};

struct QnnGraphParam {
  std::string name = {};
  QnnParamValue value = {};
  std::string tensor_name = {};  // of a tensor parameter
};

struct QnnGraphNode {
  std::string name = {};
  std::string type = {};
  int op = -1;                   // the operator that it is part of; -1: a cast at the graph's ends, or an inserted node
  std::vector<int> inputs = {};  // positions in QnnGraph::tensors
  std::vector<int> outputs = {};
  std::vector<QnnGraphParam> params = {};
};

/// An operator that has no nodes. What it would have made is missing, or comes from outside (QnnGraphOptions::only).
struct QnnUnmappedOp {
  int op = -1;
  QnnRefusal refusal = {};
};

struct QnnGraph {
  std::vector<QnnGraphTensor> tensors = {};  // in the order of their creation
  std::vector<QnnGraphNode> nodes = {};      // in the order in which they are added; each reads what stands before it
  std::vector<int> inputs = {};              // positions of kind `input`
  std::vector<int> outputs = {};             // positions of kind `output`
  std::vector<QnnUnmappedOp> unmapped = {};

  /// The tensors that MNN's dump writes, in its order: the outputs, then the native ones as they were created.
  std::vector<int> dumped() const;
};

struct QnnGraphOptions {
  MappingStyle style = MappingStyle::mnn;
  DType float_type = DType::f16;  // f16, or f32 for precision High
  HalfRounding rounding = HalfRounding::toward_zero;
  /// The operators to build (positions in the model); empty: all. With a selection there is no host side: what the
  /// operators read is a graph input and what they make is a graph output, both in the device's own type and under the
  /// name that the tensor has inside the whole graph.
  std::vector<int> only = {};
};

/// Operators that cannot be mapped are listed; with them, those that need their results, unless a selection makes these
/// graph inputs. The error: an operator of `only` does not exist. Both arguments outlive the graph.
Result<QnnGraph> build_qnn_graph(const Model& model, const GraphPlan& plan, const QnnGraphOptions& options);

}  // namespace qnndbg
