#include "cli/run_options.h"

#include <charconv>
#include <cmath>

#include "dump/run_file.h"

namespace qnndbg::cli {
namespace {

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

/// CLI11's ranges let NaN pass.
std::string check_scale(const std::string& text) {
  double scale = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
  const bool parsed = error == std::errc() && end == text.data() + text.size();
  return parsed && std::isfinite(scale) && scale > 0 ? std::string()
                                                     : fmt::format("`{}` is not a positive number", text);
}

/// What run.json tells holds where the command line does not.
Result<void> add_run_file(DiagnoseOptions& options) {
  if (options.dump.empty()) return {};
  const Result<std::optional<RunFile>> run = read_run_file(options.dump);
  if (!run) return fail(run.error());
  if (!*run) return {};
  // An architecture from one source and a SoC from the other would contradict each other.
  if (options.soc.empty() && options.arch.empty()) {
    options.soc = (*run)->soc;
    options.arch = (*run)->arch;
  }
  options.library = (*run)->library;
  options.mnn = (*run)->mnn;
  return {};
}

}  // namespace

void add_run(CLI::App& command, RunArguments& arguments) {
  add_model(command, arguments.files);
  add_weights(command, arguments.files);
  add_inputs(command, arguments.files);
  command.add_option("-d,--dump", arguments.dump, "Directory that MNN_QNN_DUMP_INTERMEDIATE_OUTPUTS filled")
      ->type_name(kDirectoryType);
  command.add_option("--execution", arguments.execution, "Which execution of the dump; default: the last complete one")
      ->type_name("N|all");
}

void add_device(CLI::App& command, RunArguments& arguments) {
  add_device(command, arguments.device);
  add_choice(command, "--constants", arguments.constants, {"auto", "toward-zero", "nearest"},
             "How MNN rounded constants to fp16; auto: whichever fits");
  command.add_flag("--ieee-half", arguments.ieee_half, "Read fp16 as IEEE with Inf and NaN, which HTP's half has not");
  command.add_option("--tolerance-scale", arguments.tolerance_scale, "Multiply every error bound by this")
      ->type_name("X")
      ->check(CLI::Validator(check_scale, /*validator_desc=*/""));
}

Result<DiagnoseOptions> options_of(const RunArguments& arguments, const Console& console) {
  DiagnoseOptions options;
  options.dump = arguments.dump;
  options.soc = arguments.device.soc;
  options.constants = constants_of(arguments.constants);
  options.tolerance_scale = arguments.tolerance_scale;
  options.half = arguments.ieee_half ? HalfKind::ieee : HalfKind::htp;
  options.threads = arguments.threads;

  Result<std::optional<std::uint64_t>> execution = execution_of(arguments.execution);
  if (!execution) return fail(std::move(execution.error()));
  options.execution = *execution;

  Result<std::string> arch = arch_of(arguments.device, console);
  if (!arch) return fail(std::move(arch.error()));
  options.arch = *arch;
  if (auto told = add_run_file(options); !told) return fail(std::move(told.error()));

  Result<std::optional<InputMap>> inputs = read_inputs(arguments.files);
  if (!inputs) return fail(std::move(inputs.error()));
  options.inputs = std::move(*inputs);
  return options;
}

}  // namespace qnndbg::cli
