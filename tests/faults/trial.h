// One trial: a random network, faults in it (or none), a dump on disk, and what diagnose() makes of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "faults/faults.h"

namespace qnndbg::faults {

enum class TrialKind : std::uint8_t {
  clean,
  fault,    // one
  stacked,  // two or three
  range,    // a sound run of a model whose values leave the range of half; often clean
};

std::string_view name_of(TrialKind kind);
std::optional<TrialKind> trial_kind(std::string_view name);

/// One fault, and whether it was found.
struct FaultOutcome {
  int op = -1;
  std::string op_type;
  std::string cause;
  std::string what;
  /// Largest error in units of the bound; infinite for inputs, which must agree to rounding,
  /// and where values left the range.
  double size = 0;
  bool found = false;  // its operator is accused
  /// The cause that the diagnosis gives; "-" where it gives none.
  std::string found_cause = "-";
  bool proven = false;
  bool cause_right = false;  // proven, and this cause or another that gives the same tensors
  std::vector<std::string> evidence = {};

  /// Sizes so near to the line that host arithmetic decides are neither required nor forbidden.
  bool must_be_found() const { return size > 1.02; }
  bool must_not_be_found() const { return size < 0.98; }
};

struct Outcome {
  std::uint64_t seed = 0;
  TrialKind kind = TrialKind::clean;
  std::vector<FaultOutcome> faults = {};
  std::vector<std::string> false_alarms = {};  // accused operators that are sound, with the evidence
  std::string verdict = {};
  std::string problem = {};  // the trial could not be made; nothing else counts

  /// Every fault found, the first accused operator is the first faulty one, and nobody else is accused.
  bool localized() const;
};

/// Runs one trial; the seed decides everything. Files go below `directory`, which is emptied before. `constants`: how
/// the device rounds weights.
Outcome run_trial(std::uint64_t seed, TrialKind kind, const std::filesystem::path& directory,
                  HalfRounding constants = HalfRounding::toward_zero);

/// Seed number `index` of a series.
std::uint64_t trial_seed(std::uint64_t series, TrialKind kind, int index);

/// How to run it again, and what happened; several lines.
std::string text_of(const Outcome& outcome);

}  // namespace qnndbg::faults
