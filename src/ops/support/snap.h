// From a fitted number to the plain numbers that somebody may have typed.
#pragma once

#include <vector>

namespace qnndbg {

/// Plain values in low..high, plainest first: the decimals with the fewest digits, then reciprocals of small integers
/// and powers of two; the middle of the interval last. Empty when the interval is, or is not finite.
std::vector<double> plain_values(double low, double high);

/// plain_values() in the neighbourhood of a least-squares fit: within `relative` of it.
std::vector<double> snap_candidates(double fitted, double relative = 0.002);

}  // namespace qnndbg
