// Mistakes of 2-D resize nodes.
#pragma once

#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/support/resize_kernel.h"

namespace qnndbg {

/// Source coordinate of output index i, s being the step between neighbours.
enum class ResizeCoordinates : std::uint8_t {
  asymmetric,            // i s
  half_pixel,            // (i + 0.5) s - 0.5
  half_pixel_unshifted,  // (i + 0.5) s
  align_corners,         // i (in - 1)/(out - 1)
  aligned_half_pixel     // (i + 0.5) (in - 1)/(out - 1) - 0.5: both of QNN's flags
};

/// A resize node as the model means it.
struct ResizeNode {
  ResizeSampling sampling = ResizeSampling::floor;
  ResizeCoordinates coordinates = ResizeCoordinates::asymmetric;
  ResizeAxis h = {}, w = {};
  /// The same if the step were in/out, whatever scale the model gives.
  ResizeAxis h_by_extents = {}, w_by_extents = {};
  /// The step of the model: 1/scale where it gives a scale, else in/out.
  float step_h = 1, step_w = 1;
  /// What MNN's backend asks QNN for: neither flag (asymmetric), half_pixel_centers or align_corners.
  ResizeCoordinates asked = ResizeCoordinates::asymmetric;
};

/// QNN has no scale and no rounding mode: its resize nodes step by in/out and round in a way of their own. Tried are
/// its rules under every flag, then each single deviation from the model (coordinates, scale, rounding) and their
/// combinations, then another interpolation.
std::vector<Hypothesis> resize_mistakes(const Evidence& evidence, const ResizeNode& node);

}  // namespace qnndbg
