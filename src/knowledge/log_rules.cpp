#include "knowledge/log_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "knowledge/codes.h"
#include "knowledge/soc.h"

namespace qnndbg {
namespace embedded {
extern const std::string_view log_rules_json;
}
namespace {

// How far a pattern alone decides, by its role.
constexpr int kCauseStrength = 70;
constexpr int kSymptomStrength = 50;
constexpr int kConsequenceStrength = 30;
/// Of a number without a line that is known: less than any symptom.
constexpr int kCodeStrength = 45;

Confidence confidence_of(std::string_view name) {
  if (name == "high") return Confidence::high;
  if (name == "medium") return Confidence::medium;
  if (name == "low") return Confidence::low;
  return Confidence::none;
}

LogRule code_rule(const ErrorCode& code, const std::string& class_id, const std::string& stage,
                  const std::string& meaning) {
  LogRule rule;
  rule.class_id = class_id;
  rule.id = stage.empty() ? fmt::format("code:{}", code.number) : fmt::format("code:{}@{}", code.number, stage);
  rule.when = {{rule.id}};
  rule.strength = kCodeStrength + (stage.empty() ? 0 : 1);
  rule.confidence = Confidence::low;
  // Texts about codes are no templates.
  if (meaning.find_first_of("{}[]") == std::string::npos)
    rule.summary = fmt::format("{} ({}): {}", code.number, code.name, meaning);
  return rule;
}

/// What a number alone, or with the stage that it came from, decides.
void add_rules(const ErrorCode& code, std::vector<LogRule>& rules) {
  constexpr std::string_view kOpen = "not_decidable";
  for (const StageMeaning& stage : code.stages)
    if (stage.class_id != kOpen) rules.push_back(code_rule(code, stage.class_id, stage.stage, stage.meaning));
  if (code.class_id != kOpen) rules.push_back(code_rule(code, code.class_id, "", code.meaning));
}

struct Tables {
  std::vector<ExplanationClass> classes;
  std::vector<LogRule> rules;
};

LogRule rule_of(const LogPattern& pattern) {
  LogRule rule;
  rule.id = pattern.id;
  rule.class_id = pattern.class_id;
  rule.when = {{pattern.id}};
  switch (pattern.role) {
    case PatternRole::cause:
      rule.strength = kCauseStrength;
      rule.confidence = Confidence::high;
      break;
    case PatternRole::symptom:
      rule.strength = kSymptomStrength;
      rule.confidence = Confidence::medium;
      break;
    default:
      rule.strength = kConsequenceStrength;
      rule.confidence = Confidence::low;
      break;
  }
  if (pattern.strength != 0) rule.strength = pattern.strength;
  return rule;
}

Tables read_tables() {
  Tables tables;
  const nlohmann::json file = nlohmann::json::parse(embedded::log_rules_json, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object()) return tables;  // a test reads the file
  const nlohmann::json none = nlohmann::json::array();
  using Strings = std::vector<std::string>;
  for (const nlohmann::json& entry : file.value("classes", none))
    tables.classes.push_back({.id = entry.value("id", ""),
                              .title = entry.value("title", ""),
                              .prevents_run = entry.value("prevents_run", false),
                              .summary = entry.value("summary", ""),
                              .why = entry.value("why", ""),
                              .experiment = entry.value("experiment", ""),
                              .next_steps = entry.value("next_steps", Strings()),
                              .send = entry.value("send", Strings())});
  for (const nlohmann::json& entry : file.value("rules", none))
    tables.rules.push_back({.id = entry.value("id", ""),
                            .class_id = entry.value("class", ""),
                            .strength = entry.value("strength", 0),
                            .confidence = confidence_of(entry.value("confidence", "")),
                            .when = entry.value("when", std::vector<Strings>()),
                            .unless = entry.value("unless", Strings()),
                            .evidence = entry.value("evidence", Strings()),
                            .summary = entry.value("summary", ""),
                            .why = entry.value("why", ""),
                            .experiment = entry.value("experiment", ""),
                            .next_steps = entry.value("next_steps", Strings())});
  for (const LogPattern& pattern : log_patterns())
    if (!pattern.class_id.empty()) tables.rules.push_back(rule_of(pattern));
  for (const ErrorCode& code : error_codes()) add_rules(code, tables.rules);
  return tables;
}

const Tables& tables() {
  static const Tables read = read_tables();
  return read;
}

constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();

/// The condition that one node was refused by the validation and stopped finalize.
constexpr std::string_view kRefusedAndNotCreated = "node:refused-and-not-created";

/// The condition that the log asks for a SoC number that QNN is not known to have.
constexpr std::string_view kUnknownSoc = "fact:unknown-soc";

/// The condition that the log has lines and no error.
constexpr std::string_view kSilent = "log:silent";

/// Line where a condition holds first; kNowhere when it does not. Events that fulfil it are added to `events`.
std::uint64_t line_of(std::string_view condition, const LogRecord& record, std::vector<const LogEvent*>& events) {
  if (condition.starts_with("stack:")) return record.stack == condition.substr(6) ? 1 : kNowhere;
  if (condition == kSilent)
    return record.lines > 0 && record.codes.empty() && record.unknown_errors.empty() ? 1 : kNowhere;
  if (condition == kRefusedAndNotCreated) {
    const auto node = std::find_if(record.nodes.begin(), record.nodes.end(),
                                   [](const LogNode& n) { return n.refused && n.not_created; });
    return node == record.nodes.end() ? kNowhere : node->first.line;
  }
  if (condition == kUnknownSoc) return record.soc.empty() || find_soc(record.soc) != nullptr ? kNowhere : 1;
  if (condition.starts_with("code:")) {
    const std::string_view text = condition.substr(5);
    const std::size_t split = text.find('@');
    int number = 0;
    const std::string_view digits = text.substr(0, split);
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const std::string_view stage = split == std::string_view::npos ? "" : text.substr(split + 1);
    for (const LogCode& code : record.codes) {
      if (code.number != number || (!stage.empty() && code.stage != stage)) continue;
      for (const LogEvent& event : record.events)
        if (event.first.line == code.first.line) events.push_back(&event);
      return code.first.line;
    }
    return kNowhere;
  }
  const int pattern = find_log_pattern(condition);
  std::uint64_t line = kNowhere;
  for (const LogEvent& event : record.events) {
    if (event.pattern != pattern) continue;
    events.push_back(&event);
    line = std::min(line, event.first.line);
  }
  return line;
}

bool holds(const std::string& condition, const LogRecord& record) {
  std::vector<const LogEvent*> unused;
  return line_of(condition, record, unused) != kNowhere;
}

std::optional<RuleMatch> match(const LogRule& rule, const LogRecord& record) {
  RuleMatch result{&rule, kNowhere, {}};
  for (std::size_t i = 0; i < rule.when.size(); ++i) {
    std::uint64_t line = kNowhere;
    for (const std::string& condition : rule.when[i]) line = std::min(line, line_of(condition, record, result.events));
    if (line == kNowhere) return std::nullopt;
    if (i == 0) result.line = line;
  }
  for (const std::string& condition : rule.unless)
    if (holds(condition, record)) return std::nullopt;
  for (const std::string& pattern : rule.evidence) line_of(pattern, record, result.events);
  std::stable_sort(result.events.begin(), result.events.end(),
                   [](const LogEvent* a, const LogEvent* b) { return a->first.line < b->first.line; });
  result.events.erase(std::unique(result.events.begin(), result.events.end()), result.events.end());
  return result;
}

}  // namespace

std::span<const ExplanationClass> explanation_classes() { return tables().classes; }

const ExplanationClass* find_explanation_class(std::string_view id) {
  const auto& classes = tables().classes;
  const auto found =
      std::find_if(classes.begin(), classes.end(), [&](const ExplanationClass& c) { return c.id == id; });
  return found == classes.end() ? nullptr : &*found;
}

std::span<const LogRule> log_rules() { return tables().rules; }

std::vector<RuleMatch> match_rules(const LogRecord& record) {
  std::vector<RuleMatch> matches;
  for (const LogRule& rule : log_rules())
    if (std::optional<RuleMatch> found = match(rule, record)) matches.push_back(std::move(*found));
  // Stable: the rules of the file come first and are more specific than a pattern alone.
  std::stable_sort(matches.begin(), matches.end(), [](const RuleMatch& a, const RuleMatch& b) {
    if (a.rule->strength != b.rule->strength) return a.rule->strength > b.rule->strength;
    return a.line < b.line;
  });
  return matches;
}

}  // namespace qnndbg
