#include "report/inspect.h"

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "ops/graph_plan.h"

namespace qnndbg::cli {
namespace {

struct Arguments {
  ModelArguments files;
  std::string format = "table";
  std::string output;
};

ModelInfo info_of(const Model& model) {
  ModelInfo info;
  info.file = model.path().string();
  info.converter_version = model.converter_version();
  info.source = model.graph().source;
  info.bytes = model.file_bytes();
  info.operators = static_cast<int>(model.graph().ops.size());
  info.tensors = static_cast<int>(model.graph().tensors.size());
  return info;
}

/// Dims of the given inputs by tensor; they win over the model's own, which may be open.
Result<PlanHints> hints_of(const Graph& graph, const std::optional<InputMap>& inputs) {
  PlanHints hints;
  if (!inputs) return hints;
  for (const auto& [name, value] : *inputs) {
    const GraphInput* input = graph.find_input(name);
    if (input == nullptr) return fail("--inputs: the model has no input `{}`", name);
    hints.input_dims.emplace(input->tensor, value.dims());
  }
  return hints;
}

TensorRole role_of(const Graph& graph, const GraphPlan& plan, std::size_t tensor) {
  const int index = static_cast<int>(tensor);
  const int producer = graph.tensors[tensor].producer;
  if (std::find(graph.outputs.begin(), graph.outputs.end(), index) != graph.outputs.end()) return TensorRole::output;
  if (producer < 0) return TensorRole::activation;
  const PlannedOp& op = plan.ops[static_cast<std::size_t>(producer)];
  if (op.is_input) return TensorRole::input;
  if (!op.set_aside) return TensorRole::activation;
  return graph.ops[static_cast<std::size_t>(producer)].inputs.empty() ? TensorRole::constant : TensorRole::shape_only;
}

InspectRow row_of(const Graph& graph, const GraphPlan& plan, std::size_t tensor) {
  const PlannedTensor& planned = plan.tensors[tensor];
  InspectRow row;
  row.role = role_of(graph, plan, tensor);
  if (planned.spec) {
    row.dims = planned.spec->dims;
    row.dtype = planned.spec->type;
    row.layout = planned.layout;
  }
  const int producer = graph.tensors[tensor].producer;
  if (producer >= 0) row.problem = plan.ops[static_cast<std::size_t>(producer)].problem;
  return row;
}

Result<std::string> view(const Arguments& arguments, const Session& session) {
  Result<std::optional<InputMap>> inputs = read_inputs(arguments.files);
  if (!inputs) return fail(std::move(inputs.error()));
  Result<Model> model = open_model(arguments.files);
  if (!model) return fail(std::move(model.error()));
  const Graph& graph = model->graph();
  const Result<PlanHints> hints = hints_of(graph, *inputs);
  if (!hints) return fail(hints.error());
  const GraphPlan plan = plan_graph(*model, *hints);
  InspectView content{.model = info_of(*model), .graph = graph, .tensors = {}};
  for (std::size_t tensor = 0; tensor < graph.tensors.size(); ++tensor)
    content.tensors.push_back(row_of(graph, plan, tensor));
  if (arguments.format == "json") return inspect_json(content);
  return inspect_text(content, output_style(session.color));
}

int run(const Arguments& arguments, const Session& session) {
  const Console console(session.color);
  const Result<std::string> text = view(arguments, session);
  if (interrupted()) {
    console.error("interrupted");
    return kExitInterrupted;
  }
  if (!text) {
    console.error("{}", text.error().message);
    return kExitFailed;
  }
  return deliver(arguments.output, *text, console);
}

}  // namespace

void add_inspect(CLI::App& program, Session& session) {
  CLI::App* command = program.add_subcommand("inspect", "List the operators and tensors of a model");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("MODEL", arguments->files.model, "The .mnn model")->type_name(kFileType)->required();
  add_weights(*command, arguments->files);
  add_inputs(*command, arguments->files);
  add_choice(*command, "-f,--format", arguments->format, {"table", "json"}, "What to print: for people, or a document");
  command->add_option("-o,--output", arguments->output, "File to write instead of standard output")
      ->type_name(kFileType);
  command->callback([arguments, &session] { session.exit_status = run(*arguments, session); });
}

}  // namespace qnndbg::cli
