#include "qnn/htp_witness.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ops/qnn_graph.h"
#include "qnn/model_graph.h"
#include "tensor/layout.h"

namespace qnndbg::qnn {
namespace {

constexpr std::size_t kMostDifferences = 8;

Result<QnnGraph> graph_of(const WitnessQuestion& question, MappingStyle style) {
  QnnGraphOptions options;
  options.style = style;
  options.rounding = question.rounding;
  options.only = {question.op};
  Result<QnnGraph> graph = build_qnn_graph(*question.model, *question.plan, options);
  if (graph && !graph->unmapped.empty()) return qnndbg::fail("{}", graph->unmapped.front().refusal.reason);
  return graph;
}

/// The tensor that was asked for.
const QnnGraphTensor* wanted(const QnnGraph& graph, const WitnessQuestion& question) {
  const OpNode& op = question.model->graph().ops[static_cast<std::size_t>(question.op)];
  for (const QnnGraphTensor& tensor : graph.tensors) {
    if (!question.stage.empty()) {
      if (tensor.op == question.op && tensor.stage == question.stage) return &tensor;
    } else if (tensor.kind == QnnTensorKind::output &&
               tensor.tensor == op.outputs[static_cast<std::size_t>(question.output)]) {
      return &tensor;
    }
  }
  return nullptr;
}

Encoding encoding_of(const QnnEncoding& encoding) {
  return encoding.kind == QnnEncoding::Kind::per_tensor && !encoding.values.empty() ? encoding.values.front()
                                                                                    : Encoding{1, 0};
}

struct ValueWords {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::uint32_t value) const { return fmt::format("{}", value); }
  std::string operator()(std::int32_t value) const { return fmt::format("{}", value); }
  std::string operator()(float value) const { return fmt::format("{}", value); }
  std::string operator()(const QnnTensorParam& value) const {
    return fmt::format("[{}]", fmt::join(value.values, ", "));
  }
};

std::string words_of(const QnnParamValue& value) { return std::visit(ValueWords{}, value); }

void compare_params(const QnnGraphNode& mnn, const QnnGraphNode& meant, std::vector<std::string>& differences) {
  for (const QnnGraphParam& param : meant.params) {
    const auto same = std::find_if(mnn.params.begin(), mnn.params.end(),
                                   [&](const QnnGraphParam& other) { return other.name == param.name; });
    if (same == mnn.params.end())
      differences.push_back(
          fmt::format("{} {}: MNN writes none, the model means {}", meant.type, param.name, words_of(param.value)));
    else if (!(same->value == param.value))
      differences.push_back(fmt::format("{} {}: MNN writes {}, the model means {}", meant.type, param.name,
                                        words_of(same->value), words_of(param.value)));
  }
}

std::vector<std::string> types_of(const QnnGraph& graph) {
  std::vector<std::string> types;
  for (const QnnGraphNode& node : graph.nodes) types.push_back(node.type);
  return types;
}

}  // namespace

std::vector<std::string> mapping_differences(const QnnGraph& mnn, const QnnGraph& meant) {
  std::vector<std::string> differences;
  if (types_of(mnn) != types_of(meant)) {
    differences.push_back(fmt::format("MNN writes the nodes {}, the model means {}", fmt::join(types_of(mnn), ", "),
                                      fmt::join(types_of(meant), ", ")));
    return differences;
  }
  for (std::size_t i = 0; i < mnn.nodes.size() && differences.size() < kMostDifferences; ++i)
    compare_params(mnn.nodes[i], meant.nodes[i], differences);
  return differences;
}

std::string HtpWitness::name() const {
  const SessionInfo& info = engine_.info();
  return fmt::format("{} {}, SoC {} (v{})", info.library.provider, info.library.build_id, info.target.soc,
                     info.target.arch);
}

Result<WitnessAnswer> HtpWitness::compute(const WitnessQuestion& question) {
  const Result<QnnGraph> meant = graph_of(question, MappingStyle::model);
  if (!meant) return qnndbg::fail(meant.error());
  const QnnGraphTensor* tensor = wanted(*meant, question);
  if (tensor == nullptr) return qnndbg::fail("the model's own nodes have no such tensor");
  if (element_count(tensor->dims) != element_count(question.dims))
    return qnndbg::fail("the model's own nodes make dims {}", qnndbg::to_string(tensor->dims));
  const Result<ModelGraph> graph = ModelGraph::make(*meant, "witness", ModelGraph::Intermediates::readable);
  if (!graph) return qnndbg::fail(graph.error());

  std::vector<Bytes> storage;
  std::vector<NamedData> inputs;
  for (const int index : meant->inputs) {
    const QnnGraphTensor& input = meant->tensors[static_cast<std::size_t>(index)];
    Result<Bytes> bytes = question.device_bytes(input.tensor, input.name);
    if (!bytes) return qnndbg::fail("operand {}: {}", input.name, bytes.error().message);
    storage.push_back(std::move(*bytes));
    inputs.push_back({input.name, {}});
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].data = storage[i];

  if (auto back = engine_.restart_if_gone(); !back) return qnndbg::fail(to_error(back.error()));
  const CallResult<FinalizeReport> ready = engine_.worker().finalize(graph->spec(), {});
  if (!ready) return qnndbg::fail(to_error(ready.error()));
  const CallResult<ExecuteReport> run = engine_.worker().execute(inputs, Profiling::off);
  if (!run) return qnndbg::fail(to_error(run.error()));
  const auto output = std::find_if(run->outputs.begin(), run->outputs.end(),
                                   [&](const NamedData& data) { return data.name == tensor->name; });
  if (output == run->outputs.end()) return qnndbg::fail("the library did not return {}", tensor->name);

  WitnessAnswer answer;
  answer.value = Tensor::f32(question.dims);
  decode_to_logical(output->data, tensor->type.type, encoding_of(tensor->type.encoding), question.half, question.dims,
                    question.stage.empty() ? tensor->layout : question.layout, answer.value.f32());
  if (const Result<QnnGraph> mnn = graph_of(question, MappingStyle::mnn)) {
    answer.mapping_differences = mapping_differences(*mnn, *meant);
    if (meant->nodes.size() > mnn->nodes.size())
      answer.extra_nodes = static_cast<int>(meant->nodes.size() - mnn->nodes.size());
  }
  return answer;
}

}  // namespace qnndbg::qnn
