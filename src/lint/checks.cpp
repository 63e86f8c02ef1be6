#include "lint/checks.h"

#include <algorithm>
#include <array>

#include "knowledge/soc.h"
#include "lint/check_parts.h"

namespace qnndbg::lint {
namespace {

constexpr auto kTypes = std::to_array<CheckType>({
    {"variables.sdk_root", "MNN's build and its converter scripts find headers, tools and libraries through it."},
    {"variables.loader_path", "MNN opens libQnnHtp.so by its bare name: the first one on the loader's path wins."},
    {"variables.dsp_path", "The DSP's loader looks for the skel there and splits the list at \";\" only."},
    {"variables.dump_directory", "A dump that cannot be written is switched off, with one line in the log."},
    {"variables.preload", "Preloaded libraries win over every search path."},
    {"sdk.root", "Without an SDK no model can be compiled beforehand, and no libraries can be copied to a phone."},
    {"sdk.tools", "MNN2QNNModel starts them; without them it ends with an error after the graph is written."},
    {"sdk.architectures", "A phone needs stub and skel of its own HTP architecture."},
    {"libraries.found", "Without libQnnHtp.so nothing runs on the HTP."},
    {"libraries.readable", "The loader refuses such a file, often with a message about another one."},
    {"libraries.machine", "The loader refuses or passes over libraries of another machine."},
    {"libraries.complete",
     "HTP, System, Prepare, stub and skel work only together: a missing one ends in 4000 and 14001."},
    {"libraries.one_build",
     "Stub, skel and HTP library check each other's build: of two SDKs they end in 1008 or fail at random."},
    {"libraries.copies", "Which copy a process gets depends on the order of the path; two loaded copies end in 1009."},
    {"libraries.runtime", "A compiled model needs a runtime that is at least as new as its compiler (5000 otherwise)."},
    {"mnn.tools", "They convert models and compile them for QNN."},
    {"mnn.backend", "Without the backend MNN runs everything on the CPU and says so in one line only (type=5)."},
    {"mnn.converter", "Without the converter's runtime nothing is compiled: \"Can't Find type=32 backend\"."},
    {"mnn.nnapi",
     "QNN and NNAPI claim the same backend number, the first to register wins: nobody can tell which ran."},
    {"python.packages", "onnxruntime-qnn brings Qualcomm's x86-64 library, which checks models without a phone."},
    {"python.versions", "Packages that do not fit each other fail on import or overwrite each other's files."},
    {"phone.adb", "Only adb can look at the libraries on a phone."},
    {"phone.devices", "Commands go to exactly one phone that has accepted this computer's key."},
    {"phone.soc", "The SoC decides which stub, skel and compiled model fit."},
    {"phone.firmware", "Firmware brings QNN libraries of its own; when they are found first, two SDKs meet."},
    {"model.kind", "Whether a graph is built on the device or beforehand decides which libraries it needs."},
    {"machine.host", "Qualcomm's compiler and MNN2QNNModel exist for x86-64 Linux only."},
    {"machine.stack",
     "Generated code for large vocabularies keeps its scales on the stack and crashes without a message."},
    {"machine.disk", "A dump holds every tensor of every execution."},
    {"program.version", "Reports of bugs in this program need it."},
    {"program.cases", "Cases that were seen before are compared with new runs."},
});

std::size_t position_of(std::string_view id) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const CheckType& type) { return type.id == id; });
  return static_cast<std::size_t>(found - kTypes.begin());
}

void check_model(const Environment& environment, Checks& checks) {
  if (!environment.model) return;
  const ModelFile& model = *environment.model;
  if (!model.problem.empty()) {
    checks.push_back(
        report("model.kind", CheckStatus::problem, model.problem, "give the .mnn file that the program loads"));
    return;
  }
  const std::string kind = model.compiled ? "compiled beforehand: needs libQnnSystem.so, not the prepare library"
                                          : "its graph is built on the device: needs libQnnHtpPrepare.so";
  checks.push_back(report("model.kind", CheckStatus::ok, fmt::format("{}: {}", model.path, kind)));
}

void check_program(const Environment& environment, Checks& checks) {
  checks.push_back(report("program.version", CheckStatus::ok, fmt::format("qnn-debug {}", environment.version)));
  const CaseFile& cases = environment.cases;
  if (!cases.problem.empty())
    checks.push_back(report("program.cases", CheckStatus::problem, fmt::format("{} {}", cases.path, cases.problem),
                            "export QNN_DEBUG_CASES with the name of another file, or move this one away"));
  else
    checks.push_back(
        report("program.cases", CheckStatus::ok,
               cases.exists ? fmt::format("{} can be read", cases.path) : std::string("no case of your own yet")));
}

}  // namespace

std::string_view name_of(CheckStatus status) {
  switch (status) {
    case CheckStatus::ok: return "ok";
    case CheckStatus::note: return "note";
    case CheckStatus::warning: return "warning";
    case CheckStatus::problem: return "problem";
    case CheckStatus::not_checked: return "not_checked";
  }
  return "not_checked";
}

std::span<const CheckType> check_types() { return kTypes; }

std::string_view group_of(std::string_view id) { return id.substr(0, id.find('.')); }

const std::string* variable(const Environment& environment, std::string_view name) {
  const auto found = environment.variables.find(name);
  return found == environment.variables.end() ? nullptr : &found->second;
}

std::vector<const SharedLibrary*> libraries_of(const Deployment& deployment) {
  std::vector<const SharedLibrary*> all;
  for (const LibraryDirectory& directory : deployment.directories)
    for (const SharedLibrary& library : directory.libraries) all.push_back(&library);
  return all;
}

std::vector<std::string> releases_of(const std::vector<const SharedLibrary*>& libraries) {
  std::vector<std::string> releases;
  for (const SharedLibrary* library : libraries) {
    std::string release(release_of(library->build));
    if (!release.empty() && std::find(releases.begin(), releases.end(), release) == releases.end())
      releases.push_back(std::move(release));
  }
  return releases;
}

int target_arch(const Environment& environment) {
  if (environment.target.arch != 0) return environment.target.arch;
  const Soc* soc = find_soc(environment.phone.soc);
  return soc == nullptr ? 0 : soc->arch;
}

std::vector<Check> check(const Environment& environment) {
  Checks checks;
  check_variables(environment, checks);
  check_sdks(environment, checks);
  check_libraries(environment, checks);
  check_mnn(environment, checks);
  check_python(environment, checks);
  check_phone(environment, checks);
  check_model(environment, checks);
  check_machine(environment, checks);
  check_program(environment, checks);
  std::stable_sort(checks.begin(), checks.end(),
                   [](const Check& a, const Check& b) { return position_of(a.id) < position_of(b.id); });
  return checks;
}

}  // namespace qnndbg::lint
