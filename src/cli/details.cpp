#include "cli/details.h"

#include <algorithm>
#include <filesystem>

#include "cli/text_input.h"
#include "report/details_json.h"
#include "report/read_details.h"
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

std::string details_are_missing() {
  return "Histograms, error maps and parameters are not here: run qnn-debug diagnose again with --report FILE.html, or "
         "with --details FILE.qdd, and render its document.";
}

/// The details that a diagnosis names, if they lie in its directory and are the same still.
Result<std::string> named_details(const DetailsFile& named, const std::string& document) {
  namespace fs = std::filesystem;
  const fs::path file = fs::path(named.file).lexically_normal();
  if (file.empty() || file.is_absolute() || *file.begin() == "..")
    return fail("the diagnosis names {}, outside its own directory: give it with --details", named.file);
  const fs::path directory = document == "-" ? fs::path() : fs::path(document).parent_path();
  Result<std::string> text = read_text((directory / file).string(), kLargestDetails);
  if (!text) return text;
  if (sha256(*text) != named.sha256) return fail("{} was changed after the diagnosis was made", named.file);
  if (auto checked = check_details(*text); !checked) return fail("{}: {}", named.file, checked.error().message);
  return text;
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

Result<FoundDetails> find_details(const Diagnosis& diagnosis, const std::string& document, const std::string& given) {
  FoundDetails found;
  if (!given.empty()) {
    Result<std::string> text = read_text(given, kLargestDetails);
    if (!text) return fail(std::move(text.error()));
    if (auto checked = check_details(*text); !checked)
      return fail("{}: {}", input_name(given), checked.error().message);
    if (diagnosis.details_file && diagnosis.details_file->sha256 != sha256(*text))
      return fail("{} holds other details than the diagnosis was made with: its SHA-256 is not the one that {} names",
                  input_name(given), input_name(document));
    found.text = std::move(*text);
    return found;
  }
  if (!diagnosis.details_file) {
    if (!diagnosis.run.dump.empty()) found.missing.push_back(details_are_missing());
    return found;
  }
  Result<std::string> text = named_details(*diagnosis.details_file, document);
  if (text)
    found.text = std::move(*text);
  else
    found.missing.push_back(
        fmt::format("Histograms, error maps and parameters are not here: {}.", text.error().message));
  return found;
}

}  // namespace qnndbg::cli
