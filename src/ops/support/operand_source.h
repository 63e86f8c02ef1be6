// Where a hypothesis takes an operand from: the stage's own inputs, altered or exchanged, or other tensors of the run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/op.h"

namespace qnndbg {

/// A tensor that somebody else may own.
using OperandValue = std::shared_ptr<const Tensor>;
using LoadOperand = std::function<Result<OperandValue>(const RunContext&)>;

/// Input `k` of the stage.
LoadOperand stage_input(std::size_t k);
/// Another tensor of the run; read anew each time, as there may be many.
LoadOperand peer_operand(Peer peer);
/// f(operand)
LoadOperand changed(LoadOperand operand, std::function<Tensor(const Tensor&)> f);

/// The peers worth reading: of many, the ones closest before the operator, which a wrong index reaches.
std::vector<Peer> nearest_peers(const Evidence& evidence, const Dims& dims);

/// An operand as a mistaken node sees it. `source` tells which element of the tensor stands at a place; negative: none
/// does, it reads as zero. Empty: as the tensor lies. Nothing is copied until the whole operand is wanted.
struct OperandView {
  LoadOperand load = {};
  Dims dims = {};
  std::function<std::int64_t(std::int64_t)> source = {};
};

struct ViewedOperand {
  OperandValue tensor;  // f32
  Dims dims;
  std::function<std::int64_t(std::int64_t)> source;

  float at(std::int64_t element) const;
  /// The tensor itself where it is seen as it lies.
  OperandValue whole() const;
};

/// An error when the tensor is not f32 or has fewer elements than the view.
Result<ViewedOperand> look(const OperandView& view, const RunContext& run);

/// A tensor that the hypothesis brings with it.
OperandView given_operand(Tensor tensor);
/// A view of zeros in place of `operand`.
OperandView zeros_for(OperandView operand);

struct LayoutMistake {
  std::string used;
  std::function<std::int64_t(std::int64_t)> source;
};
/// Memory in the model's order read as channel-last (NCHW as NHWC), and the reverse; nothing where that is the same.
std::vector<LayoutMistake> layout_mistakes(const Dims& dims);

/// True when the hypothesis comes near the device's output on a few elements; a loose line, for a first look.
/// False without Hypothesis::exact.
bool fits_sample(const Hypothesis& hypothesis, const Evidence& evidence);
bool any_fits_sample(const std::vector<Hypothesis>& list, const Evidence& evidence);

}  // namespace qnndbg
