#include "knowledge/mnn_backend.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace qnndbg {
namespace embedded {
extern const std::string_view mnn_backend_json;
}
namespace {

struct Tables {
  std::map<std::string, std::string, std::less<>> files;
  std::vector<RefusalHint> hints;
};

Tables read_tables() {
  Tables tables;
  const nlohmann::json file = nlohmann::json::parse(embedded::mnn_backend_json, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object()) return tables;  // a test reads the file
  tables.files = file.value("files", std::map<std::string, std::string, std::less<>>());
  using Strings = std::vector<std::string>;
  for (const nlohmann::json& entry : file.value("hints", nlohmann::json::array()))
    tables.hints.push_back({entry.value("operators", Strings()), entry.value("patterns", Strings()),
                            entry.value("why", ""), entry.value("until_then", "")});
  return tables;
}

const Tables& tables() {
  static const Tables read = read_tables();
  return read;
}

}  // namespace

std::string_view mnn_execution_file(std::string_view op_type) {
  const auto found = tables().files.find(op_type);
  return found == tables().files.end() ? std::string_view() : found->second;
}

std::span<const RefusalHint> refusal_hints() { return tables().hints; }

const RefusalHint* find_refusal_hint(std::string_view op_type, std::span<const std::string_view> patterns) {
  for (const RefusalHint& hint : tables().hints) {
    if (std::find(hint.operators.begin(), hint.operators.end(), op_type) == hint.operators.end()) continue;
    if (std::find_first_of(hint.patterns.begin(), hint.patterns.end(), patterns.begin(), patterns.end()) !=
        hint.patterns.end())
      return &hint;
  }
  return nullptr;
}

}  // namespace qnndbg
