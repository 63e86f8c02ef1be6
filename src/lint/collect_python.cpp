#include <set>
#include <system_error>

#include "lint/collect_parts.h"
#include "lint/run_program.h"

namespace qnndbg::lint {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kLimit{10};

/// sys is built in: nothing is imported, so no file of the working directory can be run in its place.
constexpr const char* kPrintPath = "import sys; print('\\n'.join(sys.path))";

const std::vector<std::string>& package_names() {
  static const std::vector<std::string> names = {"mnn", "numpy", "onnx", "onnxruntime", "onnxruntime-qnn"};
  return names;
}

/// Where wheels with QNN in them put its libraries, below site-packages.
constexpr std::string_view kLibraryDirectories[] = {"onnxruntime_qnn", "onnxruntime/capi"};

void add_libraries(const fs::path& site, std::vector<Deployment>& deployments) {
  for (const std::string_view place : kLibraryDirectories) {
    std::error_code error;
    if (!fs::is_directory(site / place, error)) continue;
    LibraryDirectory listing = list_libraries(site / place);
    if (!listing.libraries.empty())
      deployments.push_back({.place = Place::python, .directories = {std::move(listing)}});
  }
}

}  // namespace

Python collect_python(const Request& request, const Variables& variables, std::vector<Deployment>& deployments) {
  Python python{.path = find_program(value_of(variables, "PATH"), "python3"), .problem = {}, .packages = {}};
  if (python.path.empty()) return python;
  const Result<ProgramOutput> output = run_program(python.path, {"-c", kPrintPath}, kLimit, request.stop);
  if (!output || output->status != 0) {
    python.problem =
        output ? fmt::format("{} ended with status {}", python.path, output->status) : output.error().message;
    return python;
  }
  std::set<fs::path> seen;
  for (const std::string& line : split_list(output->text, '\n')) {
    if (!line.starts_with('/')) continue;
    std::error_code error;
    const fs::path real = fs::canonical(line, error);
    if (error || !fs::is_directory(real, error) || !seen.insert(real).second) continue;
    for (PythonPackage& package : read_python_packages(line, package_names()))
      python.packages.push_back(std::move(package));
    add_libraries(line, deployments);
  }
  return python;
}

}  // namespace qnndbg::lint
