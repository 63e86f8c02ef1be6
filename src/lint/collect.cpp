#include "lint/collect.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>

#include "lint/collect_parts.h"
#include "lint/run_program.h"

namespace qnndbg::lint {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostNames = 65536;    // of a directory
constexpr std::size_t kMostLibraries = 512;  // of a directory; an SDK's has some 60
constexpr std::size_t kMostEntries = 256;    // of a search path

bool is_qnn_library(std::string_view name) {
  // libHtpPrepare.so is the x86-64 name of the prepare library.
  return name.ends_with(".so") && (name.starts_with("libQnn") || name == "libHtpPrepare.so");
}

Machine this_machine() {
#if defined(__x86_64__)
  return Machine::x86_64;
#elif defined(__aarch64__)
  return Machine::aarch64;
#else
  return Machine::other;
#endif
}

std::vector<PathEntry> entries_of(std::string_view list, char separator) {
  std::vector<PathEntry> entries;
  for (const std::string& text : split_list(list, separator)) {
    if (entries.size() == kMostEntries) break;
    std::error_code error;
    entries.push_back({.text = text, .exists = !text.empty() && fs::is_directory(text, error)});
  }
  return entries;
}

/// The directories of search paths, each real directory once, in order.
std::vector<LibraryDirectory> list_entries(std::initializer_list<const std::vector<PathEntry>*> lists) {
  std::vector<LibraryDirectory> directories;
  std::set<fs::path> seen;
  for (const std::vector<PathEntry>* list : lists) {
    for (const PathEntry& entry : *list) {
      std::error_code error;
      if (!entry.exists || !seen.insert(fs::canonical(entry.text, error)).second) continue;
      directories.push_back(list_libraries(entry.text));
    }
  }
  return directories;
}

DirectoryState state_of(const fs::path& path) {
  DirectoryState state{.path = path.string()};
  std::error_code error;
  state.exists = fs::exists(path, error);
  state.is_directory = fs::is_directory(path, error);
  state.writable = state.is_directory && ::access(path.c_str(), W_OK | X_OK) == 0;
  fs::path parent = (path.has_filename() ? path : path.parent_path()).parent_path();
  if (parent.empty()) parent = ".";
  state.parent_writable = fs::is_directory(parent, error) && ::access(parent.c_str(), W_OK | X_OK) == 0;
  const fs::space_info space = fs::space(state.is_directory ? path : parent, error);
  if (!error) state.free_bytes = space.available;
  return state;
}

std::optional<std::uint64_t> stack_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

/// $QNN_DEBUG_CASES, else the file of the XDG Base Directory Specification, which says that a relative XDG_DATA_HOME is
/// to be ignored.
fs::path case_path(const Variables& variables) {
  const std::string named = value_of(variables, "QNN_DEBUG_CASES");
  if (!named.empty()) return named;
  const fs::path data = value_of(variables, "XDG_DATA_HOME");
  const fs::path file = fs::path("qnn-debug") / "cases.sqlite";
  if (data.is_absolute()) return data / file;
  const std::string home = value_of(variables, "HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".local/share" / file;
}

CaseFile case_file(const Variables& variables) {
  CaseFile cases{.path = case_path(variables).string()};
  std::error_code error;
  cases.exists = !cases.path.empty() && fs::exists(cases.path, error);
  if (!cases.exists) return cases;
  // https://www.sqlite.org/fileformat.html: the header string; an empty file is an empty database.
  constexpr std::string_view kHeader = "SQLite format 3";
  std::string beginning(kHeader.size(), '\0');
  if (!fs::is_regular_file(cases.path, error)) {
    cases.problem = "is not a regular file";
  } else if (std::ifstream file(cases.path, std::ios::binary); !file) {
    cases.problem = "cannot be read";
  } else if (fs::file_size(cases.path, error) != 0) {
    file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
    if (beginning != kHeader) cases.problem = "is not an SQLite database";
  }
  return cases;
}

void collect_sdks(const Request& request, const Variables& variables, Environment& environment) {
  std::set<std::string> seen;
  const auto add = [&](const std::string& source, const std::string& path) {
    if (path.empty()) return;
    const bool first = seen.insert(path).second;
    std::vector<Deployment> ignored;
    environment.sdks.push_back(collect_sdk(source, path, environment.host, first ? environment.deployments : ignored));
  };
  add("--sdk", request.sdk);
  add("QNN_SDK_ROOT", value_of(variables, "QNN_SDK_ROOT"));
  add("QAIRT_SDK_ROOT", value_of(variables, "QAIRT_SDK_ROOT"));
}

/// Where distributions for Qualcomm's boards install QNN: searched by the loader after LD_LIBRARY_PATH. Only
/// directories that have the library are listed, since these hold thousands of files.
std::vector<PathEntry> system_entries(bool has_dsp) {
  std::vector<std::string> candidates = {"/usr/local/lib", "/usr/lib"};
  if (has_dsp) candidates.insert(candidates.end(), {"/usr/lib/aarch64-linux-gnu", "/usr/lib/rfsa/adsp"});
  std::vector<PathEntry> entries;
  for (const std::string& candidate : candidates) {
    std::error_code error;
    const bool dsp = candidate.ends_with("/adsp");
    if (dsp ? fs::is_directory(candidate, error) : fs::exists(fs::path(candidate) / "libQnnHtp.so", error))
      entries.push_back({.text = candidate, .exists = true});
  }
  return entries;
}

void collect_paths(const Request& request, const Variables& variables, Environment& environment) {
  environment.loader_path = entries_of(value_of(variables, "LD_LIBRARY_PATH"), ':');
  environment.dsp_path = entries_of(value_of(variables, "ADSP_LIBRARY_PATH"), ';');
  if (!request.libraries.empty()) {
    Deployment named{.place = Place::named};
    for (const std::string& path : request.libraries) named.directories.push_back(list_libraries(path));
    environment.deployments.push_back(std::move(named));
  }
  // Only where the program itself can talk to a DSP does this machine's DSP path matter.
  const std::vector<PathEntry> none;
  const bool has_dsp = environment.host == Machine::aarch64;
  const std::vector<PathEntry> system = system_entries(has_dsp);
  environment.deployments.push_back(
      {.place = Place::loader,
       .directories = list_entries({&environment.loader_path, has_dsp ? &environment.dsp_path : &none, &system})});
}

}  // namespace

std::string_view name_of(Place place) {
  switch (place) {
    case Place::named: return "named";
    case Place::loader: return "loader";
    case Place::sdk_host: return "sdk_host";
    case Place::sdk_device: return "sdk_device";
    case Place::python: return "python";
    case Place::phone: return "phone";
    case Place::phone_vendor: return "phone_vendor";
  }
  return "named";
}

std::string value_of(const Variables& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

Result<std::vector<std::string>> list_names(const fs::path& directory, bool& truncated) {
  std::error_code error;
  if (!fs::exists(directory, error)) return fail("{}", error ? error.message() : "does not exist");
  if (!fs::is_directory(directory, error)) return fail("is not a directory");
  std::vector<std::string> names;
  fs::directory_iterator entry(directory, error);
  if (error) return fail("cannot be listed: {}", error.message());
  while (!error && entry != fs::directory_iterator()) {
    truncated = names.size() == kMostNames;
    if (truncated) break;
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

LibraryDirectory list_libraries(const fs::path& directory) {
  LibraryDirectory listing{.path = directory.string()};
  const Result<std::vector<std::string>> names = list_names(directory, listing.truncated);
  if (!names) {
    listing.problem = names.error().message;
    return listing;
  }
  for (const std::string& name : *names) {
    if (!is_qnn_library(name)) continue;
    listing.truncated = listing.truncated || listing.libraries.size() == kMostLibraries;
    if (listing.libraries.size() < kMostLibraries) listing.libraries.push_back(read_shared_library(directory / name));
  }
  return listing;
}

const std::vector<std::string>& variable_names() {
  static const std::vector<std::string> names = {
      "QNN_SDK_ROOT",
      "QAIRT_SDK_ROOT",
      "LD_LIBRARY_PATH",
      "ADSP_LIBRARY_PATH",
      "MNN_QNN_DUMP_DIR",
      "LD_PRELOAD",
      "ANDROID_SERIAL",
      "PATH",
      "QNN_DEBUG_CASES",
      "XDG_DATA_HOME",
      "HOME",
  };
  return names;
}

Environment collect(const Request& request, const Variables& variables) {
  Environment environment;
  environment.version = request.version;
  environment.host = this_machine();
  environment.target = request.target;
  for (const std::string& name : variable_names())
    if (variables.contains(name)) environment.variables.emplace(name, value_of(variables, name));
  collect_paths(request, variables, environment);
  collect_sdks(request, variables, environment);
  environment.installed_sdks = find_sdks();
  environment.mnn = collect_mnn(request, variables);
  environment.python = collect_python(request, variables, environment.deployments);
  environment.phone = collect_phone(request, variables, environment.deployments);
  const std::string dump = value_of(variables, "MNN_QNN_DUMP_DIR");
  if (!dump.empty()) environment.dump_directory = state_of(dump);
  std::error_code error;
  environment.working_directory = state_of(fs::current_path(error));
  environment.stack_limit = stack_limit();
  environment.cases = case_file(variables);
  return environment;
}

}  // namespace qnndbg::lint
