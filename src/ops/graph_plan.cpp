#include "ops/graph_plan.h"

#include <algorithm>
#include <array>

#include "ops/registry.h"

namespace qnndbg {
namespace {

Operand as_operand(const PlannedTensor& tensor) {
  return {.present = true,
          .spec = tensor.spec.value_or(TensorSpec{}),
          .layout = tensor.layout,
          .host = tensor.host ? &*tensor.host : nullptr};
}

/// Operators that read NC4HW4 whatever made it (the converter inserts a ConvertTensor otherwise).
bool reads_channel_last(std::string_view type_name) {
  constexpr std::array<std::string_view, 10> kTypes{"Convolution",   "ConvolutionDepthwise",
                                                    "Deconvolution", "DeconvolutionDepthwise",
                                                    "Pooling",       "Pooling3D",
                                                    "Interp",        "Scale",
                                                    "PReLU",         "ConvInt8"};
  return std::find(kTypes.begin(), kTypes.end(), type_name) != kTypes.end();
}

class Planner {
 public:
  Planner(const Model& model, const PlanHints& hints) : model_(model), graph_(model.graph()), hints_(hints) {
    plan_.model = &model;
    plan_.ops.resize(graph_.ops.size());
    plan_.tensors.resize(graph_.tensors.size());
    formats_.resize(graph_.tensors.size(), Layout::logical);
  }

  GraphPlan run() {
    for (const GraphInput& input : graph_.inputs) plan_input(input);
    for (const OpNode& node : graph_.ops) {
      if (!plan_.ops[at(node.index)].is_input) plan_op(node);
    }
    return std::move(plan_);
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  void plan_input(const GraphInput& input) {
    plan_.ops[at(input.op)].is_input = true;
    PlannedTensor& tensor = plan_.tensors[at(input.tensor)];
    const auto given = hints_.input_dims.find(input.tensor);
    const Dims& dims = given == hints_.input_dims.end() ? input.dims : given->second;
    const Layout rule = input.format == MnnFormat::nc4hw4 ? Layout::channel_last : Layout::logical;
    if (check_dims(dims)) {
      set_output(input.tensor, {input.type == DType::i32 ? DType::i32 : DType::f32, dims}, rule);
    } else {
      plan_.ops[at(input.op)].problem =
          fmt::format("the model leaves the input's dims {} open; give the inputs", to_string(dims));
      tensor.layout = rule;
    }
  }

  void set_output(int tensor, TensorSpec spec, Layout rule) {
    PlannedTensor& planned = plan_.tensors[at(tensor)];
    planned.layout = rule;
    if (hints_.dumped_layout) planned.layout = hints_.dumped_layout(tensor, spec.dims, rule).value_or(rule);
    planned.spec = std::move(spec);
  }

  void plan_op(const OpNode& node) {
    PlannedOp& planned = plan_.ops[at(node.index)];
    auto made = make_op(model_, node);
    if (!made) return give_up(node, made.error().message);
    planned.op = std::move(*made);
    for (int input : node.inputs) {
      // Shape and Rank need the dims of their operand too, so one rule serves all.
      if (input >= 0 && !plan_.tensors[at(input)].spec)
        return give_up(node, fmt::format("the shape of its input {} is not known", tensor_id(input)));
    }
    const std::vector<Operand> operands = plan_.operands(node.index);
    auto specs = planned.op->infer(operands);
    if (!specs) return give_up(node, specs.error().message);
    if (specs->size() < node.outputs.size())
      return give_up(node, fmt::format("it has {} outputs, {} were expected", node.outputs.size(), specs->size()));
    const Layout layout = planned.op->output_layout(formatted(node, operands));
    const bool all_host = !operands.empty() && std::all_of(operands.begin(), operands.end(), [](const Operand& o) {
      return !o.present || o.host != nullptr;
    });
    planned.set_aside = planned.op->shape_only() || all_host;
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const Layout rule = planned.set_aside || (*specs)[k].dims.size() < 3 ? Layout::logical : layout;
      if (!planned.set_aside) formats_[at(node.outputs[k])] = layout;
      set_output(node.outputs[k], std::move((*specs)[k]), rule);
    }
    if (planned.set_aside) evaluate(node, operands);
  }

  /// The operands with MNN's format as their layout: a matrix made of NC4HW4 data has one order on the device, but
  /// keeps the format, and what is made of it later is NC4HW4 again.
  std::vector<Operand> formatted(const OpNode& node, std::vector<Operand> operands) const {
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (operands[k].present && operands[k].spec.dims.size() < 3) operands[k].layout = formats_[at(node.inputs[k])];
    }
    return operands;
  }

  /// Computes host outputs from host operands.
  void evaluate(const OpNode& node, const std::vector<Operand>& operands) {
    std::vector<const Tensor*> inputs;
    for (const Operand& operand : operands) inputs.push_back(operand.host);
    auto values = run_reference(*plan_.ops[at(node.index)].op, operands, inputs, std::nullopt);
    if (!values) return give_up(node, values.error().message);
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      plan_.tensors[at(node.outputs[k])].host = std::move((*values)[k]);
  }

  void give_up(const OpNode& node, std::string problem) {
    PlannedOp& planned = plan_.ops[at(node.index)];
    planned.problem = std::move(problem);
    planned.set_aside = false;
    if (!hints_.dumped_spec) return;
    for (int output : node.outputs) {
      const std::vector<int>& consumers = graph_.tensors[at(output)].consumers;
      const bool channel_last = std::any_of(consumers.begin(), consumers.end(),
                                            [&](int op) { return reads_channel_last(graph_.ops[at(op)].type_name); });
      if (auto spec = hints_.dumped_spec(output, channel_last)) {
        plan_.tensors[at(output)].spec = std::move(*spec);
        plan_.tensors[at(output)].layout = channel_last ? Layout::channel_last : Layout::logical;
      }
    }
  }

  const Model& model_;
  const Graph& graph_;
  const PlanHints& hints_;
  GraphPlan plan_;
  std::vector<Layout> formats_;  // by tensor
};

}  // namespace

std::vector<Operand> GraphPlan::operands(int op) const {
  std::vector<Operand> operands;
  for (int input : model->graph().ops[static_cast<std::size_t>(op)].inputs) {
    operands.push_back(input < 0 ? Operand{} : as_operand(tensors[static_cast<std::size_t>(input)]));
  }
  return operands;
}

std::vector<Operand> GraphPlan::outputs(int op) const {
  std::vector<Operand> outputs;
  for (int output : model->graph().ops[static_cast<std::size_t>(op)].outputs)
    outputs.push_back(as_operand(tensors[static_cast<std::size_t>(output)]));
  return outputs;
}

GraphPlan plan_graph(const Model& model, const PlanHints& hints) { return Planner(model, hints).run(); }

}  // namespace qnndbg
