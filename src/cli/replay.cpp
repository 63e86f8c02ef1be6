#include "report/replay.h"

#include <memory>

#include "cli/case_directory.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/run_options.h"

namespace qnndbg::cli {
namespace {

struct Arguments {
  RunArguments run;
  std::string op;
  std::string format = "text";
  std::string output;
  std::string extract;
  bool force = false;
};

Result<DeepReplay> replay(const Arguments& arguments, const Console& console) {
  if (arguments.run.execution == "all")
    return fail("--execution all: one execution is replayed; give its number, or nothing for the last complete one");
  const bool extract = !arguments.extract.empty();
  if (extract) {
    if (Result<void> free = check_case_directory(arguments.extract, arguments.force); !free) return fail(free.error());
  }
  Result<DiagnoseOptions> run = options_of(arguments.run, console);
  if (!run) return fail(std::move(run.error()));
  Result<Model> model = open_model(arguments.run.files);
  if (!model) return fail(std::move(model.error()));
  Result<DeepReplay> result = replay_operator(*model, {.run = std::move(*run), .op = arguments.op, .extract = extract});
  if (!result || !extract || interrupted()) return result;
  if (Result<void> written = write_case(arguments.extract, *result); !written) return fail(written.error());
  return result;
}

/// The command that the user will want next: to cut out what is broken, or to run what was cut out.
std::string next_command(const DeepReplay& replay, const Arguments& arguments, const Session& session) {
  if (!arguments.extract.empty()) {
    const std::string directory = shell_word(arguments.extract);
    return fmt::format("qnn-debug baseline --model {0}/model.mnn --inputs {0}/inputs.json --output {0}/baseline",
                       directory);
  }
  return replay.status == OpStatus::broken ? session.command_line + " --extract case" : std::string();
}

std::string render(const DeepReplay& replay, const Arguments& arguments, const Session& session) {
  if (arguments.format == "json") return replay_json(replay);
  TextStyle style = output_style(session.color);
  style.command = session.command_line;
  return replay_text(replay, style, next_command(replay, arguments, session));
}

int run(const Arguments& arguments, const Session& session) {
  const Console console(session.color);
  const Result<DeepReplay> result = replay(arguments, console);
  if (interrupted()) {
    console.error("interrupted");
    return kExitInterrupted;
  }
  if (!result) {
    console.error("{}", result.error().message);
    return kExitFailed;
  }
  if (!arguments.extract.empty())
    console.note("wrote the operator, its inputs and both outputs to {}", arguments.extract);
  const int delivered = deliver(arguments.output, render(*result, arguments, session), console);
  if (delivered != kExitClean) return delivered;
  return result->status == OpStatus::right ? kExitClean : kExitFound;
}

}  // namespace

void add_replay(CLI::App& program, Session& session) {
  CLI::App* command = program.add_subcommand("replay", "Replay one operator of a dumped run in depth");
  auto arguments = std::make_shared<Arguments>();
  add_run(*command, arguments->run);
  command->get_option("--dump")->required();
  command->get_option("--execution")->type_name("N");
  command
      ->add_option("--op", arguments->op, "The operator: its name, #12 (its position), or t34 (what makes tensor 34)")
      ->type_name("OP")
      ->required();
  add_device(*command, arguments->run);
  add_choice(*command, "-f,--format", arguments->format, {"text", "json"},
             "What to print: for people, or the document");
  command->add_option("-o,--output", arguments->output, "File to write instead of standard output")
      ->type_name(kFileType);
  command
      ->add_option("--extract", arguments->extract,
                   "Directory for the operator as a model of its own, with its inputs and both outputs")
      ->type_name(kDirectoryType);
  command->add_flag("--force", arguments->force, "Extract even if the directory holds other files");
  add_threads(*command, arguments->run.threads);
  command->callback([arguments, &session] { session.exit_status = run(*arguments, session); });
}

}  // namespace qnndbg::cli
