#include "ops/registry.h"

#include <algorithm>
#include <map>

namespace qnndbg {
namespace {

// A function-local static, so that registrations at start-up find it built whatever the order of the files.
std::map<std::string, OpFactory, std::less<>>& factories() {
  static std::map<std::string, OpFactory, std::less<>> map;
  return map;
}

}  // namespace

RegisterOp::RegisterOp(std::string_view type_name, OpFactory factory) {
  factories().emplace(std::string(type_name), factory);
}

Result<std::unique_ptr<Op>> make_op(const Model& model, const OpNode& node) {
  auto found = factories().find(node.type_name);
  if (found == factories().end()) return fail("operator type {} is not implemented", node.type_name);
  return found->second(model, node);
}

std::vector<std::string> registered_op_types() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : factories()) names.push_back(name);
  return names;
}

}  // namespace qnndbg
