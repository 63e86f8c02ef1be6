#include "cli/model_graph_arguments.h"

#include <memory>

namespace qnndbg::cli {
namespace {

PlanHints hints_of(const Graph& graph, const std::optional<InputMap>& inputs) {
  PlanHints hints;
  if (!inputs) return hints;
  for (const auto& [name, value] : *inputs)
    if (const GraphInput* input = graph.find_input(name)) hints.input_dims.emplace(input->tensor, value.dims());
  return hints;
}

}  // namespace

void add_graph(CLI::App& command, GraphArguments& arguments) {
  add_choice(command, "--as", arguments.style, {"mnn", "model"},
             "mnn: the nodes that MNN writes, its mistakes included; model: what the model means");
  add_choice(command, "--precision", arguments.precision, {"fp16", "fp32"}, "Float type of the graph");
  command.add_option("--only", arguments.only, "Only these operators (name, #index or tN); may be repeated")
      ->type_name("OP")
      ->allow_extra_args(false)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<std::unique_ptr<PlannedModel>> plan_model(const ModelArguments& files, const GraphArguments& arguments) {
  Result<Model> model = open_model(files);
  if (!model) return fail(std::move(model.error()));
  Result<std::optional<InputMap>> inputs = read_inputs(files);
  if (!inputs) return fail(std::move(inputs.error()));
  auto planned = std::make_unique<PlannedModel>(PlannedModel{std::move(*model), std::move(*inputs), {}, {}});
  planned->plan = plan_graph(planned->model, hints_of(planned->model.graph(), planned->inputs));
  QnnGraphOptions options;
  options.style = arguments.style == "model" ? MappingStyle::model : MappingStyle::mnn;
  options.float_type = arguments.precision == "fp32" ? DType::f32 : DType::f16;
  // MNN's conversion cuts; what a model means is rounded to nearest.
  options.rounding = options.style == MappingStyle::mnn ? HalfRounding::toward_zero : HalfRounding::nearest;
  for (const std::string& text : arguments.only) {
    const Result<int> op = planned->model.graph().find_op(text);
    if (!op) return fail("--only: {}", op.error().message);
    options.only.push_back(*op);
  }
  Result<QnnGraph> graph = build_qnn_graph(planned->model, planned->plan, options);
  if (!graph) return fail(std::move(graph.error()));
  planned->graph = std::move(*graph);
  return planned;
}

}  // namespace qnndbg::cli
