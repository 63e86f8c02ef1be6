#include "ops/support/quantized_constants.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qnndbg {
namespace {

/// The bias as the device holds it: an integer of 32 bits times `unit`.
float truncated(float bias, double unit) {
  // A channel whose weights are all zero may have the scale 0, which leaves no room for a bias either.
  if (unit == 0 || !std::isfinite(bias)) return 0;
  constexpr double kLow = std::numeric_limits<std::int32_t>::min();
  constexpr double kHigh = std::numeric_limits<std::int32_t>::max();
  return static_cast<float>(std::clamp(std::trunc(bias / unit), kLow, kHigh) * unit);
}

}  // namespace

Result<std::optional<IntegerConstants>> integer_conv_constants(const Model& model, int op) {
  const Graph& graph = model.graph();
  const OpNode& node = graph.ops[static_cast<std::size_t>(op)];
  const Encoding* input = node.inputs.empty() || node.inputs[0] < 0 ? nullptr : graph.meant_encoding(node.inputs[0]);
  if (input == nullptr || !std::isfinite(input->scale) || input->scale <= 0) return std::nullopt;
  auto scales = model.integer_weight_scales(op);
  if (!scales) return fail(scales.error());
  if (scales->empty()) return std::nullopt;
  auto weight = model.convolution_weight(op);
  if (!weight) return fail(weight.error());
  auto bias = model.convolution_bias(op);
  if (!bias) return fail(bias.error());
  IntegerConstants out{{weight->values().begin(), weight->values().end()},
                       {bias->values().begin(), bias->values().end()}};
  for (std::size_t c = 0; c < out.bias.size() && c < scales->size(); ++c)
    out.bias[c] = truncated(out.bias[c], input->scale * scales->values()[c]);
  return out;
}

}  // namespace qnndbg
