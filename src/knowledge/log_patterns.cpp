#include "knowledge/log_patterns.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

namespace qnndbg {
namespace embedded {
extern const std::string_view log_patterns_json;
}
namespace {

// RE2 builds its automata while it reads and forgets them beyond this: enough to stay fast, and together a bound on
// what a hostile log can make of them.
constexpr std::int64_t kLiteralMemory = 16 << 20;  // of the automata over all literals
constexpr std::int64_t kPatternMemory = 1 << 20;   // of one regular expression
/// Groups of one pattern; a test checks the table against it.
constexpr int kMaxGroups = 12;

PatternRole role_of(std::string_view name) {
  if (name == "cause") return PatternRole::cause;
  if (name == "symptom") return PatternRole::symptom;
  if (name == "consequence") return PatternRole::consequence;
  if (name == "detail") return PatternRole::detail;
  if (name == "fact") return PatternRole::fact;
  if (name == "code") return PatternRole::code;
  if (name == "noise") return PatternRole::noise;
  if (name == "glue") return PatternRole::glue;
  return PatternRole::other;
}

NodeFate fate_of(std::string_view name) {
  if (name == "refused") return NodeFate::refused;
  if (name == "not_created") return NodeFate::not_created;
  if (name == "unregistered") return NodeFate::unregistered;
  if (name == "unsupported") return NodeFate::unsupported;
  return NodeFate::none;
}

DatatypePart datatypes_of(std::string_view name) {
  if (name == "requested") return DatatypePart::requested;
  if (name == "supported") return DatatypePart::supported;
  if (name == "member") return DatatypePart::member;
  return DatatypePart::none;
}

std::vector<LogPattern> read_table() {
  const nlohmann::json table = nlohmann::json::parse(embedded::log_patterns_json, nullptr, /*allow_exceptions=*/false);
  std::vector<LogPattern> patterns;
  if (!table.is_object() || !table.contains("patterns")) return patterns;  // a test reads the table
  for (const nlohmann::json& entry : table["patterns"]) {
    LogPattern pattern;
    pattern.id = entry.value("id", "");
    pattern.role = role_of(entry.value("role", ""));
    pattern.class_id = entry.value("class", "");
    pattern.stage = entry.value("stage", "");
    pattern.stack = entry.value("stack", "");
    pattern.means = entry.value("means", "");
    pattern.strength = entry.value("strength", 0);
    pattern.fate = fate_of(entry.value("node", ""));
    pattern.datatypes = datatypes_of(entry.value("datatypes", ""));
    pattern.reason = entry.value("reason", false);
    pattern.encode = entry.value("encode", false);
    if (const auto above = entry.find("only_above"); above != entry.end())
      pattern.only_above = {above->value("value", ""), above->value("of", ""), above->value("share", 0.0)};
    pattern.literals = entry.value("literals", std::vector<std::string>());
    pattern.regex = entry.value("regex", "");
    pattern.example = entry.value("example", "");
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

re2::RE2::Options options() {
  re2::RE2::Options options;
  // Bytes, not characters: a log need not be UTF-8.
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  return options;
}

/// Whether the numbers that a line tells make it count.
bool is_above(const LogPattern::Above& condition, const Captures& captures) {
  if (condition.value.empty()) return true;
  const double value = std::strtod(std::string(capture(captures, condition.value)).c_str(), nullptr);
  const double of = std::strtod(std::string(capture(captures, condition.of)).c_str(), nullptr);
  // A comparison with NaN is false, and NaN is what such a line warns of.
  return !(value <= condition.share * of);
}

bool has_code(const Captures& captures) {
  return !capture(captures, "code").empty() || !capture(captures, "code2").empty();
}

/// A line that has one of these is understood.
bool takes_the_line(PatternRole role) {
  return role != PatternRole::fact && role != PatternRole::glue && role != PatternRole::code &&
         role != PatternRole::other;
}

}  // namespace

std::string_view capture(const Captures& captures, std::string_view name) {
  for (const auto& [key, value] : captures)
    if (key == name) return value;
  return {};
}

std::span<const LogPattern> log_patterns() {
  static const std::vector<LogPattern> table = read_table();
  return table;
}

int find_log_pattern(std::string_view id) {
  const std::span<const LogPattern> table = log_patterns();
  const auto found = std::find_if(table.begin(), table.end(), [&](const LogPattern& p) { return p.id == id; });
  return found == table.end() ? -1 : static_cast<int>(found - table.begin());
}

namespace {

re2::RE2::Options literal_options() {
  re2::RE2::Options literals = options();
  literals.set_case_sensitive(false);
  literals.set_max_mem(kLiteralMemory);
  return literals;
}

/// One for the whole process: RE2 objects may be used by several threads, and keep what they learned.
class Matcher {
 public:
  Matcher() : regexes_(log_patterns().size()), literals_(literal_options(), re2::RE2::UNANCHORED) {
    const std::span<const LogPattern> table = log_patterns();
    std::string alternation;
    for (std::size_t i = 0; i < table.size(); ++i) {
      for (const std::string& literal : table[i].literals) {
        const std::string quoted = re2::RE2::QuoteMeta(literal);
        literals_.Add(quoted, nullptr);
        owners_.push_back(static_cast<int>(i));
        if (!alternation.empty()) alternation += '|';
        alternation += quoted;
      }
    }
    literals_.Compile();
    first_.emplace(alternation, literal_options());
  }

  std::size_t find_literal(std::string_view text, std::size_t from) const {
    re2::StringPiece literal;
    if (!first_->Match(text, from, text.size(), re2::RE2::UNANCHORED, &literal, 1)) return std::string_view::npos;
    return static_cast<std::size_t>(literal.data() - text.data());
  }

  /// The patterns that have a literal in this line, in the order of the table.
  std::vector<int> candidates(std::string_view line) const {
    std::vector<int> found;
    re2::RE2::Set::ErrorInfo problem{};
    if (literals_.Match(line, &found, &problem)) {
      for (int& literal : found) literal = owners_[static_cast<std::size_t>(literal)];
      std::sort(found.begin(), found.end());
      found.erase(std::unique(found.begin(), found.end()), found.end());
    } else if (problem.kind != re2::RE2::Set::kNoError) {
      // The automaton ran out of memory: slower, and the same result.
      found.resize(log_patterns().size());
      std::iota(found.begin(), found.end(), 0);
    }
    return found;
  }

  std::optional<PatternMatch> try_pattern(int pattern, std::string_view line) {
    const Compiled& compiled = regex_of(pattern);
    re2::StringPiece groups[kMaxGroups];
    if (!compiled.regex->Match(line, 0, line.size(), re2::RE2::UNANCHORED, groups, compiled.groups))
      return std::nullopt;
    PatternMatch match;
    match.pattern = pattern;
    match.begin = static_cast<std::size_t>(groups[0].data() - line.data());
    match.end = match.begin + groups[0].size();
    for (const auto& [name, index] : compiled.names)
      if (groups[index].data() != nullptr) match.captures.emplace_back(name, std::string(groups[index]));
    if (!is_above(log_patterns()[static_cast<std::size_t>(pattern)].only_above, match.captures)) return std::nullopt;
    return match;
  }

 private:
  struct Compiled {
    std::once_flag once;
    std::unique_ptr<re2::RE2> regex;  // made when it is first needed
    int groups = 0;                   // the whole match counts as one
    std::vector<std::pair<std::string, int>> names;
  };

  const Compiled& regex_of(int pattern) {
    Compiled& compiled = regexes_[static_cast<std::size_t>(pattern)];
    std::call_once(compiled.once, [&] {
      const LogPattern& entry = log_patterns()[static_cast<std::size_t>(pattern)];
      compiled.regex = std::make_unique<re2::RE2>(entry.regex, options());
      compiled.groups = std::min(kMaxGroups, compiled.regex->NumberOfCapturingGroups() + 1);
      for (const auto& [name, index] : compiled.regex->NamedCapturingGroups())
        if (index < compiled.groups) compiled.names.emplace_back(name, index);
    });
    return compiled;
  }

  std::vector<Compiled> regexes_;  // by pattern
  re2::RE2::Set literals_;         // all of them: which ones are in a line
  std::vector<int> owners_;        // pattern of each of them
  std::optional<re2::RE2> first_;  // the same as one expression: where the first one is
};

Matcher& matcher() {
  static Matcher shared;
  return shared;
}

}  // namespace

std::size_t find_log_literal(std::string_view text, std::size_t from) { return matcher().find_literal(text, from); }

std::vector<PatternMatch> match_log_line(std::string_view line) {
  std::vector<PatternMatch> matches;
  bool taken = false;
  bool has_a_code = false;
  const std::span<const LogPattern> table = log_patterns();
  for (const int pattern : matcher().candidates(line)) {
    const PatternRole role = table[static_cast<std::size_t>(pattern)].role;
    if (role == PatternRole::other && taken) continue;
    if (role == PatternRole::code && has_a_code) continue;
    std::optional<PatternMatch> match = matcher().try_pattern(pattern, line);
    if (!match) continue;
    taken = taken || takes_the_line(role);
    has_a_code = has_a_code || has_code(match->captures);
    matches.push_back(std::move(*match));
  }
  return matches;
}

}  // namespace qnndbg
