// Why a broken stage is wrong: replay it under plausible mistakes and see which one gives the device's tensor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/counterfactuals.h"
#include "diagnose/diagnosis.h"
#include "diagnose/replay.h"

namespace qnndbg {

struct CauseVerdict {
  std::string cause = "unexplained";
  bool proven = false;
  std::vector<std::string> ties;      // other causes that reproduce the output as well
  std::vector<std::string> evidence;  // sentences with figures
  std::optional<Suspect> suspect;
};

/// Examines the first broken stage of an operator. The replayer must still hold the operator's operands.
CauseVerdict find_cause(const Replayer& replayer, const ReplayedOp& replayed, const JudgedStage& broken,
                        HalfRounding constants);

/// The same from what was tried already: the attempts of try_hypotheses for this stage.
CauseVerdict find_cause(const Replayer& replayer, const ReplayedOp& replayed, const JudgedStage& broken,
                        HalfRounding constants, const std::vector<Attempt>& attempts);

}  // namespace qnndbg
