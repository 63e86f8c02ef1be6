#include "diagnose/baseline_values.h"

namespace qnndbg {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

BaselineValues::BaselineValues(const GraphPlan& plan) : plan_(plan) {
  const Graph& graph = plan.model->graph();
  values_.resize(graph.tensors.size());
  last_reader_.assign(graph.tensors.size(), -1);
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorNode& tensor = graph.tensors[t];
    // Released right after its producer when nobody reads it.
    last_reader_[t] = tensor.consumers.empty() ? tensor.producer : tensor.consumers.back();
  }
}

void BaselineValues::set_input(int tensor, Tensor value) { values_[at(tensor)] = std::move(value); }

const Tensor* BaselineValues::value(int tensor) const {
  const PlannedTensor& planned = plan_.tensors[at(tensor)];
  if (planned.host) return &*planned.host;
  return values_[at(tensor)] ? &*values_[at(tensor)] : nullptr;
}

Result<void> BaselineValues::compute(int op) {
  const PlannedOp& planned = plan_.ops[at(op)];
  const OpNode& node = plan_.model->graph().ops[at(op)];
  if (!planned.problem.empty()) return fail("{}", planned.problem);
  if (planned.is_input || planned.set_aside) return {};
  std::vector<const Tensor*> inputs;
  for (int input : node.inputs) {
    if (input >= 0 && value(input) == nullptr) return fail("its input {} could not be computed", tensor_id(input));
    inputs.push_back(input < 0 ? nullptr : value(input));
  }
  auto outputs = run_reference(*planned.op, plan_.operands(op), inputs, std::nullopt);
  if (!outputs) return fail(outputs.error());
  for (std::size_t k = 0; k < node.outputs.size(); ++k) values_[at(node.outputs[k])] = std::move((*outputs)[k]);
  return {};
}

void BaselineValues::release_after(int op) {
  const OpNode& node = plan_.model->graph().ops[at(op)];
  for (int tensor : node.inputs) {
    if (tensor >= 0 && last_reader_[at(tensor)] <= op) values_[at(tensor)].reset();
  }
  for (int tensor : node.outputs) {
    if (last_reader_[at(tensor)] <= op) values_[at(tensor)].reset();
  }
}

}  // namespace qnndbg
