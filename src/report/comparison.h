// Two diagnoses of (nearly) the same model, before and after a change: what was fixed, what is new, what is still
// there. `qnn-debug report --compare` prints it, and CI gates on it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/diagnosis.h"
#include "tensor/result.h"

namespace qnndbg {

/// A largest error is said to differ when one is more than this many times the other: two bits. Largest errors move
/// without anything having changed for the worse. Measured end to end on sound runs of two networks: by up to 1.5
/// between six HTP architectures, and by up to 3.1 where the constants are rounded the other way; measured on one bug
/// in six runs with other faults before it: by up to 1.7, and by 5.9 where a fault had scrambled what it reads.
inline constexpr double kNoticeableFactor = 4;

/// An end-to-end error below this share of the tensor's maximum is what one rounding to fp16 makes (2^-10).
inline constexpr double kSmallestEndToEnd = 1.0 / 1024;

enum class Trend : std::uint8_t { same, better, worse };

enum class FindingChange : std::uint8_t {
  fixed,     // before only, and what it is about was judged after
  gone,      // before only, but after could not have shown it (`reason`)
  appeared,  // after only, and what it is about was judged before
  found,     // after only, but before could not have shown it (`reason`)
  changed,   // in both, with another cause, proof, kind, or a noticeably other error
  still,     // in both
};

struct ComparedFinding {
  FindingChange change = FindingChange::still;
  std::optional<Finding> before, after;
  std::optional<OperatorRow> operator_before, operator_after;  // what it is about, when both models have it
  std::vector<std::string> what;                               // of `changed`: "cause", "proven", "kind", "error"
  Trend error = Trend::same;                                   // whether the local error grew
  std::string reason;                                          // of `gone` and `found`

  const Finding& shown() const { return after ? *after : *before; }
};

/// An operator whose state differs: right or wrong, judged or not.
struct ComparedOperator {
  OperatorRow before, after;
  Trend trend = Trend::same;
};

/// An output of the graph, in both runs compared with the fp32 baseline.
struct ComparedOutput {
  OperatorRow before, after;
  Trend trend = Trend::same;
};

/// A fact about the runs that differs: they may not be comparable.
struct ComparedFact {
  std::string what;  // "model.bytes"
  std::string before, after;
};

struct Comparison {
  Diagnosis before, after;
  Trend verdict = Trend::same;
  std::vector<ComparedFact> facts;
  std::vector<ComparedFinding> findings;    // by operator, as in `after`; those that are only before at their place
  std::vector<ComparedOperator> operators;  // only those whose state differs
  std::vector<ComparedOutput> outputs;      // all that are in both
  std::vector<OperatorRow> removed, added;  // operators of one of the models alone
  std::size_t paired = 0;                   // operators of both

  long long count(FindingChange change) const;
};

/// Operators are paired by name and type (the k-th of a name with the k-th), the others by index and type.
/// compare(a, b) mirrors compare(b, a): fixed and appeared, gone and found, before and after change places.
Comparison compare(Diagnosis before, Diagnosis after);

/// Refuses diagnoses of different models: less than half of the larger one's operators are in the other, and whatever
/// else is said about them would be chance.
Result<void> check_comparable(const Comparison& comparison);

/// What got worse, in words; empty: nothing did, and the exit status is 0. Worse is
/// - a verdict further down in clean, inconclusive, range, bug, rejected, load_failed;
/// - a finding that was not there before, warnings excepted, also where nothing was judged before;
/// - an operator that was right and is wrong, or was judged and is not;
/// - a noticeably larger end-to-end error of an output, when both runs are clean: beside a broken operator it says
///   nothing, for two errors may well have cancelled out.
/// Not worse: a larger error of an operator that was broken before, which depends on what it reads.
std::vector<std::string> what_got_worse(const Comparison& comparison);

/// The same for what got better.
std::vector<std::string> what_got_better(const Comparison& comparison);

/// "same", "better", "worse", or "mixed": some things got better and some worse.
std::string_view outcome_of(const Comparison& comparison);

std::string_view name_of(FindingChange change);
std::string_view name_of(Trend trend);

}  // namespace qnndbg
