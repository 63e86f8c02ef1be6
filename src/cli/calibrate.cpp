#include "diagnose/calibrate.h"

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/device.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "diagnose/calibration_table.h"
#include "diagnose/run_list.h"
#include "diagnose/threads.h"
#include "report/calibration.h"

namespace qnndbg::cli {
namespace {

struct Arguments {
  ModelArguments files;
  std::vector<std::string> dumps;
  std::string runs;
  DeviceArguments device;
  std::string library;
  double bug_factor = CalibrationOptions{}.bug_factor;
  std::string format = "text";
  std::string output;
  int threads = 0;
};

/// The model that was opened last: runs of one model stand together as a rule.
class OpenModel {
 public:
  explicit OpenModel(const std::string& weights) : weights_(weights) {}

  Result<const Model*> get(const std::filesystem::path& path) {
    if (!model_ || path != path_) {
      Result<Model> opened = open_model({.model = path.string(), .weights = weights_, .inputs = {}});
      if (!opened) return fail(std::move(opened.error()));
      model_ = std::make_unique<Model>(std::move(*opened));
      path_ = path;
    }
    return model_.get();
  }

 private:
  std::string weights_;
  std::filesystem::path path_;
  std::unique_ptr<Model> model_;
};

Result<std::vector<ListedRun>> runs_of(const Arguments& arguments) {
  if (!arguments.runs.empty()) return read_run_list(arguments.runs);
  std::vector<ListedRun> runs;
  for (const std::string& dump : arguments.dumps) runs.push_back({arguments.files.model, {}, dump, {}});
  return runs;
}

Result<void> add_run(Calibrator& calibrator, OpenModel& models, const ListedRun& listed, const Arguments& arguments,
                     const std::string& arch) {
  Result<const Model*> model = models.get(listed.model);
  if (!model) return fail(std::move(model.error()));
  CalibrationRun run{.name = listed.dump.string(), .dump = listed.dump, .inputs = {}};
  if (!listed.arch.empty()) {
    run.arch = listed.arch;
  } else if (!arch.empty()) {
    run.arch = arch;
  }
  ModelArguments files = arguments.files;
  if (!listed.inputs.empty()) files.inputs = {listed.inputs.string()};
  Result<std::optional<InputMap>> inputs = read_inputs(files);
  if (!inputs) return fail(std::move(inputs.error()));
  run.inputs = std::move(*inputs);
  return calibrator.add(**model, std::move(run));
}

/// Every run that can be judged; what is wrong with the others goes to `problems`.
Result<Calibration> calibrate(const Arguments& arguments, const Console& console, std::vector<std::string>& problems) {
  const Result<std::string> arch = arch_of(arguments.device, console);
  if (!arch) return fail(arch.error());
  const Result<std::vector<ListedRun>> runs = runs_of(arguments);
  if (!runs) return fail(runs.error());
  Progress progress;
  Result<Calibrator> calibrator =
      Calibrator::create({.bug_factor = arguments.bug_factor, .progress = std::ref(progress)});
  if (!calibrator) return fail(calibrator.error());
  use_threads(arguments.threads);
  OpenModel models(arguments.files.weights);
  for (const ListedRun& run : *runs) {
    const Result<void> added = add_run(*calibrator, models, run, arguments, *arch);
    if (interrupted()) return fail("interrupted");
    if (!added) problems.push_back(added.error().message);
  }
  if (problems.size() == runs->size()) return fail("none of the runs can be used; {}", problems.front());
  return calibrator->finish();
}

bool all_hold(const BoundComparison& comparison) {
  return std::none_of(comparison.rows.begin(), comparison.rows.end(),
                      [](const BoundRow& row) { return row.state == BoundState::beyond; });
}

/// Writes the new table first: when that fails, nothing was said that is not so.
int show(const Calibration& calibration, const std::vector<std::string>& problems, const Arguments& arguments,
         const Session& session, const Console& console) {
  const Result<BoundComparison> comparison = compare_with_table(calibration);
  if (!comparison) {
    console.error("{}", comparison.error().message);
    return kExitFailed;
  }
  if (!arguments.output.empty()) {
    const Result<std::string> table = updated_table(calibration, arguments.library);
    const Result<void> written = table ? write_file(arguments.output, *table) : fail(table.error());
    if (!written) {
      console.error("{}", written.error().message);
      return kExitFailed;
    }
  }
  for (const std::string& problem : problems) console.error("{}", problem);
  const CalibrationView view{.calibration = calibration, .comparison = *comparison, .problems = problems};
  const int delivered = deliver(
      {}, arguments.format == "json" ? calibration_json(view) : calibration_text(view, output_style(session.color)),
      console);
  if (delivered != kExitClean) return delivered;
  return problems.empty() && calibration.left_out.empty() && all_hold(*comparison) ? kExitClean : kExitFound;
}

int run(const Arguments& arguments, const Session& session) {
  const Console console(session.color);
  std::vector<std::string> problems;
  const Result<Calibration> calibration = calibrate(arguments, console, problems);
  if (interrupted()) {
    console.error("interrupted");
    return kExitInterrupted;
  }
  if (!calibration) {
    console.error("{}", calibration.error().message);
    return kExitFailed;
  }
  return show(*calibration, problems, arguments, session, console);
}

void add_runs(CLI::App& command, Arguments& arguments) {
  CLI::Option* model =
      command.add_option("-m,--model", arguments.files.model, "The .mnn model that ran")->type_name(kFileType);
  CLI::Option* dumps = command.add_option("DUMP", arguments.dumps, "Dump directories of sound runs of the model")
                           ->type_name(kDirectoryType)
                           ->needs(model);
  model->needs(dumps);
  add_weights(command, arguments.files);
  add_inputs(command, arguments.files);
  command
      .add_option("--runs", arguments.runs,
                  "List of runs of any models: model, inputs.json or -, dump and architecture, with tabs between them")
      ->type_name(kFileType)
      ->excludes(model)
      ->excludes(dumps);
}

}  // namespace

void add_calibrate(CLI::App& program, Session& session) {
  CLI::App* command =
      program.add_subcommand("calibrate", "Measure error bounds on sound runs; compare with the built-in");
  auto arguments = std::make_shared<Arguments>();
  add_runs(*command, *arguments);
  add_device(*command, arguments->device);
  command->add_option("--library", arguments->library, "Version of the device's QNN library, for the new table")
      ->type_name("VERSION");
  command
      ->add_option("--bug-factor", arguments->bug_factor,
                   "An operator that is beyond its line by more is a bug and left out; default: 20")
      ->type_name("X")
      ->check(CLI::Range(1.0, 1e6).description(""));
  add_choice(*command, "-f,--format", arguments->format, {"text", "json"}, "What to print: for people, or a document");
  command->add_option("-o,--output", arguments->output, "Write the new table of bounds to this file")
      ->type_name(kFileType);
  add_threads(*command, arguments->threads);
  command->callback([arguments, &session] {
    if (arguments->runs.empty() && arguments->dumps.empty())
      throw CLI::ValidationError("calibrate", "no runs; --model with dumps, or --runs, names them");
    session.exit_status = run(*arguments, session);
  });
}

}  // namespace qnndbg::cli
