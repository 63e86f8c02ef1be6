// Errors below the bound that are systematic nevertheless: rounding to nearest has no mean, so a mean shift of a
// channel over many elements is none of its doing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "diagnose/bounds.h"
#include "tensor/tensor.h"

namespace qnndbg {

struct ChannelShift {
  std::int64_t channel = 0;
  double mean = 0;           // mean error, device - reference
  double share = 0;          // of the line: |sum of errors| / sum of lines
  double deviations = 0;     // standard deviations of what rounding leaves
  std::int64_t values = 0;   // distinct references that it rests on
  std::int64_t shifted = 0;  // channels that are shifted as significantly
  std::int64_t channels = 0;
};

/// The most significantly shifted channel of a tensor that its operator rounds once (Bounds::rounds_once), or nullopt.
/// Channels are axis 1 of four dims, the last axis of fewer.
///
/// Elements whose references lie within a sixteenth of a unit in the last place count as one observation: where inputs
/// repeat (a white margin), so do the rounding errors. An error that rounds to y is at most u|y|, so its variance is at
/// most (2u|y|)^2 / 12. Left out are ties (which hardware may round to one side), results that are flushed, and those
/// beyond 65504.
std::optional<ChannelShift> find_shift(std::span<const float> device, std::span<const float> reference,
                                       const Dims& dims, const Bound& bound);

}  // namespace qnndbg
