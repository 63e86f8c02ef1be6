// Random networks: chains and small graphs of the operators that image and sequence models are made of.
#pragma once

#include <random>

#include "faults/network.h"

namespace qnndbg::faults {

using Rng = std::mt19937_64;

/// Uniform integer of low..high, both included.
int pick(Rng& rng, int low, int high);
/// True with this probability.
bool chance(Rng& rng, double probability);
float uniform(Rng& rng, float low, float high);
std::vector<float> normal_values(Rng& rng, std::int64_t count, float deviation);

/// 4 to 14 operators beside inputs, constants and layout conversions. Weights are scaled so that values stay near 1.
Network random_network(Rng& rng);

}  // namespace qnndbg::faults
