// Counterfactual replay: run a broken stage under the mistakes that its operator declares and see which of them give
// the device's tensor.
#pragma once

#include <vector>

#include "diagnose/replay.h"

namespace qnndbg {

/// What became of one hypothesis.
struct Attempt {
  Hypothesis hypothesis;
  double ratio = 0;       // largest error of the reproduction in units of its bound; of the sample if `sampled`
  bool sampled = false;   // refuted by a sample of elements, the whole tensor was not computed
  bool matches = false;   // every element lies within the bound
  bool decisive = false;  // matches, and no match needs fewer fitted numbers
};

/// Tries every hypothesis of a stage whose device output is beyond its bound. Matches come first: those with the fewest
/// free parameters, then in the order in which the operator lists them, except that a clearly smaller residual goes
/// ahead. `own` is the stage's bound; hypotheses that name another one take it from `bounds`.
std::vector<Attempt> try_hypotheses(const Stage& stage, const Evidence& evidence, const Bound& own,
                                    const Bounds& bounds);

/// The same for a broken stage of a run. The replayer must still hold the operator's operands.
std::vector<Attempt> try_hypotheses(const Replayer& replayer, const ReplayedOp& replayed, const JudgedStage& broken,
                                    HalfRounding constants);

}  // namespace qnndbg
