#include <set>
#include <system_error>

#include "lint/collect_parts.h"
#include "lint/run_program.h"

namespace qnndbg::lint {
namespace fs = std::filesystem;
namespace {

/// MNN's programs for the way to QNN, as its build names them.
constexpr std::string_view kTools[] = {"MNNConvert",   "MNN2QNNModel", "compilefornpu",
                                       "MNNDump2Json", "GetMNNInfo",   "ModuleBasic.out"};

/// Words of messages that only one part of MNN prints; they survive stripping.
constexpr std::string_view kQnnText = "MNN_QNN: ";
constexpr std::string_view kConvertText = "QNNConvertor";
constexpr std::string_view kNnapiText = "ANeuralNetworksModel_create";

MnnFile read_mnn(const fs::path& path) {
  MnnFile file{.path = path.string(), .name = path.filename().string()};
  const SharedLibrary header = read_shared_library(path);
  file.machine = header.machine;
  file.problem = header.problem;
  const std::string_view texts[] = {kQnnText, kConvertText, kNnapiText};
  const Result<std::vector<bool>> found = find_texts(path, texts);
  if (!found) return file;
  file.qnn = (*found)[0];
  file.convert = (*found)[1];
  file.nnapi = (*found)[2];
  return file;
}

bool is_mnn_library(std::string_view name) { return name.starts_with("libMNN") && name.ends_with(".so"); }

bool is_tool(std::string_view name) {
  return std::find(std::begin(kTools), std::end(kTools), name) != std::end(kTools);
}

/// Adds the MNN files of a directory, each real file once.
class Collector {
 public:
  void add_directory(const fs::path& directory, bool named) {
    bool truncated = false;
    const Result<std::vector<std::string>> names = list_names(directory, truncated);
    if (!names) {
      if (named) mnn_.bad_directories.push_back({.path = directory.string(), .problem = names.error().message});
      return;
    }
    for (const std::string& name : *names)
      if (is_mnn_library(name) || (named && is_tool(name))) add(directory / name);
  }

  void add(const fs::path& path) {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (error || !fs::is_regular_file(real, error) || !seen_.insert(real).second) return;
    (is_mnn_library(path.filename().string()) ? mnn_.libraries : mnn_.tools).push_back(read_mnn(path));
  }

  Mnn take() { return std::move(mnn_); }

 private:
  Mnn mnn_;
  std::set<fs::path> seen_;
};

}  // namespace

Mnn collect_mnn(const Request& request, const Variables& variables) {
  Collector collector;
  for (const std::string& directory : request.mnn) collector.add_directory(directory, /*named=*/true);
  for (const std::string& directory : request.libraries) collector.add_directory(directory, /*named=*/false);
  for (const std::string& directory : split_list(value_of(variables, "LD_LIBRARY_PATH"), ':'))
    if (!directory.empty()) collector.add_directory(directory, /*named=*/false);
  for (const std::string_view tool : kTools)
    if (const std::string path = find_program(value_of(variables, "PATH"), tool); !path.empty()) collector.add(path);
  return collector.take();
}

}  // namespace qnndbg::lint
