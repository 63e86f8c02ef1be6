#include "diagnose/diagnose.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <memory>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/device.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/bounds.h"
#include "report/json.h"
#include "report/text.h"

namespace qnndbg::cli {
namespace {

constexpr const char* kNeedsDump =
    R"(A diagnosis needs the tensors that the device computed: --dump DIR. To make such a directory

  when MNN builds the graph on the device (Module or Session API):
    1. set bit 16 of BackendConfig.flags: MNN_QNN_DUMP_INTERMEDIATE_OUTPUTS = 65536
    2. set the environment variable MNN_QNN_DUMP_DIR to a directory that the process may write to
    3. load the module with shapeMutable = false; otherwise the inputs may never reach the device
    4. run once; each execution leaves a manifest_NNNNNN.tsv and one raw file per tensor

  when the model was compiled beforehand (MNN2QNNModel): add --dump_intermediate_outputs to that command, set
    MNN_QNN_DUMP_DIR when running, and give the source model to --model

Every tensor becomes a graph output, so use that run for diagnosis only.
)";

struct Arguments {
  ModelArguments files;
  std::string dump;
  std::string log;
  std::string execution;
  DeviceArguments device;
  std::string constants = "auto";
  double tolerance_scale = 1;
  int threads = 0;
  std::string format = "text";
  std::string output;
  bool ieee_half = false;
  bool explain_bounds = false;
  int verbosity = 0;
};

Result<std::optional<std::uint64_t>> execution_of(const std::string& text) {
  if (text.empty() || text == "all") return std::optional<std::uint64_t>();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return fail("--execution: `{}` is neither a number nor \"all\"", text);
  return std::optional(number);
}

ConstantsMode constants_of(const std::string& choice) {
  if (choice == "toward-zero") return ConstantsMode::toward_zero;
  if (choice == "nearest") return ConstantsMode::nearest;
  return ConstantsMode::automatic;
}

void say_what_is_not_used(const Arguments& arguments, const Console& console) {
  if (!arguments.log.empty()) console.note("--log is accepted, but this version does not read logs yet");
  if (arguments.execution == "all")
    console.note("--execution all: this version judges the last complete execution only");
}

Result<DiagnoseOptions> options_of(const Arguments& arguments, const Console& console) {
  DiagnoseOptions options;
  options.dump = arguments.dump;
  options.soc = arguments.device.soc;
  options.constants = constants_of(arguments.constants);
  options.tolerance_scale = arguments.tolerance_scale;
  options.half = arguments.ieee_half ? HalfKind::ieee : HalfKind::htp;
  options.threads = arguments.threads;
  options.explain_bounds = arguments.explain_bounds;

  Result<std::optional<std::uint64_t>> execution = execution_of(arguments.execution);
  if (!execution) return fail(std::move(execution.error()));
  options.execution = *execution;

  Result<std::string> arch = arch_of(arguments.device, console);
  if (!arch) return fail(std::move(arch.error()));
  options.arch = *arch;

  Result<std::optional<InputMap>> inputs = read_inputs(arguments.files);
  if (!inputs) return fail(std::move(inputs.error()));
  options.inputs = std::move(*inputs);
  return options;
}

Result<Diagnosis> judge(const Arguments& arguments, const Console& console) {
  const auto start = std::chrono::steady_clock::now();
  Result<DiagnoseOptions> options = options_of(arguments, console);
  if (!options) return fail(std::move(options.error()));
  Result<Model> model = open_model(arguments.files);
  if (!model) return fail(std::move(model.error()));

  Progress progress;
  options->progress = std::ref(progress);
  Result<Diagnosis> diagnosis = diagnose(*model, *options);
  if (diagnosis) diagnosis->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return diagnosis;
}

std::string render(const Diagnosis& diagnosis, const Arguments& arguments, const Session& session) {
  if (arguments.format == "json") return to_json(diagnosis);
  TextStyle style = output_style(session.color);
  style.verbosity = arguments.verbosity;
  style.command = session.command_line;
  return to_text(diagnosis, style) + bounds_text(diagnosis, style);
}

int run(const Arguments& arguments, const Session& session) {
  const Console console(session.color);
  if (arguments.dump.empty()) {
    console.error("there is no dump to judge");
    console.help(kNeedsDump);
    return kExitFailed;
  }
  say_what_is_not_used(arguments, console);

  const Result<Diagnosis> diagnosis = judge(arguments, console);
  if (interrupted()) {
    console.error("interrupted");
    return kExitInterrupted;
  }
  if (!diagnosis) {
    console.error("{}", diagnosis.error().message);
    return kExitFailed;
  }
  const int delivered = deliver(arguments.output, render(*diagnosis, arguments, session), console);
  if (delivered != kExitClean) return delivered;
  return diagnosis->verdict == Verdict::clean ? kExitClean : kExitFound;
}

void add_files(CLI::App& command, Arguments& arguments) {
  add_model(command, arguments.files);
  add_weights(command, arguments.files);
  add_inputs(command, arguments.files);
  command.add_option("-d,--dump", arguments.dump, "Directory that MNN_QNN_DUMP_INTERMEDIATE_OUTPUTS filled")
      ->type_name(kDirectoryType);
  command.add_option("--log", arguments.log, "Console log of the run (not read yet)")->type_name(kFileType);
  command.add_option("--execution", arguments.execution, "Which execution of the dump; default: the last complete one")
      ->type_name("N|all");
}

/// CLI11's ranges let NaN pass.
std::string check_scale(const std::string& text) {
  double scale = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
  const bool parsed = error == std::errc() && end == text.data() + text.size();
  return parsed && std::isfinite(scale) && scale > 0 ? std::string()
                                                     : fmt::format("`{}` is not a positive number", text);
}

void add_judging(CLI::App& command, Arguments& arguments) {
  add_device(command, arguments.device);
  add_choice(command, "--constants", arguments.constants, {"auto", "toward-zero", "nearest"},
             "How MNN rounded constants to fp16; auto: whichever fits");
  command.add_flag("--ieee-half", arguments.ieee_half, "Read fp16 as IEEE with Inf and NaN, which HTP's half has not");
  command.add_option("--tolerance-scale", arguments.tolerance_scale, "Multiply every error bound by this")
      ->type_name("X")
      ->check(CLI::Validator(check_scale, /*validator_desc=*/""));
}

void add_result(CLI::App& command, Arguments& arguments) {
  add_choice(command, "-f,--format", arguments.format, {"text", "json"}, "What to print: for people, or the document");
  command.add_option("-o,--output", arguments.output, "File to write instead of standard output")->type_name(kFileType);
  add_threads(command, arguments.threads);
  command.add_flag("--explain-bounds", arguments.explain_bounds,
                   "Also how far each operator is from its error bound, and what the bound rests on");
  command.add_flag("-v,--verbose", arguments.verbosity, "Text: also what was not judged and why; -vv: every operator");
}

}  // namespace

void add_diagnose(CLI::App& program, Session& session) {
  CLI::App* command =
      program.add_subcommand("diagnose", "Judge the operators of a dumped run: which are broken, and why");
  auto arguments = std::make_shared<Arguments>();
  add_files(*command, *arguments);
  add_judging(*command, *arguments);
  add_result(*command, *arguments);
  command->callback([arguments, &session] { session.exit_status = run(*arguments, session); });
}

}  // namespace qnndbg::cli
