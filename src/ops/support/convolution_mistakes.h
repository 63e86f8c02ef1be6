// The mistakes of a porter with a convolution, and a quick search for those that the device's output allows.
//
// Replaying a large convolution once per idea would cost too much. A few output elements are enough to refute nearly
// all of them: the search evaluates those from their taps and proposes only what survives. The engine
// (diagnose/counterfactuals.h) then replays the survivors in full.
#pragma once

#include <vector>

#include "ops/support/convolution_family.h"

namespace qnndbg {

struct ConvolutionCase {
  const ConvKind& kind;
  const Evidence& evidence;  // input 0 is x
  Dims out;                  // logical dims of the stage's output
  ConvVariant right;         // what the model means, constants on the half grid
  ConvVariant unrounded;     // the same, constants as the model has them
};

/// Hypotheses, most plausible first. Causes: activation_dropped, bias_*, padding_side_wrong, stride_wrong,
/// dilation_wrong, weight_scale_wrong, weight_layout_wrong, activation_wrong, weights_differ.
std::vector<Hypothesis> convolution_mistakes(ConvolutionCase wrong);

}  // namespace qnndbg
