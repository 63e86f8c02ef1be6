#include "report/inspect.h"

#include <memory>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"

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

bool is_complete(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](std::int64_t extent) { return extent >= 0; });
}

/// What the model file and the inputs tell about each tensor without running anything.
std::vector<InspectRow> rows_of(const Graph& graph, const std::optional<InputMap>& inputs) {
  std::vector<InspectRow> rows(graph.tensors.size());
  for (const int output : graph.outputs) rows[static_cast<std::size_t>(output)].role = TensorRole::output;
  for (const GraphInput& input : graph.inputs) {
    InspectRow& row = rows[static_cast<std::size_t>(input.tensor)];
    row.role = TensorRole::input;
    row.dtype = input.type;
    if (is_complete(input.dims)) row.dims = input.dims;
  }
  if (!inputs) return rows;
  for (const auto& [name, value] : *inputs) {
    const GraphInput* input = graph.find_input(name);
    if (input != nullptr) rows[static_cast<std::size_t>(input->tensor)].dims = value.dims();
  }
  return rows;
}

Result<std::string> view(const Arguments& arguments, const Session& session) {
  Result<std::optional<InputMap>> inputs = read_inputs(arguments.files);
  if (!inputs) return fail(std::move(inputs.error()));
  Result<Model> model = open_model(arguments.files);
  if (!model) return fail(std::move(model.error()));
  if (*inputs) {
    for (const auto& [name, value] : **inputs)
      if (model->graph().find_input(name) == nullptr) return fail("--inputs: the model has no input `{}`", name);
  }
  const InspectView content{
      .model = info_of(*model), .graph = model->graph(), .tensors = rows_of(model->graph(), *inputs)};
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
  if (Result<void> written = write_output(arguments.output, *text); !written) {
    console.error("{}", written.error().message);
    return kExitFailed;
  }
  return kExitClean;
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
