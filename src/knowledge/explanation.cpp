#include "knowledge/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "knowledge/codes.h"
#include "knowledge/log_rules.h"
#include "knowledge/log_words.h"

namespace qnndbg {
namespace {

constexpr std::size_t kMaxEvidence = 16;
constexpr std::size_t kMaxReasonsShown = 3;
/// A rule weaker than this only guesses: not worth naming beside one that decides.
constexpr int kAlsoStrength = 50;

bool is_fact(const LogEvent& event) {
  const PatternRole role = log_patterns()[static_cast<std::size_t>(event.pattern)].role;
  return role == PatternRole::fact;
}

/// Lines without repetition, in the order of the log, the deciding ones kept when there are too many.
class EvidenceList {
 public:
  void add(const EvidenceLine& line) {
    if (lines_.size() < kMaxEvidence && numbers_.insert(line.line).second) lines_.push_back(line);
  }
  std::vector<EvidenceLine> sorted() && {
    std::sort(lines_.begin(), lines_.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
    return std::move(lines_);
  }

 private:
  std::vector<EvidenceLine> lines_;
  std::set<std::uint64_t> numbers_;
};

void add_rule_evidence(const RuleMatch& match, EvidenceList& evidence) {
  for (const LogEvent* event : match.events)
    if (!is_fact(*event)) evidence.add(event->first);
}

void add_node_evidence(const LogRecord& record, EvidenceList& evidence) {
  std::size_t shown = 0;
  for (const LogNode& node : record.nodes) {
    if (shown++ == kMaxReasonsShown) return;
    for (std::size_t i = 0; i < std::min(node.reasons.size(), kMaxReasonsShown); ++i) evidence.add(node.reasons[i]);
    evidence.add(node.first);
  }
}

/// Errors beside those that decide, the first of each kind: what follows from them.
void add_other_errors(const LogRecord& record, EvidenceList& evidence) {
  std::set<int> seen;
  for (const LogEvent& event : record.events) {
    const PatternRole role = log_patterns()[static_cast<std::size_t>(event.pattern)].role;
    if ((role == PatternRole::cause || role == PatternRole::symptom) && seen.insert(event.pattern).second)
      evidence.add(event.first);
  }
}

std::vector<std::string> filled(const std::vector<std::string>& templates, const Values& values) {
  std::vector<std::string> result;
  for (const std::string& text : templates)
    if (std::string step = fill_template(text, values); !step.empty()) result.push_back(std::move(step));
  return result;
}

std::string send_words(const ExplanationClass& type) {
  if (type.send.empty()) return "";
  std::string words = "If that does not settle it, send:";
  for (const std::string& item : type.send) words += fmt::format(" {};", item);
  words.back() = '.';
  return words;
}

void decide(const RuleMatch& best, const LogRecord& record, Explanation& out, EvidenceList& evidence) {
  const LogRule& rule = *best.rule;
  const ExplanationClass* type = find_explanation_class(rule.class_id);
  if (type == nullptr) return;  // a test checks that every rule has a class
  const Values values = values_of(record, best.events, rule.class_id);
  out.class_id = rule.class_id;
  out.rule = rule.id;
  out.confidence = rule.confidence;
  out.summary = fill_template(rule.summary.empty() ? type->summary : rule.summary, values);
  out.why = fill_template(rule.why.empty() ? type->why : rule.why, values);
  out.experiment = fill_template(rule.experiment.empty() ? type->experiment : rule.experiment, values);
  out.next_steps = filled(rule.next_steps.empty() ? type->next_steps : rule.next_steps, values);
  if (const std::string send = send_words(*type); !send.empty()) {
    // The command stays last.
    const auto last = out.next_steps.empty() ? out.next_steps.end() : out.next_steps.end() - 1;
    out.next_steps.insert(last, send);
  }
  out.facts.values = values;
  std::erase_if(out.facts.values, [](const auto& value) { return value.second.empty(); });
  add_rule_evidence(best, evidence);
}

void say_undecided(const LogRecord& record, Explanation& out, EvidenceList& evidence) {
  const ExplanationClass* type = find_explanation_class("not_decidable");
  if (type == nullptr) return;
  Values values;
  add_stack(values, record.stack);
  out.summary = type->summary;
  out.why = type->why;
  out.experiment = type->experiment;
  out.next_steps = filled(type->next_steps, values);
  if (record.lines == 0) {
    out.summary = "Not decidable from this: the log is empty.";
  } else if (!record.codes.empty()) {
    const LogCode& code = record.codes.front();
    const ErrorCode* known = find_error_code(std::int64_t{code.number});
    out.summary = fmt::format("Not decidable from this: the log has the number {}{}, but no line that tells its cause.",
                              code.number, known == nullptr ? "" : fmt::format(" ({})", known->name));
    out.next_steps.insert(out.next_steps.begin(),
                          fmt::format("See what {0} can mean: qnn-debug explain {0}", code.number));
    evidence.add(code.first);
  } else if (!record.unknown_errors.empty()) {
    out.summary =
        record.unknown_error_lines == 1
            ? "Not decidable from this: one error line, not known."
            : fmt::format("Not decidable from this: {} error lines, none of them known.", record.unknown_error_lines);
  }
}

void add_codes(const LogRecord& record, Explanation& out) {
  for (const LogCode& code : record.codes) {
    const ErrorCode* known = find_error_code(std::int64_t{code.number});
    out.codes.push_back({code.number, known == nullptr ? "" : known->name, code.stage, code.first.line});
  }
}

void add_patterns(const LogRecord& record, Explanation& out) {
  for (const LogEvent& event : record.events) {
    const LogPattern& pattern = log_patterns()[static_cast<std::size_t>(event.pattern)];
    if (pattern.role == PatternRole::fact || pattern.role == PatternRole::code) continue;
    if (std::find(out.patterns.begin(), out.patterns.end(), pattern.id) == out.patterns.end())
      out.patterns.push_back(pattern.id);
  }
}

}  // namespace

std::string_view name_of(Confidence confidence) {
  switch (confidence) {
    case Confidence::none: return "none";
    case Confidence::low: return "low";
    case Confidence::medium: return "medium";
    case Confidence::high: return "high";
  }
  return "";
}

Explanation explain_record(LogRecord record) {
  Explanation out;
  EvidenceList evidence;
  const std::vector<RuleMatch> matches = match_rules(record);
  if (matches.empty()) {
    say_undecided(record, out, evidence);
  } else {
    decide(matches.front(), record, out, evidence);
  }
  for (const RuleMatch& match : matches) {
    const std::string& id = match.rule->class_id;
    if (match.rule->strength < kAlsoStrength || id == out.class_id || id == "not_decidable") continue;
    if (std::find(out.also.begin(), out.also.end(), id) == out.also.end()) out.also.push_back(id);
  }
  add_codes(record, out);
  add_patterns(record, out);
  add_node_evidence(record, evidence);
  add_other_errors(record, evidence);
  for (const EvidenceLine& line : record.unknown_errors) evidence.add(line);
  out.evidence = std::move(evidence).sorted();

  out.facts.soc = record.soc;
  out.facts.soc_name = record.soc_name;
  out.facts.arch = record.arch;
  out.facts.stack = record.stack;
  out.facts.versions = record.versions;
  out.facts.lines = record.lines;
  out.facts.noise_lines = record.noise_lines;
  out.facts.bytes = record.bytes;
  out.facts.nodes_left_out = record.nodes_left_out;
  out.facts.nodes = std::move(record.nodes);
  return out;
}

Explanation explain_log(std::string_view text) { return explain_record(read_log(text)); }

std::string explanation_words(const Explanation& e) {
  std::string words = fmt::format("{}\n{}\n{}\n{}\n", e.class_id, e.summary, e.why, e.experiment);
  for (const std::string& step : e.next_steps) words += step + '\n';
  for (const ExplainedCode& code : e.codes) words += fmt::format("{} {} {}\n", code.number, code.name, code.stage);
  for (const EvidenceLine& line : e.evidence) words += line.text + '\n';
  for (const auto& [name, value] : e.facts.values) words += fmt::format("{} {}\n", name, value);
  for (const auto& [name, value] : e.facts.versions) words += fmt::format("{} {}\n", name, value);
  words += fmt::format("{} {} {} {}\n", e.facts.soc, e.facts.soc_name, e.facts.arch, e.facts.stack);
  for (const LogNode& node : e.facts.nodes) {
    words += fmt::format("{} {} {} {}\n{}\n{}\n", node.name, node.type, node.code, node.kernel,
                         kernel_inputs_words(node.inputs), datatype_difference(node));
    for (const EvidenceLine& reason : node.reasons) words += reason_words(reason) + '\n';
  }
  return words;
}

}  // namespace qnndbg
