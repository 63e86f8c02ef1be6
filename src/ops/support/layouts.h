// MNN's rules for the layout of an operator's output (docs/mnn-format.md, layouts). Host values do not vote: MNN
// keeps constants in the origin layout even beside NC4HW4 operands.
#pragma once

#include "ops/op.h"

namespace qnndbg {

/// The layout of the (single) data operand.
inline Layout follow_first(std::span<const Operand> inputs) {
  return inputs.empty() || inputs[0].host != nullptr ? Layout::logical : inputs[0].layout;
}

/// The layout of most device operands; channel-last wins a tie (MNN converts the others to it).
inline Layout follow_majority(std::span<const Operand> inputs) {
  int channel_last = 0;
  int logical = 0;
  for (const Operand& operand : inputs) {
    if (!operand.present || operand.host != nullptr) continue;
    (operand.layout == Layout::channel_last ? channel_last : logical) += 1;
  }
  return channel_last > 0 && channel_last >= logical ? Layout::channel_last : Layout::logical;
}

}  // namespace qnndbg
