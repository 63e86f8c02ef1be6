// QNN mappings in one line per tensor and node, so that a test can say what it expects; and checks that hold for all.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ops/oracle.h"
#include "ops/qnn_mapping.h"

namespace qnndbg::test {

inline std::string text_of(const QnnParamValue& value) {
  if (const auto* v = std::get_if<std::uint32_t>(&value)) return fmt::format("{}", *v);
  if (const auto* v = std::get_if<std::int32_t>(&value)) return fmt::format("i{}", *v);
  if (const auto* v = std::get_if<float>(&value)) return fmt::format("f{:g}", *v);
  if (const auto* v = std::get_if<bool>(&value)) return *v ? "true" : "false";
  const auto& tensor = std::get<QnnTensorParam>(value);
  std::string text = tensor.type == DType::i32 ? "i[" : "[";
  for (std::size_t k = 0; k < tensor.values.size(); ++k) text += (k == 0 ? "" : " ") + std::to_string(tensor.values[k]);
  text += tensor.post.empty() ? "]" : "]/" + tensor.post;
  return tensor.dims.size() == 1 ? text : text + "@" + to_string(tensor.dims);
}

inline std::string text_of(const QnnType& type) {
  std::string text(name_of(type.type));
  switch (type.encoding.kind) {
    case QnnEncoding::Kind::none: return text;
    case QnnEncoding::Kind::per_tensor:
      return text + fmt::format("({:g},{})", type.encoding.values.at(0).scale, type.encoding.values.at(0).offset);
    case QnnEncoding::Kind::per_axis: return text + fmt::format("(axis {})", type.encoding.axis);
    case QnnEncoding::Kind::per_axis_4bit: return text + fmt::format("(4 bit, axis {})", type.encoding.axis);
    case QnnEncoding::Kind::blockwise:
      return text + fmt::format("({} blocks, axis {})", type.encoding.blocks, type.encoding.axis);
  }
  return text;
}

/// "x1" operand 1, "y" output 0, "*name" a stage, "%name" a constant.
inline std::string text_of(const QnnMapping& mapping, QnnTensorRef ref) {
  switch (ref.from) {
    case QnnTensorRef::From::input: return fmt::format("x{}", ref.index);
    case QnnTensorRef::From::output: return ref.index == 0 ? "y" : fmt::format("y{}", ref.index);
    case QnnTensorRef::From::stage: return "*" + mapping.stages.at(u(ref.index)).name;
    case QnnTensorRef::From::constant: break;
  }
  return "%" + mapping.constants.at(u(ref.index)).name;
}

inline std::string text_of(const QnnMapping& mapping) {
  std::string text;
  for (const QnnStageTensor& stage : mapping.stages)
    text += fmt::format("*{} {} {}\n", stage.name, text_of(stage.type), to_string(stage.dims));
  for (const QnnConstant& constant : mapping.constants)
    text += fmt::format("%{} {} {}\n", constant.name, text_of(constant.type), to_string(constant.dims));
  for (const QnnNode& node : mapping.nodes) {
    text += node.type + (node.suffix.empty() ? "" : " " + node.suffix) + ":";
    for (QnnTensorRef ref : node.inputs) text += " " + text_of(mapping, ref);
    text += " ->";
    for (QnnTensorRef ref : node.outputs) text += " " + text_of(mapping, ref);
    for (const QnnParam& param : node.params) text += " " + param.name + "=" + text_of(param.value);
    text += "\n";
  }
  return text;
}

/// Reference definitions of QNN's operations, where they lie beside the project; null otherwise.
inline const nlohmann::json* qnn_definitions() {
  static const nlohmann::json found = [] {
    nlohmann::json by_name;
    std::ifstream file(std::filesystem::path(QNNDBG_SOURCE_DIR) / "../shared/facts/qnn_ops.json");
    if (!file) return by_name;
    const nlohmann::json all = nlohmann::json::parse(file);
    for (const nlohmann::json& op : all.at("ops")) by_name[op.at("name").get<std::string>()] = op;
    return by_name;
  }();
  return found.is_null() ? nullptr : &found;
}

inline std::string qnn_type_name(const QnnParamValue& value) {
  if (std::holds_alternative<std::uint32_t>(value)) return "UINT_32";
  if (std::holds_alternative<std::int32_t>(value)) return "INT_32";
  if (std::holds_alternative<float>(value)) return "FLOAT_32";
  if (std::holds_alternative<bool>(value)) return "BOOL_8";
  return std::get<QnnTensorParam>(value).type == DType::i32 ? "INT_32" : "UINT_32";
}

/// Checks a node's parameters against the definition of its type. `faithful`: it repeats what MNN writes, which gets
/// one parameter's type wrong.
template <class Param>
void expect_defined(const std::string& type, const std::vector<Param>& params, bool faithful) {
  const nlohmann::json* all = qnn_definitions();
  if (all == nullptr) return;
  ASSERT_TRUE(all->contains(type)) << type;
  const nlohmann::json& op = all->at(type);
  std::map<std::string, nlohmann::json> known;
  if (op.at("params").is_array()) {
    for (const nlohmann::json& param : op.at("params")) known[param.at("name").get<std::string>()] = param;
  }
  std::set<std::string> given;
  for (const Param& param : params) {
    EXPECT_TRUE(given.insert(param.name).second) << type << " has " << param.name << " twice";
    ASSERT_TRUE(known.contains(param.name)) << type << " has no parameter " << param.name;
    const nlohmann::json& definition = known[param.name];
    const auto* tensor = std::get_if<QnnTensorParam>(&param.value);
    if (tensor != nullptr) {
      EXPECT_EQ(element_count(tensor->dims), static_cast<std::int64_t>(tensor->values.size()))
          << type << " " << param.name;
    }
    if (definition.contains("rank") && definition.at("rank").is_number()) {
      EXPECT_EQ(definition.at("rank").get<std::size_t>(), tensor == nullptr ? 0U : tensor->dims.size())
          << type << " " << param.name;
    }
    if (faithful && type == "Resize" && param.name == "exclude_outside") continue;
    if (!definition.contains("dtypes") || definition.at("dtypes").empty()) continue;
    const std::vector<std::string> allowed = definition.at("dtypes").get<std::vector<std::string>>();
    EXPECT_NE(std::find(allowed.begin(), allowed.end(), qnn_type_name(param.value)), allowed.end())
        << type << " " << param.name << " is " << qnn_type_name(param.value);
  }
  for (const auto& [name, definition] : known) {
    if (definition.value("mandatory", false)) {
      EXPECT_TRUE(given.contains(name)) << type << " lacks " << name;
    }
  }
}

}  // namespace qnndbg::test
