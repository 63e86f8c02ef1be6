#include "report/doctor.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/device.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "knowledge/soc.h"
#include "lint/collect.h"

namespace qnndbg::cli {
namespace {

struct Arguments {
  lint::Request request;
  DeviceArguments device;
  std::string model;
  std::string format = "text";
  std::string output;
};

Result<lint::Target> target_of(const DeviceArguments& device) {
  if (!device.soc.empty()) {
    const Soc* soc = find_soc(device.soc);
    if (soc == nullptr)
      return fail("--soc: `{}` is no SoC that this version knows; --arch vNN tells the HTP architecture directly",
                  device.soc);
    return lint::Target{.arch = soc->arch, .soc = std::string(soc->name)};
  }
  if (device.arch.empty()) return lint::Target{};
  const std::optional<int> arch = parse_arch(device.arch);
  if (!arch) return fail("--arch: `{}` is not an HTP architecture such as v75", device.arch);
  return lint::Target{.arch = *arch, .soc = {}};
}

lint::Variables variables_of_process() {
  lint::Variables variables;
  for (const std::string& name : lint::variable_names())
    if (const char* value = std::getenv(name.c_str()); value != nullptr) variables.emplace(name, value);
  return variables;
}

/// A model that was compiled beforehand is one Plugin operator between inputs.
lint::ModelFile model_of(const std::string& path) {
  const Result<Model> model = Model::open(path, {});
  if (!model) return {.path = path, .problem = model.error().message};
  const std::vector<OpNode>& ops = model->graph().ops;
  const bool compiled = std::any_of(ops.begin(), ops.end(), [](const OpNode& op) { return op.type_name == "Plugin"; });
  return {.path = path, .problem = {}, .compiled = compiled};
}

std::string text_of(const DoctorView& view, const Arguments& arguments, const Session& session) {
  if (arguments.format == "json") return doctor_json(view);
  TextStyle style = output_style(session.color);
  style.command = session.command_line;
  return doctor_text(view, style);
}

int run(Arguments& arguments, const Session& session) {
  const Console console(session.color);
  const Result<lint::Target> target = target_of(arguments.device);
  if (!target) {
    console.error("{}", target.error().message);
    return kExitFailed;
  }
  arguments.request.version = QNNDBG_VERSION;
  arguments.request.target = *target;
  arguments.request.stop = interrupted;
  DoctorView view;
  view.environment = lint::collect(arguments.request, variables_of_process());
  if (!arguments.model.empty()) view.environment.model = model_of(arguments.model);
  if (interrupted()) {
    console.error("interrupted");
    return kExitInterrupted;
  }
  view.checks = lint::check(view.environment);
  const int written = deliver(arguments.output, text_of(view, arguments, session), console);
  if (written != kExitClean) return written;
  return count_of(view.checks, lint::CheckStatus::problem) > 0 ? kExitFound : kExitClean;
}

void add_places(CLI::App& command, lint::Request& request) {
  command.add_option("--sdk", request.sdk, "Qualcomm's SDK (QAIRT or QNN); QNN_SDK_ROOT is looked at as well")
      ->type_name(kDirectoryType);
  command
      .add_option("--library", request.libraries,
                  "Directory with QNN libraries: of a phone or an app; may be repeated, all belong to one run")
      ->type_name(kDirectoryType)
      ->allow_extra_args(false);
  command.add_option("--mnn", request.mnn, "Directory with MNN's programs and libraries; may be repeated")
      ->type_name(kDirectoryType)
      ->allow_extra_args(false);
}

void add_phone(CLI::App& command, lint::Request& request) {
  CLI::Option* adb = command.add_flag("--adb", request.adb, "Also look at the connected phone, through adb");
  command
      .add_option("--phone-library", request.phone_directories,
                  "Directory on the phone; may be repeated; default: /data/local/tmp")
      ->type_name("PATH")
      ->allow_extra_args(false)
      ->needs(adb);
}

}  // namespace

void add_doctor(CLI::App& program, Session& session) {
  CLI::App* command = program.add_subcommand("doctor", "Check what is installed and whether it fits together");
  auto arguments = std::make_shared<Arguments>();
  add_places(*command, arguments->request);
  command->add_option("-m,--model", arguments->model, "The .mnn model: decides which libraries are needed")
      ->type_name(kFileType);
  CLI::Option* soc = command
                         ->add_option("--soc", arguments->device.soc,
                                      "SoC of the device: QNN number, model or trade name (57, SM8650, \"8 Gen 3\")")
                         ->type_name("SOC");
  command->add_option("--arch", arguments->device.arch, "HTP architecture of the device (v75); default: all found")
      ->type_name("vNN")
      ->excludes(soc);
  add_phone(*command, arguments->request);
  add_choice(*command, "-f,--format", arguments->format, {"text", "json"}, "What to print: for people, or a document");
  command->add_option("-o,--output", arguments->output, "File to write instead of standard output")
      ->type_name(kFileType);
  command->callback([arguments, &session] { session.exit_status = run(*arguments, session); });
}

}  // namespace qnndbg::cli
