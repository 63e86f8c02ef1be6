// SDK roots, MNN, Python, and the phone.
#include <algorithm>
#include <filesystem>
#include <map>

#include "knowledge/soc.h"
#include "lint/check_parts.h"
#include "lint/run_program.h"

namespace qnndbg::lint {
namespace {

std::string joined(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, ", ")); }

std::string directory_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

// --- SDK

void check_sdk(const SdkRoot& sdk, Checks& checks) {
  const bool option = sdk.source == "--sdk";
  const std::string_view id = option ? "sdk.root" : "variables.sdk_root";
  if (!sdk.problem.empty()) {
    checks.push_back(report(id, CheckStatus::problem, fmt::format("{}={} {}", sdk.source, sdk.path, sdk.problem),
                            option ? "name the directory of the SDK that has include and lib"
                                   : fmt::format("export {}=DIR, the directory that has include and lib", sdk.source)));
    return;
  }
  checks.push_back(report(id, CheckStatus::ok,
                          fmt::format("{}={}{}", sdk.source, sdk.path,
                                      sdk.version.empty() ? " (version not told)" : ": SDK " + sdk.version)));
  if (!sdk.missing_tools.empty())
    checks.push_back(report("sdk.tools", CheckStatus::warning,
                            fmt::format("{} lacks {}", sdk.path, joined(sdk.missing_tools)),
                            "unpack the whole SDK, and set the executable bits of its bin directory"));
}

// --- MNN

/// Libraries and programs of one directory belong together.
std::map<std::string, std::vector<const MnnFile*>> by_directory(const Mnn& mnn) {
  std::map<std::string, std::vector<const MnnFile*>> groups;
  for (const MnnFile& file : mnn.libraries) groups[directory_of(file.path)].push_back(&file);
  for (const MnnFile& file : mnn.tools) groups[directory_of(file.path)].push_back(&file);
  return groups;
}

template <class Predicate>
bool any_of(const std::vector<const MnnFile*>& files, Predicate predicate) {
  return std::any_of(files.begin(), files.end(), [&](const MnnFile* file) { return predicate(*file); });
}

void check_backend(const std::string& directory, const std::vector<const MnnFile*>& files, Checks& checks) {
  if (!any_of(files, [](const MnnFile& file) { return file.name.starts_with("libMNN"); })) return;
  if (any_of(files, [](const MnnFile& file) { return file.qnn; })) {
    checks.push_back(report("mnn.backend", CheckStatus::ok, fmt::format("{}: MNN with the QNN backend", directory)));
    return;
  }
  // On a phone this is the library of the run; on a host it may only convert.
  const bool phone = any_of(files, [](const MnnFile& file) { return file.machine == Machine::aarch64; });
  checks.push_back(report("mnn.backend", phone ? CheckStatus::problem : CheckStatus::warning,
                          fmt::format("{}: MNN without the QNN backend", directory),
                          "build MNN with -DMNN_QNN=ON and QNN_SDK_ROOT set", "cpu_fallback"));
}

void check_converter(const std::string& directory, const std::vector<const MnnFile*>& files, Checks& checks) {
  const auto is_compiler = [](const MnnFile& file) {
    return file.name == "MNN2QNNModel" || file.name == "compilefornpu";
  };
  if (!any_of(files, is_compiler)) return;
  if (any_of(files, [](const MnnFile& file) { return file.convert; }))
    checks.push_back(report("mnn.converter", CheckStatus::ok,
                            fmt::format("{}: the compiler has the converter's runtime", directory)));
  else
    checks.push_back(
        report("mnn.converter", CheckStatus::warning,
               fmt::format("{}: neither the compiler nor a library beside it has the converter's runtime", directory),
               "build MNN for this machine with -DMNN_QNN=ON -DMNN_QNN_CONVERT_MODE=ON "
               "-DMNN_WITH_PLUGIN=OFF",
               "backend_not_built"));
}

void check_nnapi(const std::vector<const MnnFile*>& files, Checks& checks) {
  for (const MnnFile* file : files)
    if (file->qnn && file->nnapi)
      checks.push_back(report("mnn.nnapi", CheckStatus::problem,
                              fmt::format("{} has both the QNN and the NNAPI backend", file->path),
                              "build MNN with -DMNN_NNAPI=OFF", "performance"));
}

// --- Python

const PythonPackage* package(const Python& python, std::string_view name) {
  const auto found = std::find_if(python.packages.begin(), python.packages.end(),
                                  [&](const PythonPackage& one) { return one.name == name; });
  return found == python.packages.end() ? nullptr : &*found;
}

/// Requirements among the packages that are looked for; of others nothing is known.
void check_requirements(const Python& python, const PythonPackage& one, Checks& checks) {
  for (const PythonRequirement& requirement : one.requirements) {
    const PythonPackage* other = package(python, requirement.name);
    const bool looked_for = other != nullptr || requirement.name == "onnxruntime" || requirement.name == "numpy";
    if (!looked_for || (other != nullptr && satisfies(other->version, requirement.versions))) continue;
    checks.push_back(report(
        "python.versions", CheckStatus::problem,
        fmt::format("{} {} needs {}{}, {}", one.name, one.version, requirement.name, requirement.versions,
                    other == nullptr ? "which is not installed" : fmt::format("{} is installed", other->version)),
        fmt::format("{} -m pip install {}", shell_quoted(python.path),
                    shell_quoted(requirement.name + requirement.versions)),
        "version_mismatch"));
  }
}

void check_duplicates(const Python& python, Checks& checks) {
  for (std::size_t i = 1; i < python.packages.size(); ++i) {
    const PythonPackage& one = python.packages[i - 1];
    const PythonPackage& other = python.packages[i];
    if (one.name == other.name && one.directory == other.directory)
      checks.push_back(
          report("python.versions", CheckStatus::problem,
                 fmt::format("{} has {} and {} of {}", one.directory, one.version, other.version, one.name),
                 fmt::format("{} -m pip install --force-reinstall {}", shell_quoted(python.path), one.name),
                 "version_mismatch"));
  }
}

/// Before 2.0 onnxruntime-qnn was a whole onnxruntime with the same directory; since then it is a plug-in of it.
void check_overwriting(const Python& python, Checks& checks) {
  const PythonPackage* qnn = package(python, "onnxruntime-qnn");
  const PythonPackage* plain = package(python, "onnxruntime");
  if (qnn == nullptr || plain == nullptr || satisfies(qnn->version, ">=2") || qnn->directory != plain->directory)
    return;
  checks.push_back(report(
      "python.versions", CheckStatus::problem,
      fmt::format("onnxruntime-qnn {} and onnxruntime {} write into the same directory", qnn->version, plain->version),
      fmt::format("{0} -m pip uninstall onnxruntime onnxruntime-qnn && {0} -m pip install "
                  "onnxruntime-qnn",
                  shell_quoted(python.path)),
      "version_mismatch"));
}

// --- The phone

std::string advice_for(const std::string& state) {
  if (state == "unauthorized") return "accept this computer's key on the phone's screen";
  if (state == "offline") return "adb reconnect offline";
  if (state == "no permissions") return "adb kill-server, then start adb as a user of the group plugdev";
  return "adb devices -l";
}

/// True if exactly one phone can be asked.
bool check_devices(const Phone& phone, Checks& checks) {
  constexpr std::string_view kId = "phone.devices";
  std::vector<std::string> ready;
  for (const PhoneDevice& device : phone.devices) {
    if (device.state == "device")
      ready.push_back(device.serial);
    else
      checks.push_back(report(kId, CheckStatus::problem, fmt::format("{} is {}", device.serial, device.state),
                              advice_for(device.state.substr(0, device.state.find(" (")))));
  }
  if (phone.devices.empty())
    checks.push_back(report(kId, CheckStatus::problem, "adb lists no phone",
                            "connect it and switch on USB debugging in its developer options"));
  if (ready.size() > 1 && phone.serial.empty()) {
    checks.push_back(report(kId, CheckStatus::problem, fmt::format("several phones are connected: {}", joined(ready)),
                            fmt::format("export ANDROID_SERIAL={}", shell_quoted(ready.front()))));
    return false;
  }
  if (!ready.empty()) checks.push_back(report(kId, CheckStatus::ok, fmt::format("connected: {}", joined(ready))));
  return !ready.empty();
}

void check_soc(const Environment& environment, Checks& checks) {
  constexpr std::string_view kId = "phone.soc";
  const std::string& model = environment.phone.soc;
  const Soc* soc = find_soc(model);
  if (soc == nullptr || soc->arch == 0) {
    checks.push_back(report(kId, CheckStatus::note,
                            model.empty() ? std::string("the phone does not tell its SoC")
                                          : fmt::format("SoC {}: its HTP architecture is not known", model),
                            environment.target.arch == 0 ? "tell the device with --soc or --arch" : ""));
    return;
  }
  const int target = environment.target.arch;
  if (target != 0 && target != soc->arch)
    checks.push_back(
        report(kId, CheckStatus::problem,
               fmt::format("the phone's SoC {} has HTP {}, not {}", soc->name, arch_name(soc->arch), arch_name(target)),
               fmt::format("compile for SoC number {} and {}", soc->id, arch_name(soc->arch)), "soc_arch_mismatch"));
  else
    checks.push_back(report(kId, CheckStatus::ok, fmt::format("SoC {}, HTP {}", soc->name, arch_name(soc->arch))));
}

void check_firmware(const Environment& environment, Checks& checks) {
  std::vector<std::string> own;
  for (const Deployment& deployment : environment.deployments)
    if (deployment.place == Place::phone) own = releases_of(libraries_of(deployment));
  for (const Deployment& deployment : environment.deployments) {
    if (deployment.place != Place::phone_vendor) continue;
    const std::vector<const SharedLibrary*> libraries = libraries_of(deployment);
    if (libraries.empty()) continue;
    const std::vector<std::string> releases = releases_of(libraries);
    const bool differ = own.size() == 1 && std::any_of(releases.begin(), releases.end(),
                                                       [&](const std::string& one) { return one != own.front(); });
    checks.push_back(report("phone.firmware", differ ? CheckStatus::warning : CheckStatus::note,
                            fmt::format("the firmware has QNN libraries of its own: {}{}", libraries.front()->path,
                                        releases.empty() ? std::string() : fmt::format(" ({})", joined(releases))),
                            differ ? "put your own directory first in LD_LIBRARY_PATH and in ADSP_LIBRARY_PATH" : "",
                            differ ? "sdk_mix" : ""));
  }
}

}  // namespace

void check_sdks(const Environment& environment, Checks& checks) {
  for (const SdkRoot& sdk : environment.sdks) check_sdk(sdk, checks);
  if (environment.sdks.empty()) {
    const std::vector<std::string>& installed = environment.installed_sdks;
    checks.push_back(report(
        "variables.sdk_root", CheckStatus::note,
        "neither QNN_SDK_ROOT nor QAIRT_SDK_ROOT is set; only compiling models needs an SDK",
        installed.empty() ? std::string() : fmt::format("export QNN_SDK_ROOT={}", shell_quoted(installed.back()))));
  }
  for (std::size_t i = 1; i < environment.sdks.size(); ++i) {
    const SdkRoot& one = environment.sdks[i - 1];
    const SdkRoot& other = environment.sdks[i];
    if (!one.version.empty() && !other.version.empty() && one.version != other.version)
      checks.push_back(
          report("variables.sdk_root", CheckStatus::warning,
                 fmt::format("{} is SDK {}, {} is SDK {}", one.source, one.version, other.source, other.version),
                 "let both name the same directory", "sdk_mix"));
  }
}

void check_mnn(const Environment& environment, Checks& checks) {
  for (const LibraryDirectory& directory : environment.mnn.bad_directories)
    checks.push_back(report("mnn.tools", CheckStatus::problem, fmt::format("{} {}", directory.path, directory.problem),
                            "give --mnn the build directory of MNN"));
  std::vector<std::string> names;
  for (const MnnFile& tool : environment.mnn.tools) names.push_back(tool.path);
  if (!names.empty()) checks.push_back(report("mnn.tools", CheckStatus::ok, joined(names)));
  if (names.empty() && environment.mnn.libraries.empty() && environment.mnn.bad_directories.empty())
    checks.push_back(report("mnn.tools", CheckStatus::not_checked,
                            "no MNN program on PATH and no MNN library on LD_LIBRARY_PATH",
                            "name MNN's build directory with --mnn DIR"));
  for (const auto& [directory, files] : by_directory(environment.mnn)) {
    check_backend(directory, files, checks);
    check_converter(directory, files, checks);
    check_nnapi(files, checks);
  }
}

void check_python(const Environment& environment, Checks& checks) {
  const Python& python = environment.python;
  if (python.path.empty() || !python.problem.empty()) {
    checks.push_back(report("python.packages", CheckStatus::not_checked,
                            python.path.empty() ? "no python3 on PATH" : python.problem));
    return;
  }
  std::vector<std::string> names;
  for (const PythonPackage& one : python.packages) names.push_back(fmt::format("{} {}", one.name, one.version));
  checks.push_back(
      report("python.packages", names.empty() ? CheckStatus::note : CheckStatus::ok,
             fmt::format("{}: {}", python.path,
                         names.empty() ? "no onnxruntime-qnn, onnxruntime, onnx, MNN or numpy" : joined(names))));
  for (const PythonPackage& one : python.packages) check_requirements(python, one, checks);
  check_duplicates(python, checks);
  check_overwriting(python, checks);
}

void check_phone(const Environment& environment, Checks& checks) {
  const Phone& phone = environment.phone;
  if (!phone.asked) {
    checks.push_back(
        report("phone.adb", CheckStatus::not_checked,
               phone.adb.empty() ? "adb is not on PATH" : fmt::format("{}: the phone was not asked", phone.adb),
               phone.adb.empty() ? "" : "qnn-debug doctor --adb"));
    return;
  }
  if (phone.adb.empty()) {
    checks.push_back(report("phone.adb", CheckStatus::problem, "adb is not on PATH",
                            "install Android's platform tools (Debian: apt install adb)"));
    return;
  }
  if (!phone.problem.empty()) {
    checks.push_back(report("phone.adb", CheckStatus::problem, phone.problem, "adb kill-server && adb devices"));
    if (phone.devices.empty()) return;
  } else {
    checks.push_back(report("phone.adb", CheckStatus::ok, phone.adb));
  }
  if (!check_devices(phone, checks) || !phone.problem.empty()) return;
  check_soc(environment, checks);
  check_firmware(environment, checks);
}

}  // namespace qnndbg::lint
