#include "knowledge/log_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "graph/mnn_reader.h"
#include "knowledge/codes.h"
#include "knowledge/log_text.h"
#include "tensor/dtype.h"

namespace qnndbg {
namespace {

constexpr std::size_t kMaxListedNodes = 4;

struct Word {
  std::string_view name;
  std::string_view words;
};

// Names of Qnn_DataType_t without their prefix.
constexpr auto kDatatypes = std::to_array<Word>({
    {"INT_8", "int8"},
    {"INT_16", "int16"},
    {"INT_32", "int32"},
    {"INT_64", "int64"},
    {"UINT_8", "uint8"},
    {"UINT_16", "uint16"},
    {"UINT_32", "uint32"},
    {"UINT_64", "uint64"},
    {"FLOAT_16", "fp16"},
    {"FLOAT_32", "fp32"},
    {"FLOAT_64", "fp64"},
    {"BFLOAT_16", "bf16"},
    {"SFIXED_POINT_4", "signed 4-bit fixed point"},
    {"SFIXED_POINT_8", "signed 8-bit fixed point"},
    {"SFIXED_POINT_16", "signed 16-bit fixed point"},
    {"SFIXED_POINT_32", "signed 32-bit fixed point"},
    {"UFIXED_POINT_4", "unsigned 4-bit fixed point"},
    {"UFIXED_POINT_8", "unsigned 8-bit fixed point"},
    {"UFIXED_POINT_16", "unsigned 16-bit fixed point"},
    {"UFIXED_POINT_32", "unsigned 32-bit fixed point"},
    {"BOOL_8", "bool"},
    {"STRING", "string"},
});

std::string_view words_of(DType type) {
  switch (type) {
    case DType::f16: return "fp16";
    case DType::f32: return "fp32";
    case DType::f64: return "fp64";
    case DType::sfixed8: return "signed 8-bit fixed point";
    case DType::sfixed16: return "signed 16-bit fixed point";
    case DType::sfixed32: return "signed 32-bit fixed point";
    case DType::ufixed8: return "unsigned 8-bit fixed point";
    case DType::ufixed16: return "unsigned 16-bit fixed point";
    case DType::ufixed32: return "unsigned 32-bit fixed point";
    case DType::i8: return "int8";
    case DType::i16: return "int16";
    case DType::i32: return "int32";
    case DType::i64: return "int64";
    case DType::u8: return "uint8";
    case DType::u16: return "uint16";
    case DType::u32: return "uint32";
    case DType::u64: return "uint64";
    case DType::bool8: return "bool";
  }
  return "";
}

std::optional<double> number_of(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  std::uint64_t value = 0;
  const std::string_view digits = hex ? text.substr(2) : text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return static_cast<double>(value);
}

/// "1, 2 and 3"
std::string list_words(const std::vector<std::string>& items) {
  if (items.size() < 2) return items.empty() ? "" : items.front();
  return fmt::format("{} and {}", fmt::join(items.begin(), items.end() - 1, ", "), items.back());
}

NodeFate fate_of(std::string_view class_id) {
  if (class_id == "validation_refused") return NodeFate::refused;
  if (class_id == "op_unregistered") return NodeFate::unregistered;
  if (class_id == "cpu_fallback") return NodeFate::unsupported;
  if (class_id.starts_with("finalize_")) return NodeFate::not_created;
  return NodeFate::none;
}

int differing_operands(const DatatypeSet& requested, const DatatypeSet& set) {
  int count = 0;
  for (const auto& [operand, type] : requested) {
    const auto same = std::find_if(set.begin(), set.end(), [&](const auto& member) { return member.first == operand; });
    count += same == set.end() || same->second != type ? 1 : 0;
  }
  return count;
}

void add_nodes(Values& values, const LogRecord& record, NodeFate fate) {
  std::vector<std::string> names;
  std::uint64_t count = record.nodes_left_out;
  for (const LogNode& node : record.nodes) {
    if (fate != NodeFate::none && node.fate != fate) continue;
    if (names.empty()) {
      values.emplace("node", node.name);
      if (!node.type.empty()) values["type"] = node.type;
      if (node.mnn_type != 0) values["operator"] = operator_type_name(node.mnn_type);
      if (!node.reasons.empty()) values["reason"] = reason_words(node.reasons.front());
      if (const std::string difference = datatype_difference(node); !difference.empty()) values["reason"] = difference;
      if (!node.kernel.empty()) values["kernel"] = node.kernel;
      if (const std::string inputs = kernel_inputs_words(node.inputs); !inputs.empty()) values["inputs"] = inputs;
    }
    ++count;
    if (names.size() < kMaxListedNodes) names.push_back(fmt::format("`{}`", node.name));
  }
  if (names.empty()) return;
  if (count > names.size()) names.push_back(fmt::format("{} more", count - names.size()));
  values["nodes"] = list_words(names);
  values["node_count"] = count == 1 ? "1 node" : fmt::format("{} nodes", count);
}

/// The operators behind MNN's type numbers, each once: "Deconvolution (17) and LinearAttention (305)".
void add_operators(Values& values, const LogRecord& record) {
  std::vector<std::string> operators;
  for (const LogNode& node : record.nodes) {
    if (node.mnn_type == 0) continue;
    const std::string text = fmt::format("{} ({})", operator_type_name(node.mnn_type), node.mnn_type);
    if (operators.size() < kMaxListedNodes && std::find(operators.begin(), operators.end(), text) == operators.end())
      operators.push_back(text);
  }
  if (!operators.empty()) values["operators"] = list_words(operators);
}

void add_sizes(Values& values) {
  const auto get = [&](const char* name) { return number_of(values.contains(name) ? values.at(name) : ""); };
  std::optional<double> need = get("need_bytes");
  std::optional<double> limit = get("limit_bytes");
  if (const auto kib = get("need_kib")) need = *kib * 1024;
  if (const auto kib = get("limit_kib")) limit = *kib * 1024;
  if (need) values["need"] = size_words(*need);
  if (limit) values["limit"] = size_words(*limit);
  if (need && limit && *limit > 0) values["parts"] = fmt::format("{:.0f}", std::ceil(*need / *limit));
  if (const auto length = get("length_bytes")) values["size"] = size_words(*length);
}

}  // namespace

std::string size_words(double bytes) {
  constexpr std::array<const char*, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{:.0f} bytes", bytes);
  std::size_t unit = 0;
  bytes /= 1024;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, bytes == std::floor(bytes) ? 0 : 2, kUnits[unit]);
}

std::string datatype_words(std::string_view datatype) {
  if (const std::optional<double> number = number_of(datatype)) {
    const std::optional<DType> type = dtype_from_qnn(static_cast<std::uint32_t>(std::min(*number, 4294967295.0)));
    return type ? std::string(words_of(*type)) : std::string(datatype);
  }
  constexpr std::string_view kPrefix = "QNN_DATATYPE_";
  if (datatype.starts_with(kPrefix)) datatype.remove_prefix(kPrefix.size());
  const auto found =
      std::find_if(kDatatypes.begin(), kDatatypes.end(), [&](const Word& w) { return w.name == datatype; });
  return std::string(found == kDatatypes.end() ? datatype : found->words);
}

std::string tensor_class_words(std::string_view tensor_class) {
  constexpr auto kWords = std::to_array<Word>({{"PlainFloat16", "fp16"},
                                               {"F16", "fp16"},
                                               {"PlainFloat", "fp32"},
                                               {"F32", "fp32"},
                                               {"QuantUint8", "unsigned 8-bit fixed point"},
                                               {"QuantUint16", "unsigned 16-bit fixed point"},
                                               {"QuantInt8", "signed 8-bit fixed point"},
                                               {"QuantInt16", "signed 16-bit fixed point"},
                                               {"QUint8", "unsigned 8-bit fixed point"},
                                               {"QUint16", "unsigned 16-bit fixed point"},
                                               {"QInt8", "signed 8-bit fixed point"},
                                               {"QInt16", "signed 16-bit fixed point"},
                                               {"Int32", "int32"}});
  std::string_view best;
  std::size_t length = 0;
  for (const auto& [name, words] : kWords) {
    if (tensor_class.find(name) == std::string_view::npos || name.size() <= length) continue;
    best = words;
    length = name.size();
  }
  return std::string(length == 0 ? tensor_class : best);
}

std::string kernel_inputs_words(const std::vector<KernelInput>& inputs) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const KernelInput& input : inputs) {
    const std::string words = fmt::format("{} ({})", tensor_class_words(input.layout), input.layout);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == words; });
    if (group == groups.end()) group = groups.insert(groups.end(), {words, {}});
    group->second.push_back(fmt::format("{}", input.index));
  }
  std::vector<std::string> parts;
  for (const auto& [words, indices] : groups)
    parts.push_back(indices.size() == 1 ? fmt::format("input {} is {}", indices.front(), words)
                                        : fmt::format("inputs {} are {}", list_words(indices), words));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string datatype_difference(const LogNode& node) {
  const DatatypeSet* nearest = nullptr;
  std::string_view configuration;
  int least = 0;
  for (const SupportedDatatypes& supported : node.supported) {
    for (const DatatypeSet& set : supported.sets) {
      const int differing = differing_operands(node.requested, set);
      if (nearest != nullptr && differing >= least) continue;
      nearest = &set;
      configuration = supported.configuration;
      least = differing;
    }
  }
  if (nearest == nullptr || least == 0) return "";
  std::vector<std::string> parts;
  for (const auto& [operand, type] : node.requested) {
    const auto meant =
        std::find_if(nearest->begin(), nearest->end(), [&](const auto& member) { return member.first == operand; });
    if (meant == nearest->end()) {
      parts.push_back(fmt::format("{} is not in the nearest supported set", operand));
    } else if (meant->second != type) {
      parts.push_back(fmt::format("{} is {} ({}) where the nearest supported set has {} ({})", operand,
                                  datatype_words(type), type, datatype_words(meant->second), meant->second));
    }
  }
  return fmt::format("{} [configuration {}]", fmt::join(parts, "; "), configuration);
}

std::string_view message_of(std::string_view line) {
  // One alternative for each thing that loggers write before a message; a line may have several.
  static const RE2 prefix(
      R"((?:\d\d-\d\d [\d:.]+ +\d+ +\d+ [VDIWEF] [^:]{1,40}: |)"                            // logcat
      R"(\d{4}-\d\d-\d\d [\d:.]+ +\d+-\d+ +\S+ +\S+ +[VDIWEFA] +|)"                         // Android Studio
      R"((?:\d{4}-\d\d-\d\d [\d:.]+ )?\[(?:[VIWEF]:)?onnxruntime[^\]]{0,200}\] |)"          // ONNX Runtime
      R"(\[\w{3} \w{3} +\d+ [\d:]+ \d{4}\] |\w{3} \w{3} +\d+ [\d:]+ \d{4} |)"               // asctime()
      R"([DIWEF] [\d:.]+ executorch:[^\]]{1,80}\] |)"                                       // ExecuTorch
      R"((?:INFO|WARNING|ERROR): \[[^\]]{1,80}\] |\[[\w./-]+\.(?:cc|cpp|c|h|hpp):\d+\] |)"  // LiteRT, mllm
      R"(\[ *\d+\.\d+\] |\d+(?:\.\d+)?ms |)"                                                // kernel, QNN's tools
      R"((?i:\[ *(?:error|warning|warn|info|debug|verbose|trace) *\]):? *|)"
      R"(\[Qnn ExecuTorch\]:? *|\[?QNN_LOG(?:\[\d\]:|:\d\]) *|(?:QnnDsp +)?<[EWIVD]> *|QnnDsp +|)"
      R"([\w./-]+\.(?:cc|cpp|c):\d+:{1,2} *(?:(?i:error): ?)?| +))");  // graph preparation
  std::string_view rest = line;
  for (re2::StringPiece left(line); RE2::Consume(&left, prefix) && !left.empty();) rest = left;
  return rest;
}

std::string reason_words(const EvidenceLine& reason) {
  std::string text(message_of(reason.text));
  // "0x416" behind the word datatype.
  std::vector<std::string> words;
  if (text.find("atatype") != std::string::npos) {
    for (std::size_t at = text.find("0x"); at != std::string::npos; at = text.find("0x", at + 2)) {
      const std::size_t end = std::min(text.find_first_not_of("0123456789abcdefABCDEF", at + 2), text.size());
      const std::string number = text.substr(at, end - at);
      if (const std::string word = datatype_words(number); word != number)
        words.push_back(fmt::format("{} is {}", number, word));
    }
  }
  while (!text.empty() && text.back() == '.') text.pop_back();
  return words.empty() ? text : fmt::format("{} ({})", text, fmt::join(words, ", "));
}

void add_stack(Values& values, std::string_view stack) {
  constexpr std::string_view kOthers[] = {"ort", "executorch", "genie", "litert", "ggml", "mllm"};
  const bool other = std::find(std::begin(kOthers), std::end(kOthers), stack) != std::end(kOthers);
  values.emplace(other ? "if_other" : "if_mnn", "");
}

Values values_of(const LogRecord& record, const std::vector<const LogEvent*>& events, std::string_view class_id) {
  Values values;
  for (const LogEvent* event : events)
    for (const auto& [name, value] : event->captures)
      if (!value.empty()) values.emplace(name, value);
  add_nodes(values, record, fate_of(class_id));
  add_operators(values, record);
  add_stack(values, record.stack);
  values.emplace("lines", fmt::format("{} line{}", record.lines, record.lines == 1 ? "" : "s"));
  if (values.contains("mnn_type")) {
    int number = 0;
    const std::string& text = values["mnn_type"];
    std::from_chars(text.data(), text.data() + text.size(), number);
    if (number != 0) values.emplace("operator", operator_type_name(number));
  }
  if (const auto type = values.find("type"); type != values.end()) values.emplace("operator", type->second);
  if (!record.soc.empty()) values.emplace("soc", record.soc);
  if (!record.arch.empty()) values.emplace("arch", record.arch);
  for (const auto& [name, version] : record.versions) values.emplace(name, version);
  add_sizes(values);
  if (const auto code = values.find("code"); code != values.end()) {
    if (const std::optional<int> number = log_error_code(code->second)) {
      code->second = fmt::format("{}", *number);
      if (const ErrorCode* known = find_error_code(std::int64_t{*number}); known != nullptr)
        values.emplace("code_name", known->name);
    }
  }
  return values;
}

std::string fill_template(std::string_view text, const Values& values) {
  std::string result;
  std::size_t bracket = std::string::npos;  // where the open bracket's text begins in `result`
  bool missing = false;                     // in the open bracket
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') {
      bracket = result.size();
      missing = false;
    } else if (text[i] == ']' && bracket != std::string::npos) {
      if (missing) result.resize(bracket);
      bracket = std::string::npos;
    } else if (text[i] == '{') {
      const std::size_t end = text.find('}', i);
      if (end == std::string_view::npos) break;
      const auto value = values.find(std::string(text.substr(i + 1, end - i - 1)));
      missing = missing || value == values.end();
      result += value == values.end() ? "?" : value->second;
      i = end;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace qnndbg
