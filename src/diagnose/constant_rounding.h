// Which rounding brought the constants to half: MNN cuts bits off on x86-64, an ARMv8.2 build rounds to nearest.
#pragma once

#include <optional>

#include "diagnose/replay.h"

namespace qnndbg {

/// True for operators whose result depends on it: with float constants of their own, or a float constant as an operand.
bool depends_on_rounding(const GraphPlan& plan, int op);

/// Replays operators with constants under both roundings until one of them fits and the other does not. nullopt: no
/// operator of the run tells them apart.
std::optional<HalfRounding> find_constant_rounding(Replayer& replayer);

}  // namespace qnndbg
