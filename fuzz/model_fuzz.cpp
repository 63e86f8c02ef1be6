// The model reader: parse, then touch the whole graph, every weight, bias and constant, cut every operator out, and
// write the QNN graph.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "graph/mnn_wire.h"
#include "graph/model.h"
#include "graph/operator_model.h"
#include "ops/qnn_graph.h"

namespace {

using qnndbg::FloatArray;
using qnndbg::Model;
using qnndbg::OpNode;
using qnndbg::Result;

/// Reads every element, so that a span that points astray is seen by the sanitizer.
double sum_of(const Result<FloatArray>& array) {
  double sum = 0;
  if (array) {
    for (const float value : array->values()) sum += value;
  }
  return sum;
}

void require(bool condition) {
  if (!condition) std::abort();
}

/// What the rest of the program relies on without looking.
void check_graph(const qnndbg::Graph& graph) {
  const int tensors = static_cast<int>(graph.tensors.size());
  for (const OpNode& op : graph.ops) {
    for (const int tensor : op.inputs) {
      require(tensor >= -1 && tensor < tensors);
      require(tensor == -1 || graph.tensors[static_cast<std::size_t>(tensor)].producer < op.index);
    }
    for (const int tensor : op.outputs) {
      require(tensor >= 0 && tensor < tensors);
      require(graph.tensors[static_cast<std::size_t>(tensor)].producer == op.index);
    }
  }
  for (const int tensor : graph.outputs) require(tensor >= 0 && tensor < tensors);
  for (const qnndbg::GraphInput& input : graph.inputs) {
    require(graph.ops[static_cast<std::size_t>(input.op)].outputs.front() == input.tensor);
  }
}

double read_operator(const Model& model, const OpNode& op) {
  double sum = sum_of(model.convolution_weight(op.index)) + sum_of(model.convolution_bias(op.index));
  if (const qnndbg::Result<qnndbg::Tensor> constant = model.constant(op.index))
    sum += static_cast<double>(constant->size());
  const qnndbg::wire::Op& stored = model.wire_op(op.index);
  if (const auto* norm = stored.main_as_LayerNorm()) {
    sum += sum_of(model.float_part(op.index, norm->gamma(), norm->external(), 0));
    sum += sum_of(model.float_part(op.index, norm->beta(), norm->external(), 1));
  }
  return sum + static_cast<double>(describe(op).size() + qnndbg::qnn_node_name(op.name).size());
}

/// A model of one operator is a model again.
std::size_t cut_out(const Model& model, const OpNode& op) {
  std::vector<qnndbg::ModelOperand> operands;
  for (const int tensor : op.inputs) operands.emplace_back().tensor = tensor;
  const auto cut = qnndbg::cut_operator(model, op.index, operands, {});
  if (cut) require(Model::parse(cut->bytes, "cut.mnn").has_value());
  return qnndbg::operator_parameters(model, op.index).size();
}

/// A small file can ask for large tensors, which the planner may compute: only graphs with small inputs are planned.
bool is_small(const qnndbg::Graph& graph) {
  constexpr std::int64_t kElements = 1 << 12;
  return std::all_of(graph.inputs.begin(), graph.inputs.end(), [](const qnndbg::GraphInput& input) {
    const Result<std::int64_t> count = qnndbg::check_dims(input.dims);
    return !count || *count <= kElements;
  });
}

/// Whatever the model, nodes refer to tensors that are there, and static data has the size of its dims.
void check_qnn_graph(const Model& model, const qnndbg::GraphPlan& plan, const qnndbg::QnnGraphOptions& options) {
  constexpr std::int64_t kElements = 1 << 16;
  const auto graph = build_qnn_graph(model, plan, options);
  require(graph.has_value());
  const int tensors = static_cast<int>(graph->tensors.size());
  for (const qnndbg::QnnGraphNode& node : graph->nodes) {
    for (const std::vector<int>* list : {&node.inputs, &node.outputs}) {
      for (const int tensor : *list) require(tensor >= 0 && tensor < tensors);
    }
  }
  for (const qnndbg::QnnGraphTensor& tensor : graph->tensors) {
    const Result<std::int64_t> count = qnndbg::check_dims(tensor.dims);
    if (!count || !tensor.data || *count > kElements) continue;
    const auto bytes = tensor.data();
    require(!bytes || bytes->size() == static_cast<std::size_t>(*count) * size_of(tensor.type.type));
  }
}

void check_qnn_graphs(const Model& model) {
  constexpr std::size_t kAlone = 16;  // every operator of a long list would take the square of its length
  using qnndbg::MappingStyle;
  if (!is_small(model.graph())) return;
  const qnndbg::GraphPlan plan = qnndbg::plan_graph(model, {});
  for (const MappingStyle style : {MappingStyle::mnn, MappingStyle::model}) {
    check_qnn_graph(model, plan, {.style = style});
    for (std::size_t op = 0; op < std::min(kAlone, model.graph().ops.size()); ++op)
      check_qnn_graph(model, plan, {.style = style, .only = {static_cast<int>(op)}});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<Model> model = Model::parse(std::as_bytes(std::span(data, size)), "fuzz.mnn");
  if (!model) return 0;
  check_graph(model->graph());
  volatile double sum = 0;
  for (const OpNode& op : model->graph().ops) {
    sum = sum + read_operator(*model, op) + static_cast<double>(cut_out(*model, op));
  }
  for (const char* text : {"conv", "#0", "t0", "t4294967296"}) static_cast<void>(model->graph().find_op(text));
  static_cast<void>(model->graph().find_input("x"));
  check_qnn_graphs(*model);
  return 0;
}
