// `quantize`: a float model as a fixed-point one, by the values that its tensors take on one input.
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "diagnose/tensor_ranges.h"
#include "graph/quantized_model.h"
#include "report/style.h"

namespace qnndbg::cli {
namespace fs = std::filesystem;
namespace {

struct Arguments {
  ModelArguments files;
  std::string output;
  std::string bits = "8";
  int threads = 0;
};

struct Outcome {
  QuantizedModel model;
  std::vector<BaselineGap> gaps;
};

Result<Outcome> write_quantized(const Arguments& arguments, const Model& model) {
  std::error_code error;
  // The model is mapped while the output is written.
  if (fs::equivalent(arguments.output, arguments.files.model, error))
    return fail("--output {}: this is the model itself", arguments.output);
  const Result<InputMap> inputs = qnndbg::read_inputs(arguments.files.inputs);
  if (!inputs) return fail(inputs.error());
  Progress progress;
  BaselineOptions options;
  options.threads = arguments.threads;
  options.progress = std::ref(progress);
  Result<TensorRanges> seen = observe_ranges(model, *inputs, options);
  if (!seen) return fail(std::move(seen.error()));
  const DType type = arguments.bits == "16" ? DType::ufixed16 : DType::sfixed8;
  Result<QuantizedModel> quantized = quantize_model(model, seen->ranges, type);
  if (!quantized) return fail(std::move(quantized.error()));
  const std::string_view bytes(reinterpret_cast<const char*>(quantized->bytes.data()), quantized->bytes.size());
  if (auto written = write_file(arguments.output, bytes); !written) return fail(std::move(written.error()));
  return Outcome{std::move(*quantized), std::move(seen->gaps)};
}

void say_what_was_written(const Outcome& outcome, const Arguments& arguments, const Graph& graph,
                          const Console& console) {
  console.note("wrote {}: {} with {} encodings, weights of {} in int8", arguments.output,
               plural(outcome.model.tensors, "tensor"), arguments.bits == "16" ? "uint16" : "int8",
               plural(outcome.model.weights, "convolution"));
  for (const LeftInFloat& left : outcome.model.left) {
    const std::string op = left.op < 0 ? "" : describe(graph.ops[static_cast<std::size_t>(left.op)]);
    if (left.tensor < 0)
      console.note("stays in floats: {}: {}", op, left.reason);
    else
      console.note("stays in floats: {}{}{}: {}", tensor_id(left.tensor), op.empty() ? "" : " of ", op, left.reason);
  }
  for (const BaselineGap& gap : outcome.gaps) {
    const OpNode& op = graph.ops[static_cast<std::size_t>(gap.op_index)];
    console.note("not computed, stays in floats: {}: {}", describe(op), gap.reason);
  }
}

int run(const Arguments& arguments, const Session& session) {
  const Console console(session.color);
  Result<Model> model = open_model(arguments.files);
  Result<Outcome> outcome = model ? write_quantized(arguments, *model) : Result<Outcome>(fail(model.error()));
  if (interrupted()) {
    console.error("interrupted");
    return kExitInterrupted;
  }
  if (!outcome) {
    console.error("{}", outcome.error().message);
    return kExitFailed;
  }
  say_what_was_written(*outcome, arguments, model->graph(), console);
  return outcome->gaps.empty() ? kExitClean : kExitFound;
}

}  // namespace

void add_quantize(CLI::App& program, Session& session) {
  CLI::App* command = program.add_subcommand("quantize", "Write a float model as a fixed-point one");
  auto arguments = std::make_shared<Arguments>();
  add_model(*command, arguments->files);
  add_weights(*command, arguments->files);
  add_inputs(*command, arguments->files);
  command->get_option("--inputs")->required();
  command->add_option("-o,--output", arguments->output, "The .mnn file to write")->type_name(kFileType)->required();
  add_choice(*command, "--bits", arguments->bits, {"8", "16"},
             "Activations as int8, or as uint16 with an offset; weights are int8");
  add_threads(*command, arguments->threads);
  command->callback([arguments, &session] { session.exit_status = run(*arguments, session); });
}

}  // namespace qnndbg::cli
