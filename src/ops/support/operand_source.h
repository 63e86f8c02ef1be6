// Where a hypothesis takes an operand from: the stage's own inputs, altered or exchanged, or other tensors of the run.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ops/op.h"

namespace qnndbg {

/// A tensor that somebody else may own.
using OperandValue = std::shared_ptr<const Tensor>;
using LoadOperand = std::function<Result<OperandValue>(const RunContext&)>;

/// Input `k` of the stage.
LoadOperand stage_input(std::size_t k);
/// A tensor that the hypothesis brings with it.
LoadOperand given_operand(Tensor tensor);
/// Another tensor of the run; read anew each time, as there may be many.
LoadOperand peer_operand(Peer peer);
/// f(operand)
LoadOperand changed(LoadOperand operand, std::function<Tensor(const Tensor&)> f);

/// The peers worth reading: of many, the ones closest before the operator, which a wrong index reaches.
std::vector<Peer> nearest_peers(const Evidence& evidence, const Dims& dims);

/// True when reading a tensor of these dims in the other layout gives another tensor.
bool layout_matters(const Dims& dims);
/// Memory in the model's order, read as channel-last (NCHW as NHWC), and the reverse; f32.
Tensor read_as_channel_last(const Tensor& tensor);
Tensor read_as_logical(const Tensor& channel_last);

/// True when the hypothesis comes near the device's output on a few elements; a loose line, for a first look.
/// False without Hypothesis::exact.
bool fits_sample(const Hypothesis& hypothesis, const Evidence& evidence);
bool any_fits_sample(const std::vector<Hypothesis>& list, const Evidence& evidence);

}  // namespace qnndbg
