#include "ops/op.h"

namespace qnndbg {

Layout Op::output_layout(std::span<const Operand> /*inputs*/) const { return Layout::logical; }

Result<std::vector<Tensor>> run_reference(const Op& op, std::span<const Operand> operands,
                                          std::span<const Tensor* const> inputs,
                                          std::optional<HalfRounding> constants) {
  auto specs = op.infer(operands);
  if (!specs) return fail(specs.error());
  std::vector<Operand> outputs;
  for (TensorSpec& spec : *specs) outputs.push_back({.present = true, .spec = std::move(spec)});
  auto stages = op.lower({.inputs = operands, .outputs = outputs, .dumped = [](std::string_view) { return false; }});
  if (!stages) return fail(stages.error());

  std::vector<Tensor> results(stages->size());
  for (std::size_t s = 0; s < stages->size(); ++s) {
    const Stage& stage = (*stages)[s];
    std::vector<const Tensor*> stage_inputs;
    for (int from : stage.inputs) {
      stage_inputs.push_back(from >= 0 ? inputs[static_cast<std::size_t>(from)]
                                       : &results[static_cast<std::size_t>(-1 - from)]);
    }
    auto result = stage.compute({.inputs = stage_inputs, .constants = constants});
    if (!result) return fail(result.error());
    results[s] = std::move(result->value);
  }
  std::vector<Tensor> out(outputs.size());
  for (std::size_t s = 0; s < stages->size(); ++s) {
    const Stage& stage = (*stages)[s];
    if (stage.name.empty()) out[static_cast<std::size_t>(stage.output)] = std::move(results[s]);
  }
  return out;
}

}  // namespace qnndbg
