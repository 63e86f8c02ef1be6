// From the name of a dumped tensor back to the model. The rules stand in docs/dump-format.md; the order matters because
// an operator may itself be called "t5" or "QnnTensor_1".
#include <algorithm>
#include <charconv>

#include "dump/dump.h"

namespace qnndbg {

namespace {

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "t20", "t20_cast", "t20_dequant" with an index below `tensor_count`.
std::optional<DumpRole> tensor_role(std::string_view name, std::size_t tensor_count) {
  if (!name.starts_with('t')) return std::nullopt;
  const std::size_t underscore = name.find('_');
  const std::string_view digits = name.substr(1, underscore == std::string_view::npos ? underscore : underscore - 1);
  if (!all_digits(digits) || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;

  DumpRole role;
  const std::string_view suffix = underscore == std::string_view::npos ? "" : name.substr(underscore);
  if (suffix.empty()) {
    role.kind = DumpRole::Kind::tensor;
  } else if (suffix == "_cast") {
    role.kind = DumpRole::Kind::cast;
  } else if (suffix == "_dequant") {
    role.kind = DumpRole::Kind::dequant;
  } else {
    return std::nullopt;
  }
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), role.tensor);
  if (parsed.ec != std::errc() || static_cast<std::size_t>(role.tensor) >= tensor_count) return std::nullopt;
  return role;
}

}  // namespace

DumpNames::DumpNames(const Graph& graph) : tensor_count_(graph.tensors.size()) {
  for (const OpNode& op : graph.ops) {
    // Unnamed operators get a name with counters of the backend, which cannot be told from the model.
    if (!op.name.empty()) node_to_op_.try_emplace(qnn_node_name(op.name), op.index);
  }
}

DumpRole DumpNames::role(std::string_view name) const {
  if (auto tensor = tensor_role(name, tensor_count_)) return *tensor;

  DumpRole role;
  std::string prefix(name);
  while (true) {
    if (const auto node = node_to_op_.find(prefix); node != node_to_op_.end()) {
      role.kind = DumpRole::Kind::stage;
      role.op = node->second;
      role.stage = name.substr(std::min(name.size(), prefix.size() + 1));
      return role;
    }
    const std::size_t underscore = prefix.rfind('_');
    if (underscore == std::string::npos) break;
    prefix.resize(underscore);
  }

  constexpr std::string_view kInserted = "QnnTensor_";
  if (name.starts_with(kInserted) && all_digits(name.substr(kInserted.size()))) {
    role.kind = DumpRole::Kind::quant_stage;
  } else if (name.starts_with("_mnn_")) {
    role.kind = DumpRole::Kind::attention;
  }
  return role;
}

}  // namespace qnndbg
