// Quantized convolutions whose weights the device cannot use as integers: MNN wraps them in Dequantize and Quantize.
#pragma once

#include <vector>

#include "ops/op.h"

namespace qnndbg {

/// Puts the detour around an operator's stages where the dump shows it: DequantInput (x in half), then `stages` with
/// their result in QuantOutput (half) instead of the output, CastOutput (fp32) if dumped, and the output in fixed
/// point. Otherwise returns the stages as they are. Precondition: operand 0 is the only data input, the last stage is
/// output 0.
std::vector<Stage> with_float_detour(std::vector<Stage> stages, const LowerContext& context);

}  // namespace qnndbg
