#include "cli/details.h"

#include <algorithm>
#include <filesystem>

#include "report/details_json.h"
#include "report/sha256.h"

namespace qnndbg::cli {
namespace {

/// More broken operators than these are not looked at in depth: the first ones tell.
constexpr std::size_t kMostReplays = 16;

std::vector<int> accused(const Diagnosis& diagnosis) {
  std::vector<int> ops;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.kind != FindingKind::bug || finding.op_index < 0 || ops.size() == kMostReplays) continue;
    if (std::find(ops.begin(), ops.end(), finding.op_index) == ops.end()) ops.push_back(finding.op_index);
  }
  return ops;
}

}  // namespace

Result<std::string> details_document(const Model& model, DiagnoseOptions options, const Diagnosis& diagnosis) {
  DeepReplayOptions deep{.run = std::move(options), .op = {}};
  std::vector<DeepReplay> replays;
  for (const int op : accused(diagnosis)) {
    deep.op = fmt::format("#{}", op);
    Result<DeepReplay> replay = replay_operator(model, deep);
    if (!replay) return fail(std::move(replay.error()));
    replays.push_back(std::move(*replay));
  }
  return details_json(diagnosis.details.value_or(Details{}), replays);
}

DetailsFile name_details(const std::string& file, const std::string& document, std::string_view bytes) {
  namespace fs = std::filesystem;
  fs::path name(file);
  if (!document.empty() && document != "-") {
    std::error_code error;
    const fs::path base = fs::absolute(document, error).parent_path();
    const fs::path relative = fs::absolute(name, error).lexically_relative(base);
    if (!relative.empty()) name = relative;
  }
  return {.file = name.string(), .sha256 = sha256(bytes)};
}

}  // namespace qnndbg::cli
