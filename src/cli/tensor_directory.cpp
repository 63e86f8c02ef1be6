#include "cli/tensor_directory.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <system_error>
#include <vector>

#include "cli/output.h"
#include "report/json_object.h"
#include "tensor/npy.h"

namespace qnndbg::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kSchema = "qnn-debug/tensors/1";
constexpr const char* kIndex = "index.json";

/// "t" digits ".npy"
bool is_tensor_file(const std::string& name) {
  constexpr std::string_view kEnd = ".npy";
  if (!name.starts_with('t') || !name.ends_with(kEnd) || name.size() <= 1 + kEnd.size()) return false;
  return std::all_of(name.begin() + 1, name.end() - kEnd.size(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_our_index(const fs::path& path) {
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains("schema") && json["schema"] == kSchema;
}

struct Content {
  std::vector<fs::path> tensors;
  std::string foreign;  // name of one file that is not ours; empty: there is none
  bool has_index = false;
};

Result<Content> content_of(const fs::path& directory) {
  Content content;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool regular = it->is_regular_file(error) && !error;
    if (regular && name == kIndex && is_our_index(it->path()))
      content.has_index = true;
    else if (regular && is_tensor_file(name))
      content.tensors.push_back(it->path());
    else
      content.foreign = name;
  }
  if (error) return fail("{}: cannot be read: {}", directory.string(), error.message());
  // A t1.npy without our index beside it may be anybody's.
  if (!content.has_index && !content.tensors.empty()) content.foreign = content.tensors.front().filename().string();
  return content;
}

Result<void> clear(const fs::path& path, bool force) {
  const Result<Content> content = content_of(path);
  if (!content) return fail(content.error());
  if (!content->foreign.empty() && !force)
    return fail(
        "{}: holds `{}`, which is not of an earlier baseline; name another directory, or use --force to write beside "
        "it",
        path.string(), content->foreign);
  if (!content->has_index) return {};
  for (const fs::path& file : content->tensors) {
    std::error_code error;
    fs::remove(file, error);
    if (error) return fail("{}: cannot be replaced: {}", file.string(), error.message());
  }
  return {};
}

Result<void> write_index(const fs::path& directory, const std::string& model, bool complete, const Json& rows) {
  const Json index = {{"schema", kSchema}, {"model", model}, {"complete", complete}, {"tensors", rows}};
  return write_file(directory / kIndex, dump_json(index));
}

}  // namespace

Result<TensorDirectory> TensorDirectory::create(const fs::path& path, const std::string& model, bool force) {
  std::error_code error;
  if (fs::exists(path, error)) {
    if (Result<void> cleared = clear(path, force); !cleared) return fail(std::move(cleared.error()));
  } else {
    fs::create_directory(path, error);
    if (error) return fail("{}: cannot be created: {}", path.string(), error.message());
  }
  // From here on the directory is ours, also if the run ends half-way.
  if (Result<void> written = write_index(path, model, /*complete=*/false, Json::array()); !written)
    return fail(std::move(written.error()));
  return TensorDirectory(path, model);
}

Result<void> TensorDirectory::add(const BaselineTensor& tensor, const std::string& op) {
  const std::string name = tensor_id(tensor.tensor);
  const std::string file = name + ".npy";
  if (Result<void> written = write_npy(path_ / file, *tensor.value); !written) return written;
  bytes_ += static_cast<std::uint64_t>(tensor.value->size()) * size_of(tensor.value->type());
  rows_.push_back({{"name", name},
                   {"op", op},
                   {"op_index", tensor.op_index},
                   {"output", tensor.output},
                   {"dims", tensor.value->dims()},
                   {"layout", "logical"},
                   {"dtype", name_of(tensor.value->type())},
                   {"file", file}});
  return {};
}

Result<void> TensorDirectory::finish() { return write_index(path_, model_, /*complete=*/true, rows_); }

}  // namespace qnndbg::cli
