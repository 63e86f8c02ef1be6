// From symptoms to a class: data/log_rules.json. docs/logs.md explains the fields.
//
// Every pattern with a class is a rule by itself; the rules of the file combine patterns. Of the rules that hold the
// strongest decides, and among equals the one whose first line comes first: later errors are consequences.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "knowledge/explanation.h"

namespace qnndbg {

struct LogRule {
  std::string id;
  std::string class_id;
  int strength = 0;
  Confidence confidence = Confidence::none;
  /// Each clause must hold; it holds if one of its conditions does. A condition is the id of a pattern, "code:1002",
  /// "code:1002@finalize", "stack:mnn",
  /// "fact:unknown-soc" (a SoC number that QNN is not known to have), "node:refused-and-not-created" (one node that
  /// validation refused and finalize then stopped at) or "log:silent" (it has lines, and none reports an error). The
  /// first clause says where the rule's first line is.
  std::vector<std::vector<std::string>> when;
  std::vector<std::string> unless;    // conditions of which none may hold
  std::vector<std::string> evidence;  // further patterns whose lines support it
  std::string summary;                // template: {name} is a value; [ ... ] goes when a value in it is missing
  std::string why;
  std::string experiment;
  std::vector<std::string> next_steps;  // templates; empty: those of the class
};

/// Rules of the file, then one for each pattern that has a class, then one for each error code that decides alone.
std::span<const LogRule> log_rules();

/// A rule that holds for a log.
struct RuleMatch {
  const LogRule* rule = nullptr;
  std::uint64_t line = 0;               // of the first clause
  std::vector<const LogEvent*> events;  // that fulfil it and support it, by line
};

/// The rules that hold, the one that decides first.
std::vector<RuleMatch> match_rules(const LogRecord& record);

}  // namespace qnndbg
