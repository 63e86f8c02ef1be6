#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "knowledge/soc.h"
#include "lint/check_parts.h"
#include "lint/run_program.h"

namespace qnndbg::lint {
namespace {

using Libraries = std::vector<const SharedLibrary*>;

std::string stub_name(int arch) { return fmt::format("libQnnHtpV{}Stub.so", arch); }
std::string skel_name(int arch) { return fmt::format("libQnnHtpV{}Skel.so", arch); }

std::string joined(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, ", ")); }

std::string paths_of(const Deployment& deployment) {
  std::vector<std::string> paths;
  for (const LibraryDirectory& directory : deployment.directories)
    if (directory.problem.empty()) paths.push_back(directory.path);
  return joined(paths);
}

std::string_view description_of(Place place) {
  switch (place) {
    case Place::named: return "given with --library";
    case Place::loader: return "on the loader's path";
    case Place::sdk_host: return "the SDK's for this machine";
    case Place::sdk_device: return "the SDK's for phones";
    case Place::python: return "in a Python package";
    case Place::phone: return "on the phone";
    case Place::phone_vendor: return "the phone's firmware";
  }
  return "";
}

bool is_for_device(const SharedLibrary& library) {
  return library.machine == Machine::aarch64 || library.machine == Machine::hexagon;
}

/// Libraries that run on a phone. A deployment may hold those of the host too, which are another process's.
Libraries device_part(const Deployment& deployment) {
  Libraries part = libraries_of(deployment);
  std::erase_if(part, [](const SharedLibrary* library) { return !is_for_device(*library); });
  return part;
}

Libraries host_part(const Deployment& deployment) {
  Libraries part = libraries_of(deployment);
  std::erase_if(part, [](const SharedLibrary* library) { return library->machine != Machine::x86_64; });
  return part;
}

/// The number in libQnnHtpV75Stub.so and libQnnHtpV75Skel.so; 0 for other names.
int arch_in_name(std::string_view name) {
  constexpr std::string_view kPrefix = "libQnnHtpV";
  if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + 2) return 0;
  const std::optional<int> arch = parse_arch(name.substr(kPrefix.size(), 2));
  if (!arch) return 0;
  return name == stub_name(*arch) || name == skel_name(*arch) ? *arch : 0;
}

/// The machine that a library's name promises, where it does.
std::optional<Machine> machine_by_name(const SharedLibrary& library) {
  const int arch = arch_in_name(library.name);
  if (arch == 0) return std::nullopt;
  return library.name == skel_name(arch) ? Machine::hexagon : Machine::aarch64;
}

bool is_usable(const SharedLibrary& library) {
  return library.problem.empty() && machine_by_name(library).value_or(library.machine) == library.machine;
}

bool has(const Libraries& libraries, std::string_view name) {
  return std::any_of(libraries.begin(), libraries.end(),
                     [&](const SharedLibrary* library) { return library->name == name && is_usable(*library); });
}

/// A file of this name that is of no use: another check says why.
bool has_unusable(const Deployment& deployment, std::string_view name) {
  const Libraries all = libraries_of(deployment);
  return std::any_of(all.begin(), all.end(),
                     [&](const SharedLibrary* library) { return library->name == name && !is_usable(*library); });
}

/// Architectures with a stub or a skel; with both if `whole`.
std::vector<int> archs_of(const Libraries& libraries, bool whole) {
  std::set<int> archs;
  for (const SharedLibrary* library : libraries)
    if (const int arch = arch_in_name(library->name); arch != 0) archs.insert(arch);
  if (whole)
    std::erase_if(archs,
                  [&](int arch) { return !has(libraries, stub_name(arch)) || !has(libraries, skel_name(arch)); });
  return {archs.begin(), archs.end()};
}

/// Whether a process uses the deployment as it is; an SDK is a store to copy from.
bool is_used_as_it_is(const Deployment& deployment) {
  return deployment.place == Place::named || deployment.place == Place::phone || deployment.place == Place::loader;
}

/// Where a library can be copied from: the SDK that has it.
const SharedLibrary* in_sdk(const Environment& environment, std::string_view name) {
  for (const Deployment& deployment : environment.deployments) {
    if (deployment.place != Place::sdk_device) continue;
    for (const SharedLibrary* library : libraries_of(deployment))
      if (library->name == name && library->problem.empty()) return library;
  }
  return nullptr;
}

// --- Files that no loader takes

void check_directories(const Deployment& deployment, Checks& checks) {
  for (const LibraryDirectory& directory : deployment.directories) {
    const bool asked = deployment.place == Place::named || deployment.place == Place::phone;
    if (!directory.problem.empty() && asked)
      checks.push_back(report("libraries.found", CheckStatus::problem,
                              fmt::format("{} {}", directory.path, directory.problem),
                              "name the directory that holds libQnnHtp.so", "library_not_found"));
    if (directory.truncated)
      checks.push_back(report("libraries.found", CheckStatus::not_checked,
                              fmt::format("{} has so many files that not all were looked at", directory.path)));
    for (const SharedLibrary& library : directory.libraries)
      if (!library.problem.empty())
        checks.push_back(
            report("libraries.readable", CheckStatus::problem, fmt::format("{} {}", library.path, library.problem),
                   "copy it again from the SDK",
                   library.name.find("Skel") == std::string::npos ? "library_not_found" : "skel_load_failed"));
  }
}

/// Why a library cannot do its work where it is; empty: it can.
std::string misplacement(const SharedLibrary& library, Place place, Machine host) {
  const std::optional<Machine> promised = machine_by_name(library);
  // x86-64 has no stubs; arm ones are the 32-bit variant, which the rest of a 64-bit set does not fit.
  if (promised && library.machine != *promised)
    return fmt::format("is for {}, a file of this name must be for {}", name_of(library.machine), name_of(*promised));
  const bool here = place == Place::loader || place == Place::sdk_host || place == Place::python;
  if (here && library.machine != host && library.machine != Machine::hexagon)
    return fmt::format("is for {}, this machine is {}", name_of(library.machine), name_of(host));
  const bool there = place == Place::sdk_device || place == Place::phone || place == Place::phone_vendor;
  if (there && !is_for_device(library))
    return fmt::format("is for {}, not for a 64-bit phone", name_of(library.machine));
  if (library.machine == Machine::arm) return "is for 32-bit arm, which MNN's QNN backend does not use";
  return {};
}

void check_machines(const Deployment& deployment, Machine host, Checks& checks) {
  for (const SharedLibrary* library : libraries_of(deployment)) {
    if (!library->problem.empty()) continue;
    // Firmware may keep 32-bit libraries beside the others.
    if (deployment.place == Place::phone_vendor) continue;
    const std::string why = misplacement(*library, deployment.place, host);
    if (!why.empty())
      checks.push_back(report("libraries.machine", CheckStatus::problem, fmt::format("{} {}", library->path, why),
                              deployment.place == Place::loader
                                  ? "take its directory out of LD_LIBRARY_PATH"
                                  : "copy the one for the right machine from the SDK's lib directory",
                              "library_not_found"));
  }
}

/// One directory with libraries of x86-64 and of phones: one of them was copied to the wrong place.
void check_mixed_machines(const Deployment& deployment, Checks& checks) {
  if (deployment.place != Place::named) return;
  for (const LibraryDirectory& directory : deployment.directories) {
    const auto of = [&](Machine machine) {
      return std::any_of(directory.libraries.begin(), directory.libraries.end(),
                         [&](const SharedLibrary& library) { return library.machine == machine; });
    };
    if (of(Machine::x86_64) && (of(Machine::aarch64) || of(Machine::hexagon)))
      checks.push_back(report("libraries.machine", CheckStatus::problem,
                              fmt::format("{} mixes libraries for x86-64 with libraries for phones", directory.path),
                              "keep those for phones in a directory of their own", "library_not_found"));
  }
}

// --- The needed set

struct Needed {
  std::string name;
  CheckStatus if_missing = CheckStatus::problem;
  std::string_view cause = "library_not_found";
};

std::vector<Needed> needed_on_device(const Environment& environment, const std::vector<int>& archs) {
  const bool model_known = environment.model && environment.model->problem.empty();
  const bool compiled = model_known && environment.model->compiled;
  std::vector<Needed> needed = {{.name = "libQnnHtp.so"}};
  for (const int arch : archs) {
    needed.push_back({.name = stub_name(arch)});
    needed.push_back({.name = skel_name(arch), .cause = "skel_load_failed"});
  }
  // Without the model it is open which of the two a run needs.
  const CheckStatus open = model_known ? CheckStatus::problem : CheckStatus::warning;
  if (!model_known || compiled) needed.push_back({.name = "libQnnSystem.so", .if_missing = open});
  if (!compiled) needed.push_back({.name = "libQnnHtpPrepare.so", .if_missing = open});
  return needed;
}

std::string copy_command(const Environment& environment, const Deployment& deployment, std::string_view name) {
  const SharedLibrary* source = in_sdk(environment, name);
  const std::string target = deployment.directories.empty() ? "." : deployment.directories.front().path;
  const std::string_view command = deployment.place == Place::phone ? "adb push" : "cp";
  if (source != nullptr) return fmt::format("{} {} {}", command, shell_quoted(source->path), shell_quoted(target));
  const int arch = arch_in_name(name);
  const bool skel = name == skel_name(arch);
  return fmt::format("{} \"$QNN_SDK_ROOT\"/lib/{}/{} {}", command,
                     skel ? fmt::format("hexagon-v{}/unsigned", arch) : "aarch64-android", name, shell_quoted(target));
}

void check_needed(const Environment& environment, const Deployment& deployment, const std::vector<int>& archs,
                  Checks& checks) {
  const Libraries part = device_part(deployment);
  bool whole = true;
  for (const Needed& needed : needed_on_device(environment, archs)) {
    if (has(part, needed.name)) continue;
    whole = false;
    if (has_unusable(deployment, needed.name)) continue;
    std::string purpose;
    if (needed.name == "libQnnHtpPrepare.so") purpose = " (needed to build graphs on the device)";
    if (needed.name == "libQnnSystem.so") purpose = " (needed for models that were compiled beforehand)";
    checks.push_back(report("libraries.complete", needed.if_missing,
                            fmt::format("{} is missing in {}{}", needed.name, paths_of(deployment), purpose),
                            copy_command(environment, deployment, needed.name), needed.cause));
  }
  std::vector<std::string> names;
  for (const int arch : archs) names.push_back(arch_name(arch));
  if (whole)
    checks.push_back(report("libraries.complete", CheckStatus::ok,
                            fmt::format("{}: all that {} needs is there", paths_of(deployment), joined(names))));
}

/// What emulates an HTP on x86-64 is libQnnHtp.so alone: no stub, no skel.
void check_host_set(const Deployment& deployment, Checks& checks) {
  const Libraries part = host_part(deployment);
  if (deployment.place != Place::named || part.empty()) return;
  if (has(part, "libQnnHtp.so"))
    checks.push_back(
        report("libraries.complete", CheckStatus::ok,
               fmt::format("{} is for x86-64, where libQnnHtp.so emulates the device", paths_of(deployment))));
  else if (!has_unusable(deployment, "libQnnHtp.so"))
    checks.push_back(report("libraries.complete", CheckStatus::problem,
                            fmt::format("libQnnHtp.so is missing in {}", paths_of(deployment)),
                            "copy it from lib/x86_64-linux-clang of the SDK", "library_not_found"));
}

void check_complete(const Environment& environment, const Deployment& deployment, Checks& checks) {
  check_host_set(deployment, checks);
  const Libraries part = device_part(deployment);
  // On a laptop's path a phone's libraries are misplaced, whether complete or not.
  const bool misplaced = deployment.place == Place::loader && environment.host != Machine::aarch64;
  if (part.empty() || !is_used_as_it_is(deployment) || misplaced) return;
  const int target = target_arch(environment);
  const std::vector<int> archs = target != 0 ? std::vector<int>{target} : archs_of(part, /*whole=*/false);
  if (!archs.empty()) {
    check_needed(environment, deployment, archs, checks);
    return;
  }
  checks.push_back(report("libraries.complete", CheckStatus::problem,
                          fmt::format("{} has neither stub nor skel of any HTP architecture", paths_of(deployment)),
                          "tell the device with --soc, and copy libQnnHtpVNNStub.so and libQnnHtpVNNSkel.so of its "
                          "architecture",
                          "skel_load_failed"));
}

// --- Builds

std::string builds_by_file(const Libraries& libraries) {
  std::map<std::string, std::vector<std::string>> names;
  for (const SharedLibrary* library : libraries)
    if (!library->build.empty()) names[std::string(release_of(library->build))].push_back(library->name);
  std::vector<std::string> parts;
  for (auto& [release, files] : names) {
    constexpr std::size_t kShown = 3;
    const std::size_t more = files.size() > kShown ? files.size() - kShown : 0;
    files.resize(files.size() - more);
    parts.push_back(
        fmt::format("{}{} of {}", joined(files), more > 0 ? fmt::format(" and {} more", more) : "", release));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// Of the loader's path only the first copy of each name is ever loaded.
Libraries first_copies(Libraries libraries) {
  std::set<std::string_view> seen;
  std::erase_if(libraries, [&](const SharedLibrary* library) { return !seen.insert(library->name).second; });
  return libraries;
}

/// Replaces all libraries by those of an SDK, if there is one that has them all; else a sentence.
std::string replace_command(const Environment& environment, const Deployment& deployment, const Libraries& libraries) {
  std::vector<std::string> words = {deployment.place == Place::phone ? "adb push" : "cp"};
  for (const SharedLibrary* library : libraries) {
    const SharedLibrary* source = in_sdk(environment, library->name);
    if (source == nullptr || !is_for_device(*library) || deployment.directories.size() > 1)
      return "copy all of them again from one SDK, and remove the others";
    words.push_back(shell_quoted(source->path));
  }
  words.push_back(shell_quoted(deployment.directories.front().path));
  return fmt::format("{}", fmt::join(words, " "));
}

void check_build(const Environment& environment, const Deployment& deployment, const Libraries& libraries,
                 Checks& checks) {
  const std::vector<std::string> releases = releases_of(libraries);
  if (releases.empty()) return;
  if (releases.size() == 1) {
    checks.push_back(
        report("libraries.one_build", CheckStatus::ok,
               fmt::format("{} ({}): {}", paths_of(deployment), description_of(deployment.place), releases.front())));
    return;
  }
  checks.push_back(report("libraries.one_build", CheckStatus::problem,
                          fmt::format("{} has libraries of {} builds: {}", paths_of(deployment), releases.size(),
                                      builds_by_file(libraries)),
                          replace_command(environment, deployment, libraries), "sdk_mix"));
}

void check_copies(const Deployment& deployment, Checks& checks) {
  if (deployment.place == Place::phone_vendor || deployment.place == Place::sdk_device) return;
  std::map<std::string_view, Libraries> by_name;
  for (const SharedLibrary* library : libraries_of(deployment)) by_name[library->name].push_back(library);
  for (const auto& [name, copies] : by_name) {
    const SharedLibrary& first = *copies.front();
    for (const SharedLibrary* copy : copies) {
      const bool same_file = copy->inode == first.inode && copy->device == first.device && copy->inode != 0;
      if (copy == &first || same_file || copy->machine != first.machine) continue;
      const bool same_build = release_of(copy->build) == release_of(first.build);
      checks.push_back(report("libraries.copies", CheckStatus::warning,
                              fmt::format("{} and {} are copies{}; the first is found first", first.path, copy->path,
                                          same_build ? "" : " of different builds"),
                              "keep one of them", same_build ? "context_refused" : "sdk_mix"));
    }
  }
}

void check_builds(const Environment& environment, const Deployment& deployment, Checks& checks) {
  if (deployment.place == Place::phone_vendor) return;  // firmware is not ours to mend; see phone.firmware
  const bool loader = deployment.place == Place::loader;
  for (const Libraries& part : {host_part(deployment), device_part(deployment)})
    check_build(environment, deployment, loader ? first_copies(part) : part, checks);
  check_copies(deployment, checks);
}

/// "2.30.0" of "2.30.0.250109154455": releases are compared without their time.
std::string version_of(std::string_view release) {
  std::size_t end = 0;
  for (int dots = 0; end < release.size(); ++end)
    if (release[end] == '.' && ++dots == 3) break;
  return std::string(release.substr(0, end));
}

/// The compiler's release against the runtimes of the devices.
void check_runtimes(const Environment& environment, Checks& checks) {
  std::string compiler;
  for (const Deployment& deployment : environment.deployments)
    if (deployment.place == Place::sdk_host && compiler.empty())
      for (const std::string& release : releases_of(libraries_of(deployment))) compiler = version_of(release);
  if (compiler.empty()) return;
  for (const Deployment& deployment : environment.deployments) {
    if (!is_used_as_it_is(deployment)) continue;
    const std::vector<std::string> releases = releases_of(device_part(deployment));
    if (releases.size() != 1) continue;
    const std::string runtime = version_of(releases.front());
    const bool fits = satisfies(runtime, ">=" + compiler);
    checks.push_back(report("libraries.runtime", fits ? CheckStatus::ok : CheckStatus::warning,
                            fmt::format("{} ({}): runtime {}, this SDK compiles for {}", paths_of(deployment),
                                        description_of(deployment.place), runtime, compiler),
                            fits ? "" : "use the libraries of the SDK that compiles, or compile with the older SDK",
                            fits ? "" : "version_mismatch"));
  }
}

// --- What is there at all

void check_empty(const Deployment& deployment, Checks& checks) {
  if (!libraries_of(deployment).empty()) return;
  const bool listed = std::any_of(deployment.directories.begin(), deployment.directories.end(),
                                  [](const LibraryDirectory& directory) { return directory.problem.empty(); });
  if (!listed) return;  // check_directories() says why
  if (deployment.place == Place::named)
    checks.push_back(report("libraries.found", CheckStatus::problem,
                            fmt::format("{} has no QNN library", paths_of(deployment)),
                            "name the directory that holds libQnnHtp.so; for an app set "
                            "android:extractNativeLibs=\"true\", so that its libraries become files",
                            "library_not_found"));
  if (deployment.place == Place::phone)
    checks.push_back(report("libraries.found", CheckStatus::warning,
                            fmt::format("{} on the phone has no QNN library", paths_of(deployment)),
                            "name the directory with --phone-library DIR"));
}

void check_nothing(const Environment& environment, Checks& checks) {
  const bool any = std::any_of(environment.deployments.begin(), environment.deployments.end(),
                               [](const Deployment& deployment) { return !libraries_of(deployment).empty(); });
  const bool said =
      std::any_of(checks.begin(), checks.end(), [](const Check& check) { return check.id == "libraries.found"; });
  if (!any && !said)
    checks.push_back(report("libraries.found", CheckStatus::note,
                            "no QNN library on this machine; dumps can be judged without one",
                            "to look at the folder of a phone or an app: qnn-debug doctor --library DIR --soc SOC"));
}

void check_sdk_architectures(const Environment& environment, const Deployment& deployment, Checks& checks) {
  const Libraries libraries = libraries_of(deployment);
  if (deployment.place != Place::sdk_device || libraries.empty()) return;
  const std::vector<int> archs = archs_of(libraries, /*whole=*/true);
  std::vector<std::string> names;
  for (const int arch : archs) names.push_back(arch_name(arch));
  const int target = target_arch(environment);
  const bool missing = target != 0 && std::find(archs.begin(), archs.end(), target) == archs.end();
  const std::string list = names.empty() ? "none" : joined(names);
  if (missing)
    checks.push_back(report("sdk.architectures", CheckStatus::problem,
                            fmt::format("the SDK has stub and skel for {}, not for {}", list, arch_name(target)),
                            "install an SDK that supports the device", "soc_arch_mismatch"));
  else
    checks.push_back(report("sdk.architectures", names.empty() ? CheckStatus::warning : CheckStatus::ok,
                            fmt::format("the SDK has stub and skel for {}", list),
                            names.empty() ? "unpack the whole SDK; lib/hexagon-vNN is missing" : ""));
}

}  // namespace

void check_libraries(const Environment& environment, Checks& checks) {
  for (const Deployment& deployment : environment.deployments) {
    check_directories(deployment, checks);
    check_empty(deployment, checks);
    check_machines(deployment, environment.host, checks);
    check_mixed_machines(deployment, checks);
    check_complete(environment, deployment, checks);
    check_builds(environment, deployment, checks);
    check_sdk_architectures(environment, deployment, checks);
  }
  check_runtimes(environment, checks);
  check_nothing(environment, checks);
}

}  // namespace qnndbg::lint
