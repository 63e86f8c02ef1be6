#include <algorithm>

#include "lint/check_parts.h"
#include "lint/run_program.h"

namespace qnndbg::lint {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

std::string joined(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, ", ")); }

/// The copy of libQnnHtp.so that a process of this machine gets through LD_LIBRARY_PATH; nullptr: none.
const SharedLibrary* winner(const Environment& environment) {
  for (const Deployment& deployment : environment.deployments) {
    if (deployment.place != Place::loader) continue;
    for (const SharedLibrary* library : libraries_of(deployment))
      if (library->name == "libQnnHtp.so" && library->machine == environment.host) return library;
  }
  return nullptr;
}

void check_loader_path(const Environment& environment, Checks& checks) {
  constexpr std::string_view kId = "variables.loader_path";
  if (environment.loader_path.empty()) {
    checks.push_back(
        report(kId, CheckStatus::note, "LD_LIBRARY_PATH is not set: only the system's directories are searched"));
    return;
  }
  std::vector<std::string> missing;
  std::vector<std::string> kept;
  for (const PathEntry& entry : environment.loader_path)
    (entry.exists ? kept : missing).push_back(entry.text.empty() ? "(empty)" : entry.text);
  if (!missing.empty())
    checks.push_back(
        report(kId, CheckStatus::warning,
               fmt::format("LD_LIBRARY_PATH names what is not a directory: {}; an empty entry means "
                           "the working directory",
                           joined(missing)),
               fmt::format("export LD_LIBRARY_PATH={}", shell_quoted(fmt::format("{}", fmt::join(kept, ":"))))));
  const SharedLibrary* library = winner(environment);
  checks.push_back(report(kId, library == nullptr ? CheckStatus::note : CheckStatus::ok,
                          library == nullptr
                              ? fmt::format("LD_LIBRARY_PATH has {} directories, none with a libQnnHtp.so for this "
                                            "machine",
                                            kept.size())
                              : fmt::format("{} is the libQnnHtp.so that a program gets ({})", library->path,
                                            library->build.empty() ? "no build id" : library->build)));
}

void check_dsp_path(const Environment& environment, Checks& checks) {
  constexpr std::string_view kId = "variables.dsp_path";
  const std::string* value = variable(environment, "ADSP_LIBRARY_PATH");
  if (value == nullptr || value->empty()) {
    checks.push_back(report(kId, CheckStatus::note,
                            "ADSP_LIBRARY_PATH is not set here; the program on the phone needs it to find the skel"));
    return;
  }
  if (value->find(':') != std::string::npos) {
    std::string right = *value;
    std::replace(right.begin(), right.end(), ':', ';');
    checks.push_back(
        report(kId, CheckStatus::problem,
               fmt::format("ADSP_LIBRARY_PATH={} has \":\", which is part of one directory's name here", *value),
               fmt::format("export ADSP_LIBRARY_PATH={}", shell_quoted(right)), "skel_load_failed"));
    return;
  }
  std::vector<std::string> missing;
  for (const PathEntry& entry : environment.dsp_path)
    if (!entry.exists && !entry.text.empty()) missing.push_back(entry.text);
  // Elsewhere the value can only be meant for a phone, whose directories are not here.
  const bool has_dsp = environment.host == Machine::aarch64;
  if (has_dsp && !missing.empty())
    checks.push_back(report(kId, CheckStatus::warning,
                            fmt::format("ADSP_LIBRARY_PATH names what is not a directory: {}", joined(missing)),
                            "name the directory of libQnnHtpV*Skel.so first", "skel_load_failed"));
  else
    checks.push_back(report(kId, CheckStatus::ok,
                            fmt::format("ADSP_LIBRARY_PATH={}{}", *value, has_dsp ? "" : " (read on the phone only)")));
}

/// A note that names a fix where the directory can be made.
Check dump_check(const DirectoryState& state) {
  Check check = report("variables.dump_directory", CheckStatus::ok, {});
  if (state.writable) {
    check.found = fmt::format("MNN_QNN_DUMP_DIR={} can be written", state.path);
    return check;
  }
  check.status = CheckStatus::problem;
  if (state.is_directory) {
    check.found = fmt::format("MNN_QNN_DUMP_DIR={} cannot be written", state.path);
    check.fix = fmt::format("chmod u+rwx {}", shell_quoted(state.path));
  } else if (state.exists) {
    check.found = fmt::format("MNN_QNN_DUMP_DIR={} is not a directory", state.path);
    check.fix = "export MNN_QNN_DUMP_DIR with the name of a directory";
  } else if (state.parent_writable) {
    check.status = CheckStatus::ok;
    check.found = fmt::format("MNN_QNN_DUMP_DIR={} will be created with the first dump", state.path);
  } else {
    check.found = fmt::format("MNN_QNN_DUMP_DIR={} cannot be created: MNN makes one level only", state.path);
    check.fix = fmt::format("mkdir -p {}", shell_quoted(state.path));
  }
  return check;
}

void check_dump_directory(const Environment& environment, Checks& checks) {
  if (environment.dump_directory) {
    checks.push_back(dump_check(*environment.dump_directory));
  } else {
    checks.push_back(report("variables.dump_directory", CheckStatus::note,
                            "MNN_QNN_DUMP_DIR is not set: a dump goes to ./qnn_intermediate_outputs"));
  }
}

void check_preload(const Environment& environment, Checks& checks) {
  const std::string* value = variable(environment, "LD_PRELOAD");
  if (value == nullptr || value->empty()) return;
  const bool qnn = value->find("Qnn") != std::string::npos;
  checks.push_back(report("variables.preload", qnn ? CheckStatus::warning : CheckStatus::note,
                          fmt::format("LD_PRELOAD={}", *value), qnn ? "unset LD_PRELOAD" : "", qnn ? "sdk_mix" : ""));
}

Check stack_check(const std::optional<std::uint64_t>& limit) {
  constexpr std::uint64_t kSmall = std::uint64_t{16} << 20U;  // Linux's default of 8 MiB is known to be too little
  if (!limit) return report("machine.stack", CheckStatus::ok, "the stack is unlimited");
  const std::string found = fmt::format("the stack is limited to {} KiB", *limit / 1024);
  if (*limit >= kSmall) return report("machine.stack", CheckStatus::ok, found);
  return report("machine.stack", CheckStatus::note,
                found + ", too little for compiling the last graph of a large language model", "ulimit -s unlimited");
}

Check disk_check(const Environment& environment) {
  const DirectoryState& target =
      environment.dump_directory ? *environment.dump_directory : environment.working_directory;
  if (!target.free_bytes)
    return report("machine.disk", CheckStatus::not_checked,
                  fmt::format("the free space of {} is not known", target.path));
  const bool low = *target.free_bytes < kGiB;
  // The figure itself only where it matters: it differs from run to run.
  const std::string found =
      low ? fmt::format("only {} MiB are free where dumps go ({})", *target.free_bytes >> 20U, target.path)
          : fmt::format("more than 1 GiB is free where dumps go ({})", target.path);
  return report("machine.disk", low ? CheckStatus::warning : CheckStatus::ok, found,
                low ? "free some space, or export MNN_QNN_DUMP_DIR with a directory on another file system" : "");
}

}  // namespace

void check_variables(const Environment& environment, Checks& checks) {
  check_loader_path(environment, checks);
  check_dsp_path(environment, checks);
  check_dump_directory(environment, checks);
  check_preload(environment, checks);
}

void check_machine(const Environment& environment, Checks& checks) {
  const bool x86 = environment.host == Machine::x86_64;
  checks.push_back(report("machine.host", x86 ? CheckStatus::ok : CheckStatus::note,
                          fmt::format("this is {} Linux{}", name_of(environment.host),
                                      x86 ? "" : ": models cannot be compiled for QNN here")));
  checks.push_back(stack_check(environment.stack_limit));
  checks.push_back(disk_check(environment));
}

}  // namespace qnndbg::lint
