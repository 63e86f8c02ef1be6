#include "diagnose/replay.h"

#include <algorithm>

namespace qnndbg {
namespace {

bool uses(const std::vector<Stage>& stages, int operand) {
  return std::any_of(stages.begin(), stages.end(), [&](const Stage& s) {
    return std::find(s.inputs.begin(), s.inputs.end(), operand) != s.inputs.end();
  });
}

}  // namespace

Tensor as_float(Tensor tensor) {
  if (tensor.type() == DType::f32) return tensor;
  Tensor out = Tensor::f32(tensor.dims());
  std::copy(tensor.i32().begin(), tensor.i32().end(), out.f32().begin());
  return out;
}

const JudgedStage* ReplayedOp::first_broken() const {
  const auto found =
      std::find_if(judged.begin(), judged.end(), [](const JudgedStage& s) { return !s.judgement.right(); });
  return found == judged.end() ? nullptr : &*found;
}

double ReplayedOp::bound_ratio() const {
  double worst = 0;
  for (const JudgedStage& stage : judged) worst = std::max(worst, stage.judgement.bound_ratio);
  return worst;
}

ReplayedOp Replayer::replay(int op, HalfRounding constants) {
  ReplayedOp out;
  out.op = op;
  const PlannedOp& planned = settings_.plan.ops[static_cast<std::size_t>(op)];
  const OpNode& node = settings_.plan.model->graph().ops[static_cast<std::size_t>(op)];
  if (!planned.problem.empty()) {
    out.problem = planned.problem;
    return out;
  }
  for (int output : node.outputs) {
    if (settings_.run.own(output) >= 0) continue;
    const std::string why = settings_.run.problem_of(output);
    out.problem = why.empty() ? fmt::format("its output {} is not in the dump", tensor_id(output)) : why;
    return out;
  }
  const std::vector<Operand> operands = settings_.plan.operands(op);
  const std::vector<Operand> outputs = settings_.plan.outputs(op);
  auto stages = planned.op->lower({.inputs = operands, .outputs = outputs, .dumped = [&](std::string_view name) {
                                     return settings_.run.stage(op, name) >= 0;
                                   }});
  if (!stages) {
    out.problem = stages.error().message;
    return out;
  }
  out.stages = std::move(*stages);
  if (auto loaded = load_operands(op, constants); !loaded) {
    out.problem = loaded.error().message;
    return out;
  }
  stage_values_.clear();
  stage_values_.resize(out.stages.size());
  for (std::size_t s = 0; s < out.stages.size(); ++s) {
    if (auto done = run_stage(op, outputs, s, constants, out); !done) {
      out.problem = done.error().message;
      out.judged.clear();
      return out;
    }
  }
  if (out.judged.empty()) out.problem = "nothing of it is in the dump";
  return out;
}

int Replayer::entry_of(int op, const Stage& stage) const {
  if (!stage.name.empty()) {
    // A stage whose integers cannot be read is as good as not dumped: the next one is judged without it.
    const int entry = settings_.run.stage(op, stage.name);
    return entry >= 0 && encoding_problem(settings_.run.entry(entry)).empty() ? entry : -1;
  }
  const OpNode& node = settings_.plan.model->graph().ops[static_cast<std::size_t>(op)];
  return settings_.run.own(node.outputs[static_cast<std::size_t>(stage.output)]);
}

bool Replayer::in_fixed_point(int op) const {
  const OpNode& node = settings_.plan.model->graph().ops[static_cast<std::size_t>(op)];
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](int output) {
    const int entry = settings_.run.own(output);
    return entry >= 0 && is_quantized(settings_.run.entry(entry).type);
  });
}

Result<Tensor> Replayer::load_fixed_point_constant(int tensor) const {
  // Its encoding is not the model's to tell (MNN hands it one of the operator's other tensors), nor how it was rounded.
  const int inserted = settings_.run.operand(tensor, true);
  if (inserted < 0 || !is_quantized(settings_.run.entry(inserted).type))
    return fail("the fixed-point copy of its constant {} is not in the dump", tensor_id(tensor));
  const PlannedTensor& known = settings_.plan.tensors[static_cast<std::size_t>(tensor)];
  return settings_.run.load(inserted, DType::f32, known.spec->dims, Layout::logical, settings_.half);
}

Result<void> Replayer::load_operands(int op, HalfRounding constants) {
  const OpNode& node = settings_.plan.model->graph().ops[static_cast<std::size_t>(op)];
  const PlannedOp& planned = settings_.plan.ops[static_cast<std::size_t>(op)];
  owned_.clear();
  owned_.resize(node.inputs.size());
  operands_.assign(node.inputs.size(), nullptr);
  const bool fixed_point = in_fixed_point(op);
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const int tensor = node.inputs[k];
    if (tensor < 0) continue;
    const PlannedTensor& known = settings_.plan.tensors[static_cast<std::size_t>(tensor)];
    if (known.host) {
      operands_[k] = &*known.host;
      if (planned.op->is_parameter(static_cast<int>(k)) || known.host->type() != DType::f32) continue;
      if (fixed_point) {
        auto held = load_fixed_point_constant(tensor);
        if (!held) return fail(held.error());
        owned_[k] = std::move(*held);
        operands_[k] = &owned_[k];
        continue;
      }
      // A constant operand reaches the device as half, rounded like a weight.
      owned_[k] = known.host->clone();
      round_to_half(owned_[k].f32(), constants, settings_.half);
      operands_[k] = &owned_[k];
      continue;
    }
    const int entry = settings_.run.operand(tensor, fixed_point);
    if (entry < 0) {
      const std::string why = settings_.run.problem_of(tensor);
      return fail("{}", why.empty() ? fmt::format("its input {} is not in the dump", tensor_id(tensor))
                                    : fmt::format("its input {} cannot be used: {}", tensor_id(tensor), why));
    }
    auto value = settings_.run.load(entry, known.spec->type, known.spec->dims, known.layout, settings_.half);
    if (!value) return fail(value.error());
    owned_[k] = std::move(*value);
    operands_[k] = &owned_[k];
  }
  return {};
}

RunContext Replayer::context_of(const ReplayedOp& replayed, std::size_t stage, HalfRounding constants,
                                std::vector<const Tensor*>& storage) const {
  storage.clear();
  for (int from : replayed.stages[stage].inputs) {
    storage.push_back(from >= 0 ? operands_[static_cast<std::size_t>(from)]
                                : &stage_values_[static_cast<std::size_t>(-1 - from)]);
  }
  return {
      .inputs = storage, .constants = constants, .half = settings_.half, .fixed_point = in_fixed_point(replayed.op)};
}

Tensor Replayer::magnitude_of(const ReplayedOp& replayed, std::size_t stage, HalfRounding constants) const {
  std::vector<const Tensor*> storage;
  RunContext context = context_of(replayed, stage, constants, storage);
  context.want_magnitude = true;
  auto again = replayed.stages[stage].compute(context);
  return again ? std::move(again->magnitude) : Tensor();
}

std::vector<Peer> Replayer::peers(const ReplayedOp& replayed, std::size_t stage, const Dims& dims) const {
  std::vector<Peer> out;
  const Graph& graph = settings_.plan.model->graph();
  const OpNode& node = graph.ops[static_cast<std::size_t>(replayed.op)];
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const PlannedTensor& planned = settings_.plan.tensors[t];
    const int entry = settings_.run.own(static_cast<int>(t));
    if (entry < 0 || !planned.spec || planned.spec->type != DType::f32 || planned.spec->dims != dims) continue;
    if (graph.tensors[t].producer >= replayed.op) continue;
    const std::vector<int>& from = replayed.stages[stage].inputs;
    const bool own_input = std::any_of(from.begin(), from.end(), [&](int k) {
      return k >= 0 && node.inputs[static_cast<std::size_t>(k)] == static_cast<int>(t);
    });
    if (own_input) continue;
    out.push_back({settings_.run.entry(entry).name, [this, entry, layout = planned.layout, dims]() {
                     return settings_.run.load(entry, DType::f32, dims, layout, settings_.half);
                   }});
  }
  return out;
}

Result<void> Replayer::run_stage(int op, const std::vector<Operand>& outputs, std::size_t s, HalfRounding constants,
                                 ReplayedOp& out) {
  const Stage& stage = out.stages[s];
  const bool is_output = stage.name.empty();
  const int entry = entry_of(op, stage);
  std::vector<const Tensor*> storage;
  RunContext context = context_of(out, s, constants, storage);
  Bound bound = settings_.bounds.of(stage.bound);
  if (entry >= 0 && is_quantized(settings_.run.entry(entry).type)) {
    const DumpEntry& held = settings_.run.entry(entry);
    if (const std::string why = encoding_problem(held); !why.empty()) return fail("{}", why);
    bound = settings_.bounds.of_fixed_point(stage.bound, held.type, *held.encoding);
  }
  context.want_magnitude = bound.magnitude > 0;
  auto result = stage.compute(context);
  if (!result) return fail(result.error());

  const bool later_stage_reads_it =
      uses({out.stages.begin() + static_cast<std::ptrdiff_t>(s) + 1, out.stages.end()}, -1 - static_cast<int>(s));
  if (entry < 0) {
    stage_values_[s] = std::move(result->value);
    return {};
  }
  const Dims dims = result->value.dims();
  const DumpEntry& dumped = settings_.run.entry(entry);
  Layout layout = is_output ? outputs[static_cast<std::size_t>(stage.output)].layout : stage.layout;
  if (!is_output) {
    // A stage whose plane was folded otherwise ([1, a, b, C] for [1, 1, N, C]) has the same bytes.
    const auto fitting = fitting_layout(dumped.dims, dims, layout);
    const bool same_channels =
        layout == Layout::logical || dims.size() < 3 || (!dumped.dims.empty() && dumped.dims.back() == dims[1]);
    if (fitting) {
      layout = *fitting;
    } else if (element_count(dumped.dims) != element_count(dims) || !same_channels) {
      return fail("its stage {} has dims {}, {} was expected", dumped.name, to_string(dumped.dims),
                  to_string(to_device_dims(dims, layout)));
    }
  }
  auto device = settings_.run.load(entry, DType::f32, dims, layout, settings_.half);
  if (!device) return fail(device.error());
  JudgedStage judged{.stage = s,
                     .entry = entry,
                     .device = std::move(*device),
                     .reference = as_float(std::move(result->value)),
                     .bound = bound,
                     .judgement = {}};
  const std::function<std::optional<ElementValue>()> exact = [&]() -> std::optional<ElementValue> {
    if (!stage.exact) return std::nullopt;
    auto evaluator = stage.exact(context);
    if (!evaluator) return std::nullopt;
    return std::move(*evaluator);
  };
  judged.judgement =
      judge(judged.device.f32(), judged.reference.f32(), result->magnitude.f32(), bound, settings_.half, exact);
  if (settings_.observe) settings_.observe({stage, judged, result->magnitude.f32(), exact});
  if (later_stage_reads_it) stage_values_[s] = judged.device.clone();
  out.judged.push_back(std::move(judged));
  return {};
}

}  // namespace qnndbg
