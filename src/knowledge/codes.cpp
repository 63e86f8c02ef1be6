#include "knowledge/codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "knowledge/soc.h"

namespace qnndbg {
namespace embedded {
extern const std::string_view error_codes_json;
}
namespace {

using nlohmann::json;

constexpr std::int64_t kSentinel = 0x7FFFFFFF;  // what QNN's headers write to make an enum 32 bits wide
constexpr std::uint64_t kCodeBits = 0xFFFF;     // QNN_GET_ERROR_CODE keeps these bits of a handle
constexpr std::int64_t kLargestCode = 0xFFFF;
constexpr std::size_t kLongestName = 100;
constexpr std::size_t kLongestNumberText = 200;  // a number with words around it, not a log
constexpr std::size_t kMostNeighbours = 3;

struct LookalikeFamily {
  std::string kind;
  std::string what;
  std::string context;
  std::unordered_map<std::int64_t, std::string> values;
};

struct Knowledge {
  std::vector<ErrorCode> codes;
  std::vector<CodeStage> stages;
  std::vector<CodeRange> ranges;
  std::vector<NotAnError> not_errors;
  std::vector<HtpGraphStatus> graph_status;
  std::vector<LookalikeFamily> families;
  std::unordered_map<std::string, std::size_t> code_by_name;  // name_key() to position
};

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

/// What of a name is compared: upper case, without "QNN_".
std::string name_key(std::string_view name) {
  constexpr std::string_view kPrefix = "QNN_";
  std::string key = upper(name);
  if (key.starts_with(kPrefix)) key.erase(0, kPrefix.size());
  return key;
}

// Readers of the embedded file. They take what is there and never throw; the tests check that all of it is.

const json& member(const json& object, const char* key) {
  static const json none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::string text_of(const json& object, const char* key, std::string_view otherwise = {}) {
  const json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string(otherwise);
}

int int_of(const json& object, const char* key) {
  const json& value = member(object, key);
  return value.is_number_integer() ? value.get<int>() : 0;
}

std::vector<std::string> texts_of(const json& object, const char* key) {
  std::vector<std::string> out;
  for (const json& value : member(object, key))
    if (value.is_string()) out.push_back(value.get<std::string>());
  return out;
}

/// Sentences that many codes share are stored once: "@id" stands for texts[id].
std::vector<std::string> steps_of(const json& object, const json& shared) {
  std::vector<std::string> steps = texts_of(object, "next_steps");
  for (std::string& step : steps)
    if (step.starts_with('@')) step = text_of(shared, step.substr(1).c_str(), step);
  return steps;
}

std::vector<ErrorCause> causes_of(const json& object) {
  std::vector<ErrorCause> out;
  for (const json& cause : member(object, "causes"))
    out.push_back({text_of(cause, "what"), text_of(cause, "sign"), text_of(cause, "class")});
  return out;
}

constexpr std::string_view kNotDecidable = "not_decidable";

StageMeaning stage_meaning_of(const json& entry, const json& shared) {
  StageMeaning stage;
  stage.stage = text_of(entry, "stage");
  stage.meaning = text_of(entry, "meaning");
  stage.class_id = text_of(entry, "class", kNotDecidable);
  stage.causes = causes_of(entry);
  stage.next_steps = steps_of(entry, shared);
  return stage;
}

const CodeRange* narrowest_range(const std::vector<CodeRange>& ranges, std::int64_t number) {
  const CodeRange* best = nullptr;
  for (const CodeRange& range : ranges) {
    if (number < range.first || number > range.last) continue;
    if (best == nullptr || range.last - range.first < best->last - best->first) best = &range;
  }
  return best;
}

ErrorCode code_of(const json& entry, const json& shared, const std::vector<CodeRange>& ranges) {
  ErrorCode code;
  code.number = int_of(entry, "number");
  code.name = text_of(entry, "name");
  code.aliases = texts_of(entry, "aliases");
  const CodeRange* range = narrowest_range(ranges, code.number);
  if (range != nullptr) code.module = range->module;
  code.since = text_of(entry, "since");
  code.retired = member(entry, "retired") == true;
  code.class_id = text_of(entry, "class", kNotDecidable);
  code.meaning = text_of(entry, "meaning");
  code.causes = causes_of(entry);
  code.next_steps = steps_of(entry, shared);
  for (const json& stage : member(entry, "stages")) code.stages.push_back(stage_meaning_of(stage, shared));
  for (const json& before : member(entry, "follows"))
    code.follows.push_back({int_of(before, "after"), text_of(before, "why")});
  for (const json& other : member(entry, "also_called"))
    code.also_called.push_back({text_of(other, "by"), text_of(other, "name"), text_of(other, "right")});
  code.returned_by = texts_of(entry, "returned_by");
  return code;
}

void add_names(std::vector<NotAnError>& out, NotAnError::Kind kind, std::int64_t number,
               const std::vector<std::string>& names) {
  for (const std::string& name : names) out.push_back({kind, name, number});
}

std::vector<NotAnError> not_errors_of(const json& document) {
  std::vector<NotAnError> out;
  add_names(out, NotAnError::Kind::success, 0, texts_of(document, "success"));
  add_names(out, NotAnError::Kind::sentinel, kSentinel, texts_of(document, "sentinels"));
  for (const json& range : member(document, "ranges")) {
    add_names(out, NotAnError::Kind::first_of_range, int_of(range, "first"), texts_of(range, "first_names"));
    add_names(out, NotAnError::Kind::last_of_range, int_of(range, "last"), texts_of(range, "last_names"));
  }
  return out;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

LookalikeFamily family_of(const json& entry) {
  LookalikeFamily family{text_of(entry, "kind"), text_of(entry, "what"), text_of(entry, "context"), {}};
  for (const auto& [key, meaning] : member(entry, "values").items()) {
    const std::optional<std::int64_t> number = whole_number(key);
    if (number && meaning.is_string()) family.values.emplace(*number, meaning.get<std::string>());
  }
  return family;
}

/// Names of the headers first: a documentation's slip must not hide what a header says.
void index_names(Knowledge& known) {
  const auto add = [&](const std::string& name, std::size_t i) { known.code_by_name.emplace(name_key(name), i); };
  for (std::size_t i = 0; i < known.codes.size(); ++i) {
    add(known.codes[i].name, i);
    for (const std::string& alias : known.codes[i].aliases) add(alias, i);
  }
  for (std::size_t i = 0; i < known.codes.size(); ++i)
    for (const OtherName& other : known.codes[i].also_called)
      if (other.name.starts_with("QNN_")) add(other.name, i);
}

Knowledge read_knowledge() {
  Knowledge known;
  const json document = json::parse(embedded::error_codes_json, nullptr, false);
  if (!document.is_object()) return known;
  for (const json& stage : member(document, "stages"))
    known.stages.push_back({text_of(stage, "id"), text_of(stage, "title"), texts_of(stage, "functions")});
  for (const json& range : member(document, "ranges"))
    known.ranges.push_back(
        {text_of(range, "module"), int_of(range, "first"), int_of(range, "last"), text_of(range, "what")});
  const json& shared = member(document, "texts");
  for (const json& code : member(document, "codes")) known.codes.push_back(code_of(code, shared, known.ranges));
  known.not_errors = not_errors_of(document);
  for (const json& status : member(document, "htp_graph_status"))
    known.graph_status.push_back({int_of(status, "value"), text_of(status, "name"), text_of(status, "meaning")});
  for (const json& family : member(document, "lookalikes")) known.families.push_back(family_of(family));
  index_names(known);
  return known;
}

const Knowledge& knowledge() {
  static const Knowledge known = read_knowledge();
  return known;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// Reading a number out of a piece of text

bool is_number_or_word_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '+';
}

bool is_ignored_word(std::string_view token) {
  constexpr auto kWords =
      std::to_array<std::string_view>({"ERR", "ERROR", "ERRNO", "CODE", "ERRORCODE", "ERROR_CODE", "STATUS", "RESULT",
                                       "RET", "RETURN", "RETURNED", "RC", "WITH", "IS", "QNN", "E"});
  const bool dashes = token.find_first_not_of('-') == std::string_view::npos;
  return dashes || std::find(kWords.begin(), kWords.end(), upper(token)) != kWords.end();
}

std::optional<std::uint64_t> unsigned_number(std::string_view digits, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

struct WrittenNumber {
  std::uint64_t bits = 0;
  bool minus = false;
};

/// "1002", "+1002", "-1002", "0x3ea", "0X3EA"
std::optional<WrittenNumber> written_number(std::string_view token) {
  WrittenNumber number;
  number.minus = token.starts_with('-');
  if (number.minus || token.starts_with('+')) token.remove_prefix(1);
  const bool hex = token.starts_with("0x") || token.starts_with("0X");
  const std::optional<std::uint64_t> value = hex ? unsigned_number(token.substr(2), 16) : unsigned_number(token, 10);
  if (!value) return std::nullopt;
  constexpr std::uint64_t kLowest = std::uint64_t{1} << 63U;
  if (number.minus && *value > kLowest) return std::nullopt;
  number.bits = number.minus ? 0 - *value : *value;
  number.minus = number.minus && number.bits != 0;
  return number;
}

/// The number as a program meant it that prints negative values without a sign: in 64 or in 32 bits.
std::optional<std::int64_t> unwrapped(std::uint64_t bits) {
  if ((bits >> 63U) != 0) return static_cast<std::int64_t>(bits);
  if ((bits >> 32U) == 0 && (bits >> 31U) != 0) return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
  return std::nullopt;
}

std::string as_written(const WrittenNumber& number) {
  if (number.minus) return fmt::format("{}", static_cast<std::int64_t>(number.bits));
  return fmt::format("0x{:x}", number.bits);
}

bool in_some_range(std::int64_t number) { return narrowest_range(knowledge().ranges, number) != nullptr; }

/// FastRPC's own numbers are 0x80000400 and up (its public header AEEStdErr.h), and -1 for a session that did not open.
bool is_transport_status(std::int64_t value) {
  constexpr std::int64_t kFirst = std::int64_t{std::numeric_limits<std::int32_t>::min()} + 0x400;
  constexpr std::int64_t kLast = std::int64_t{std::numeric_limits<std::int32_t>::min()} + kLargestCode;
  return value == -1 || (value >= kFirst && value <= kLast);
}

/// True when the low 16 bits are a code and the others the backend's own. Sizes and counts have more than 16 bits too,
/// but seldom more than 32, so below that the low bits must be a code that is known.
bool is_handle_with_code(std::uint64_t bits) {
  const auto low = static_cast<std::int64_t>(bits & kCodeBits);
  if (bits <= kCodeBits) return false;
  return (bits >> 32U) != 0 ? in_some_range(low) : find_error_code(low) != nullptr;
}

void take_low_bits(ParsedCode& parsed) {
  parsed.number = static_cast<std::int64_t>(parsed.raw & kCodeBits);
  parsed.how = fmt::format("low 16 bits of 0x{:x}", parsed.raw);
}

ParsedCode parsed_negative(const WrittenNumber& written, std::int64_t value) {
  ParsedCode parsed{.number = value, .raw = written.bits, .transport = false, .how = {}};
  const bool signed_in_text = written.minus;
  if (is_transport_status(value) && !(value == -1 && signed_in_text)) {
    parsed.transport = true;
    parsed.number = static_cast<std::int64_t>(static_cast<std::uint32_t>(value));
    if (static_cast<std::uint64_t>(parsed.number) != parsed.raw || signed_in_text)
      parsed.how = fmt::format("{} as an unsigned 32-bit number", as_written(written));
    return parsed;
  }
  if (value >= -kLargestCode && in_some_range(-value)) {
    parsed.number = -value;
    parsed.how = signed_in_text ? fmt::format("{} without its sign", value)
                                : fmt::format("{} is {}, taken without its sign", as_written(written), value);
  } else if (is_handle_with_code(written.bits)) {
    take_low_bits(parsed);
  }
  return parsed;
}

ParsedCode parsed_number(const WrittenNumber& written) {
  if (const std::optional<std::int64_t> value = unwrapped(written.bits)) return parsed_negative(written, *value);
  const auto value = static_cast<std::int64_t>(written.bits);
  ParsedCode parsed{.number = value, .raw = written.bits, .transport = false, .how = {}};
  if (value != kSentinel && is_handle_with_code(written.bits)) take_low_bits(parsed);
  return parsed;
}

}  // namespace

const StageMeaning* ErrorCode::at_stage(std::string_view stage) const {
  const auto found =
      std::find_if(stages.begin(), stages.end(), [&](const StageMeaning& s) { return s.stage == stage; });
  return found == stages.end() ? nullptr : &*found;
}

std::span<const ErrorCode> error_codes() { return knowledge().codes; }

const ErrorCode* find_error_code(std::int64_t number) {
  const std::vector<ErrorCode>& codes = knowledge().codes;
  const auto found = std::lower_bound(codes.begin(), codes.end(), number,
                                      [](const ErrorCode& code, std::int64_t n) { return code.number < n; });
  return found == codes.end() || found->number != number ? nullptr : &*found;
}

const ErrorCode* find_error_code(std::string_view name) {
  name = trimmed(name);
  if (name.size() > kLongestName) return nullptr;
  const auto found = knowledge().code_by_name.find(name_key(name));
  return found == knowledge().code_by_name.end() ? nullptr : &knowledge().codes[found->second];
}

std::vector<std::string_view> error_code_names() {
  std::vector<std::string_view> names;
  for (const ErrorCode& code : knowledge().codes) {
    names.emplace_back(code.name);
    names.insert(names.end(), code.aliases.begin(), code.aliases.end());
  }
  return names;
}

std::vector<const ErrorCode*> codes_near(std::int64_t number) {
  const CodeRange* range = code_range_of(number);
  if (range == nullptr || find_error_code(number) != nullptr) return {};
  std::vector<const ErrorCode*> near;
  for (const ErrorCode& code : knowledge().codes)
    if (code.module == range->module) near.push_back(&code);
  std::stable_sort(near.begin(), near.end(), [&](const ErrorCode* a, const ErrorCode* b) {
    return std::abs(a->number - number) < std::abs(b->number - number);
  });
  near.resize(std::min(near.size(), kMostNeighbours));
  return near;
}

std::span<const CodeStage> code_stages() { return knowledge().stages; }

const CodeStage* find_code_stage(std::string_view id) {
  const std::vector<CodeStage>& stages = knowledge().stages;
  const auto found = std::find_if(stages.begin(), stages.end(), [&](const CodeStage& s) { return s.id == id; });
  return found == stages.end() ? nullptr : &*found;
}

const CodeStage* code_stage_of(std::string_view function) {
  // MNN and the interface structure write "graphFinalize" for QnnGraph_finalize.
  const auto key = [](std::string_view name) {
    std::string out = upper(name);
    if (out.starts_with("QNN")) out.erase(0, 3);
    out.erase(std::remove(out.begin(), out.end(), '_'), out.end());
    return out;
  };
  if (function.size() > kLongestName) return nullptr;
  const std::string wanted = key(function);
  const CodeStage* best = nullptr;
  std::size_t longest = 0;
  for (const CodeStage& stage : knowledge().stages) {
    for (const std::string& beginning : stage.functions) {
      const std::string begin = key(beginning);
      if (begin.size() <= longest || !wanted.starts_with(begin)) continue;
      best = &stage;
      longest = begin.size();
    }
  }
  return best;
}

const CodeRange* code_range_of(std::int64_t number) { return narrowest_range(knowledge().ranges, number); }

std::span<const CodeRange> code_ranges() { return knowledge().ranges; }

const NotAnError* find_not_an_error(std::int64_t number) {
  if (find_error_code(number) != nullptr) return nullptr;
  const std::vector<NotAnError>& all = knowledge().not_errors;
  const auto found = std::find_if(all.begin(), all.end(), [&](const NotAnError& n) { return n.number == number; });
  return found == all.end() ? nullptr : &*found;
}

const NotAnError* find_not_an_error(std::string_view name) {
  name = trimmed(name);
  if (name.size() > kLongestName) return nullptr;
  const std::string key = name_key(name);
  const std::vector<NotAnError>& all = knowledge().not_errors;
  const auto found = std::find_if(all.begin(), all.end(), [&](const NotAnError& n) { return name_key(n.name) == key; });
  return found == all.end() ? nullptr : &*found;
}

std::span<const NotAnError> not_errors() { return knowledge().not_errors; }

std::optional<ParsedCode> parse_error_code(std::string_view text) {
  text = trimmed(text);
  if (text.size() > kLongestNumberText) return std::nullopt;
  std::optional<ParsedCode> parsed;
  while (!text.empty()) {
    const std::size_t length =
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_number_or_word_char) - text.begin());
    const std::string_view token = text.substr(0, length);
    // Bytes beyond ASCII are no punctuation: "१००२" is not a number with something around it.
    if (length == 0 && static_cast<unsigned char>(text.front()) >= 0x80U) return std::nullopt;
    text.remove_prefix(std::max<std::size_t>(length, 1));
    if (token.empty() || is_ignored_word(token)) continue;
    const std::optional<WrittenNumber> written = written_number(token);
    if (!written) return std::nullopt;
    const ParsedCode next = parsed_number(*written);
    if (parsed && parsed->number != next.number) return std::nullopt;
    if (!parsed) parsed = next;
  }
  return parsed;
}

const HtpGraphStatus* htp_graph_status(int value) {
  const std::vector<HtpGraphStatus>& all = knowledge().graph_status;
  const auto found = std::find_if(all.begin(), all.end(), [&](const HtpGraphStatus& s) { return s.value == value; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<Lookalike> lookalikes(std::int64_t number) {
  std::vector<Lookalike> out;
  for (const LookalikeFamily& family : knowledge().families) {
    const auto found = family.values.find(number);
    if (found != family.values.end()) out.push_back({family.kind, family.what, found->second, family.context});
  }
  const bool small = number >= std::numeric_limits<int>::min() && number <= std::numeric_limits<int>::max();
  if (!small) return out;
  if (const HtpGraphStatus* status = htp_graph_status(static_cast<int>(number)))
    out.push_back({"htp_graph_status", "HTP graph status", fmt::format("{}: {}", status->name, status->meaning),
                   "after `graph prepare failed` or `preparation failed with err:`"});
  const std::span<const Soc> socs = known_socs();
  const auto soc = std::find_if(socs.begin(), socs.end(), [&](const Soc& s) { return s.id == number; });
  if (soc != socs.end())
    out.push_back({"soc", "SoC number",
                   fmt::format("{}{}", soc->name.empty() ? "a chip that the SDK does not name" : soc->name,
                               soc->arch == 0 ? std::string() : fmt::format(" ({})", arch_name(soc->arch))),
                   "after `soc_id` or `socModel`"});
  return out;
}

}  // namespace qnndbg
