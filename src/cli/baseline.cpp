#include "diagnose/baseline.h"

#include <fmt/format.h>

#include <memory>
#include <system_error>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/tensor_directory.h"
#include "report/style.h"

namespace qnndbg::cli {
namespace {

struct Arguments {
  ModelArguments files;
  std::string output;
  int threads = 0;
  bool force = false;
};

struct Outcome {
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;
  std::vector<BaselineGap> gaps;
};

Result<Outcome> write_baseline(const Arguments& arguments, const Model& model, const InputMap& inputs) {
  Result<TensorDirectory> directory = TensorDirectory::create(arguments.output, arguments.files.model, arguments.force);
  if (!directory) return fail(std::move(directory.error()));

  Progress progress;
  BaselineOptions options;
  options.threads = arguments.threads;
  options.progress = std::ref(progress);
  Result<std::vector<BaselineGap>> gaps =
      run_baseline(model, inputs, options, [&](const BaselineTensor& tensor) -> Result<void> {
        const std::string& op = model.graph().ops[static_cast<std::size_t>(tensor.op_index)].name;
        return directory->add(tensor, op);
      });
  if (!gaps) return fail(std::move(gaps.error()));
  if (Result<void> finished = directory->finish(); !finished) return fail(std::move(finished.error()));
  return Outcome{directory->count(), directory->bytes(), std::move(*gaps)};
}

Result<Outcome> work(const Arguments& arguments, const Model& model) {
  const Result<InputMap> inputs = qnndbg::read_inputs(arguments.files.inputs);
  if (!inputs) return fail(inputs.error());
  return write_baseline(arguments, model, *inputs);
}

void say_what_was_written(const Outcome& outcome, const Arguments& arguments, const Model& model,
                          const Console& console) {
  constexpr double kMegabyte = 1e6;
  console.note("wrote {} ({} MB) and index.json to {}", plural(static_cast<long long>(outcome.tensors), "tensor"),
               figure(static_cast<double>(outcome.bytes) / kMegabyte), arguments.output);
  for (const BaselineGap& gap : outcome.gaps) {
    const OpNode& op = model.graph().ops[static_cast<std::size_t>(gap.op_index)];
    console.note("not computed: operator #{} {} `{}`: {}", op.index, op.type_name, op.name, gap.reason);
  }
}

int run(const Arguments& arguments, const Session& session) {
  const Console console(session.color);
  Result<Model> model = open_model(arguments.files);
  Result<Outcome> outcome = model ? work(arguments, *model) : Result<Outcome>(fail(model.error()));
  if (interrupted()) {
    console.error("interrupted; {} is not complete", arguments.output);
    return kExitInterrupted;
  }
  if (!outcome) {
    console.error("{}", outcome.error().message);
    return kExitFailed;
  }
  say_what_was_written(*outcome, arguments, *model, console);
  return outcome->gaps.empty() ? kExitClean : kExitFound;
}

}  // namespace

void add_baseline(CLI::App& program, Session& session) {
  CLI::App* command = program.add_subcommand("baseline", "Run a model in fp32 on the CPU and keep every tensor");
  auto arguments = std::make_shared<Arguments>();
  add_model(*command, arguments->files);
  add_weights(*command, arguments->files);
  add_inputs(*command, arguments->files);
  command->get_option("--inputs")->required();
  command->add_option("-o,--output", arguments->output, "Directory for index.json and one tN.npy per tensor")
      ->type_name(kDirectoryType)
      ->required();
  command->add_flag("--force", arguments->force, "Write even if the directory holds other files");
  add_threads(*command, arguments->threads);
  command->callback([arguments, &session] { session.exit_status = run(*arguments, session); });
}

}  // namespace qnndbg::cli
