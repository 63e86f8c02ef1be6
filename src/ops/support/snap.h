// From a fitted number to the plain numbers that somebody may have typed.
#pragma once

#include <vector>

namespace qnndbg {

/// Plain values near `fitted` (within 1 %), nearest first: integers and their reciprocals, powers of two, multiples of
/// 1/2, 1/4, 1/10, 1/100 and 1/1000 as the distance allows; `fitted` itself last.
std::vector<double> snap_candidates(double fitted);

}  // namespace qnndbg
