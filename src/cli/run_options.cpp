#include "cli/run_options.h"

#include <charconv>
#include <cmath>

#include "knowledge/soc.h"

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

/// Architecture by --soc: an empty text when the table does not tell it.
Result<std::string> arch_of_soc(const std::string& text, const Console& console) {
  const Soc* soc = find_soc(text);
  if (soc == nullptr) {
    std::vector<std::string> names;
    for (const Soc& known : known_socs()) names.emplace_back(known.name);
    return fail("--soc: `{}` is no SoC that this version knows{}; --arch vNN tells the HTP architecture directly", text,
                did_you_mean(text, names));
  }
  if (soc->arch != 0) return arch_name(soc->arch);
  console.note("no HTP architecture is known for SoC {} (QNN number {}); the loosest bounds apply", soc->name, soc->id);
  return std::string();
}

Result<std::string> arch_of(const RunArguments& arguments, const Console& console) {
  if (!arguments.soc.empty()) return arch_of_soc(arguments.soc, console);
  if (arguments.arch.empty()) return std::string();
  const std::optional<int> arch = parse_arch(arguments.arch);
  if (!arch) return fail("--arch: `{}` is not an HTP architecture such as v75", arguments.arch);
  if (!is_known_arch(*arch)) console.note("no SoC with HTP {} is known; the loosest bounds apply", arch_name(*arch));
  return arch_name(*arch);
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
  CLI::Option* soc = command
                         .add_option("--soc", arguments.soc,
                                     "SoC of the device: QNN number, model or trade name (57, SM8650, \"8 Gen 3\")")
                         ->type_name("SOC");
  command
      .add_option("--arch", arguments.arch, "HTP architecture of the device (v75); default: unknown, loosest bounds")
      ->type_name("vNN")
      ->excludes(soc);
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
  options.soc = arguments.soc;
  options.constants = constants_of(arguments.constants);
  options.tolerance_scale = arguments.tolerance_scale;
  options.half = arguments.ieee_half ? HalfKind::ieee : HalfKind::htp;
  options.threads = arguments.threads;

  Result<std::optional<std::uint64_t>> execution = execution_of(arguments.execution);
  if (!execution) return fail(std::move(execution.error()));
  options.execution = *execution;

  Result<std::string> arch = arch_of(arguments, console);
  if (!arch) return fail(std::move(arch.error()));
  options.arch = *arch;

  Result<std::optional<InputMap>> inputs = read_inputs(arguments.files);
  if (!inputs) return fail(std::move(inputs.error()));
  options.inputs = std::move(*inputs);
  return options;
}

}  // namespace qnndbg::cli
