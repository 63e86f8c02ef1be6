#include "qnn/package.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "lint/shared_library.h"

namespace qnndbg::embedded {
extern const std::string_view htp_package_json;
extern const std::string_view unpack_wheel_py;
}  // namespace qnndbg::embedded

namespace qnndbg::qnn {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::minutes kDownloadLimit{30};
constexpr std::chrono::minutes kUnpackLimit{10};

/// A directory that disappears with what is in it, unless it was renamed away.
class Workshop {
 public:
  static Result<Workshop> create(const fs::path& parent) {
    std::error_code error;
    fs::create_directories(parent, error);
    std::string name = (parent / ".install-XXXXXX").string();
    if (!error && ::mkdtemp(name.data()) == nullptr) error = std::error_code(errno, std::generic_category());
    if (error)
      return fail("{} cannot be written: {}; XDG_CACHE_HOME names another cache", parent.string(), error.message());
    return Workshop(name);
  }
  Workshop(Workshop&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Workshop& operator=(Workshop&&) = delete;
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  ~Workshop() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }

 private:
  explicit Workshop(fs::path path) : path_(std::move(path)) {}

  fs::path path_;
};

fs::path name_in_cache(const std::string& file) { return fs::path(file).filename(); }

/// The line in which a program says what went wrong: the last one that pip marks, or the last one.
std::string complaint(const std::string& output) {
  std::string last;
  std::string marked;
  for (const std::string& line : lint::split_list(output, '\n')) {
    if (line.empty()) continue;
    last = line;
    if (line.starts_with("ERROR: ")) marked = line.substr(std::string_view("ERROR: ").size());
  }
  return marked.empty() ? last : marked;
}

Result<std::string> find_python(const InstallRequest& request) {
  std::string python = lint::find_program(request.search_path, "python3");
  if (python.empty()) return fail("python3 is not in PATH; it is needed to download and to unpack the package");
  return python;
}

Result<void> write_requirements(const Package& package, const fs::path& path) {
  std::ofstream file(path);
  file << fmt::format("{}=={} --hash=sha256:{}\n", package.name, package.version, package.sha256);
  if (!file.flush()) return fail("{} cannot be written", path.string());
  return {};
}

/// The wheel as pip downloads it, its hash checked.
Result<fs::path> download(const Package& package, const InstallRequest& request, const std::string& python,
                          const fs::path& directory) {
  const fs::path requirements = directory / "requirements.txt";
  if (const Result<void> written = write_requirements(package, requirements); !written) return fail(written.error());
  std::vector<std::string> arguments = {"-I",
                                        "-m",
                                        "pip",
                                        "download",
                                        "--no-deps",
                                        "--require-hashes",
                                        "--only-binary=:all:",
                                        "--no-cache-dir",
                                        "--disable-pip-version-check",
                                        "--no-input",
                                        "--quiet",
                                        "--retries=1",
                                        "--timeout=20",
                                        "--dest",
                                        directory.string(),
                                        "--requirement",
                                        requirements.string()};
  arguments.insert(arguments.end(), package.pip_target.begin(), package.pip_target.end());
  const Result<lint::ProgramOutput> run = lint::run_program(python, arguments, kDownloadLimit, request.stop);
  if (!run) return fail(run.error());
  fs::path wheel = directory / package.wheel;
  std::error_code error;
  if (run->status == 0 && fs::exists(wheel, error)) return wheel;
  if (run->text.find("No module named pip") != std::string::npos)
    return fail("{} has no pip (Debian: python3-pip); a wheel from elsewhere goes in with --from", python);
  if (run->text.find("connection broken") != std::string::npos)
    return fail(
        "the package index cannot be reached: no network, or a proxy or mirror that pip is not told of; {} from "
        "elsewhere goes in with --from",
        package.wheel);
  return fail("pip could not download {} {}: {}; {} from elsewhere goes in with --from", package.name, package.version,
              complaint(run->text), package.wheel);
}

Result<void> unpack(const Package& package, const InstallRequest& request, const std::string& python,
                    const fs::path& wheel, const fs::path& directory) {
  std::vector<std::string> arguments = {"-I",           "-c",           std::string(embedded::unpack_wheel_py),
                                        wheel.string(), package.sha256, directory.string()};
  arguments.insert(arguments.end(), package.files.begin(), package.files.end());
  const Result<lint::ProgramOutput> run = lint::run_program(python, arguments, kUnpackLimit, request.stop);
  if (!run) return fail(run.error());
  if (run->status != 0) return fail("{}", complaint(run->text));
  return {};
}

/// A directory that holds what is in the wheel: an unpacked one, or site-packages.
Result<void> copy_files(const Package& package, const fs::path& from, const fs::path& directory) {
  for (const std::string& file : package.files) {
    std::error_code error;
    if (!fs::copy_file(from / file, directory / name_in_cache(file), error))
      return fail("{} cannot be copied: {}", (from / file).string(), error.message());
  }
  const lint::SharedLibrary library = lint::read_shared_library(directory / "libQnnHtp.so");
  if (!library.problem.empty()) return fail("{}: libQnnHtp.so {}", from.string(), library.problem);
  if (library.build != package.build)
    return fail("{} holds QNN {}, but {} {} carries {}; --library names other libraries where they are", from.string(),
                library.build.empty() ? "of an unknown build" : library.build, package.name, package.version,
                package.build);
  return {};
}

Result<void> gather(const Package& package, const InstallRequest& request, const fs::path& workshop,
                    const fs::path& directory) {
  std::error_code error;
  fs::create_directory(directory, error);
  if (fs::is_directory(request.from, error)) return copy_files(package, request.from, directory);
  const Result<std::string> python = find_python(request);
  if (!python) return fail(python.error());
  if (!request.from.empty()) {
    if (!fs::is_regular_file(request.from, error)) return fail("--from: {} is not there", request.from);
    return unpack(package, request, *python, fs::absolute(request.from, error), directory);
  }
  const Result<fs::path> wheel = download(package, request, *python, workshop);
  if (!wheel) return fail(wheel.error());
  return unpack(package, request, *python, *wheel, directory);
}

Package parse_package() {
  // Our own file, checked by the tests: no user can make it wrong.
  const nlohmann::json json = nlohmann::json::parse(embedded::htp_package_json);
  return {.name = json.at("package"),
          .version = json.at("version"),
          .sdk = json.at("sdk"),
          .build = json.at("build"),
          .wheel = json.at("wheel"),
          .sha256 = json.at("sha256"),
          .bytes = json.at("bytes"),
          .pip_target = json.at("pip_target").get<std::vector<std::string>>(),
          .licence = json.at("licence"),
          .files = json.at("files").get<std::vector<std::string>>()};
}

}  // namespace

const Package& pinned_package() {
  static const Package package = parse_package();
  return package;
}

Installation installation_of(const Package& package, const fs::path& cache) {
  const fs::path directory = cache / package.version;
  const bool complete = std::all_of(package.files.begin(), package.files.end(), [&](const std::string& file) {
    std::error_code error;
    return fs::is_regular_file(directory / name_in_cache(file), error);
  });
  return {.directory = directory, .was_there = complete};
}

Result<Installation> install(const Package& package, const InstallRequest& request) {
  Installation installation = installation_of(package, request.cache);
  if (installation.was_there) return installation;
  const Result<Workshop> workshop = Workshop::create(request.cache);
  if (!workshop) return fail(workshop.error());
  const fs::path gathered = workshop->path() / "files";
  if (const Result<void> done = gather(package, request, workshop->path(), gathered); !done) return fail(done.error());
  std::error_code error;
  fs::remove_all(installation.directory, error);  // an incomplete one, which somebody took files out of
  fs::rename(gathered, installation.directory, error);
  // Another installation may have been faster.
  if (error && !installation_of(package, request.cache).was_there)
    return fail("{} cannot be made: {}", installation.directory.string(), error.message());
  return installation;
}

}  // namespace qnndbg::qnn
