// The table of lines that QNN, MNN and other runtimes print: data/log_patterns.json, whose fields docs/logs.md
// explains.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qnndbg {

enum class PatternRole : std::uint8_t {
  cause,        // decides the class
  symptom,      // a stage failed; decides when no cause is seen
  consequence,  // follows from an error before
  detail,       // belongs to a cause near it
  fact,         // versions, SoC, what was loaded
  code,         // a number or a name that may be an error code
  other,        // an error line that the table does not know
  noise,        // looks like an error and means nothing
  glue,         // printed without a newline: the next message stands on the same line
};

/// What the pattern says about the node that it names.
enum class NodeFate : std::uint8_t { none, refused, not_created, unregistered, unsupported };

/// How the pattern takes part in a list of data type sets.
enum class DatatypePart : std::uint8_t { none, requested, supported, member };

struct LogPattern {
  std::string id;
  PatternRole role = PatternRole::other;
  std::string class_id;  // of docs/logs.md; empty: the pattern alone decides none
  std::string stage;     // of QNN's API: "validate", "finalize", ...; empty: not told
  std::string stack;     // who prints it: "mnn", "ort", ...; empty: anybody
  std::string means;     // a short sentence
  int strength = 0;      // of the rule that the pattern is by itself; 0: what its role gives (log_rules.h)
  NodeFate fate = NodeFate::none;
  DatatypePart datatypes = DatatypePart::none;
  bool reason = false;  // says why the node that is named next was refused
  bool encode = false;  // MNN itself could not write the operator
  /// The line counts only if group `value` exceeds `share` times group `of`; empty: it always counts.
  struct Above {
    std::string value;
    std::string of;
    double share = 0;
  } only_above;
  std::vector<std::string> literals;  // a line can match only if it has one of these (case does not matter)
  std::string regex;                  // RE2 syntax, over the bytes of one line
  std::string example;
};

/// Groups of the regex that matched, by name.
using Captures = std::vector<std::pair<std::string, std::string>>;

/// The value of a group; empty when it did not take part.
std::string_view capture(const Captures& captures, std::string_view name);

struct PatternMatch {
  int pattern = -1;  // position in log_patterns()
  std::size_t begin = 0;
  std::size_t end = 0;  // of the match in the line
  Captures captures;
};

/// The whole table, in its order: earlier patterns are more specific.
std::span<const LogPattern> log_patterns();

/// Position of a pattern; -1 for an id that is not in the table.
int find_log_pattern(std::string_view id);

// Finding patterns in text: one pass of an automaton over all literals finds the lines that may match, regular
// expressions run on those alone. Linear in the text (RE2). Both functions may be called by several threads.

/// Position of the first literal of any pattern at or after `from`; npos when there is none.
std::size_t find_log_literal(std::string_view text, std::size_t from);

/// The patterns that match this line, in the order of the table. Role `other` is left out when a pattern that is no
/// fact matched, and role `code` when one with a code did: they are for what nobody else knows.
std::vector<PatternMatch> match_log_line(std::string_view line);

}  // namespace qnndbg
