#include "dump/run_file.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "knowledge/soc.h"

namespace qnndbg {
namespace fs = std::filesystem;
namespace {

/// emulate writes profile events into it, a few hundred bytes for each node.
constexpr std::uintmax_t kLargestRunFile = 64 << 20;

/// A string, or a number that stands for one ("soc": 57).
Result<std::string> text_of(const nlohmann::json& object, const char* key, const std::string& name) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::string();
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number_integer()) return std::to_string(found->get<std::int64_t>());
  return fail("{}: field \"{}\" is neither text nor a number", name, key);
}

}  // namespace

Result<RunFile> parse_run_file(std::string_view text, const std::string& name) {
  const nlohmann::json file = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object()) return fail("{}: not a JSON object", name);
  RunFile run;
  for (const auto& [key, field] : {std::pair("soc", &run.soc), {"arch", &run.arch}, {"mnn", &run.mnn}}) {
    Result<std::string> value = text_of(file, key, name);
    if (!value) return fail(std::move(value.error()));
    *field = std::move(*value);
  }
  // "library" is the build id, or an object that has it.
  const auto library = file.find("library");
  Result<std::string> build = library != file.end() && library->is_object() ? text_of(*library, "build_id", name)
                                                                            : text_of(file, "library", name);
  if (!build) return fail(std::move(build.error()));
  run.library = std::move(*build);
  if (run.arch == "unknown") run.arch.clear();
  if (!run.arch.empty() && !parse_arch(run.arch)) return fail("{}: arch \"{}\" is no HTP architecture", name, run.arch);
  if (!run.arch.empty()) run.arch = arch_name(*parse_arch(run.arch));
  return run;
}

Result<std::optional<RunFile>> read_run_file(const fs::path& directory) {
  const fs::path path = directory / kRunFileName;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  if (fs::file_size(path, error) > kLargestRunFile) return fail("{}: larger than a run file can be", path.string());
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.good() && !file.eof()) return fail("{}: cannot be read", path.string());
  Result<RunFile> run = parse_run_file(text, path.string());
  if (!run) return fail(std::move(run.error()));
  return std::optional(std::move(*run));
}

}  // namespace qnndbg
