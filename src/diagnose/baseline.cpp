#include "diagnose/baseline.h"

#include "diagnose/baseline_values.h"
#include "diagnose/threads.h"

namespace qnndbg {

Result<std::vector<BaselineGap>> run_baseline(const Model& model, const InputMap& inputs,
                                              const BaselineOptions& options,
                                              const std::function<Result<void>(const BaselineTensor&)>& sink) {
  if (model.is_offline_qnn_plugin())
    return fail("{}: this is an offline QNN model; give the model that it was made from", model.path().string());
  use_threads(options.threads);
  const Graph& graph = model.graph();
  PlanHints hints;
  for (const GraphInput& input : graph.inputs) {
    const Tensor* given = nullptr;
    for (const auto& [name, tensor] : inputs) {
      const GraphInput* named = graph.find_input(name);
      if (named != nullptr && named->tensor == input.tensor) given = &tensor;
    }
    const std::string& name = graph.tensors[static_cast<std::size_t>(input.tensor)].name;
    if (given == nullptr) return fail("--inputs gives no value for the model's input `{}`", name);
    // The converter stores an open extent as 1 or -1, so only the rank of the model's dims is binding.
    if (given->dims().size() != input.dims.size()) {
      return fail("input `{}`: dims {} were given, the model says {}", name, to_string(given->dims()),
                  to_string(input.dims));
    }
    hints.input_dims[input.tensor] = given->dims();
  }
  const GraphPlan plan = plan_graph(model, hints);
  BaselineValues values(plan);
  for (const auto& [name, tensor] : inputs) {
    const GraphInput* input = graph.find_input(name);
    if (input == nullptr) return fail("the model has no input `{}`", name);
    values.set_input(input->tensor, tensor.clone());
  }
  std::vector<BaselineGap> gaps;
  const int total = static_cast<int>(graph.ops.size());
  for (const OpNode& node : graph.ops) {
    if (options.progress && !options.progress(node.index, total, node.name)) return fail("interrupted");
    if (auto done = values.compute(node.index); !done) gaps.push_back({node.index, done.error().message});
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const Tensor* value = values.value(node.outputs[k]);
      if (value == nullptr) continue;
      if (auto taken = sink({node.outputs[k], node.index, static_cast<int>(k), value}); !taken)
        return fail(taken.error());
    }
    values.release_after(node.index);
  }
  return gaps;
}

}  // namespace qnndbg
