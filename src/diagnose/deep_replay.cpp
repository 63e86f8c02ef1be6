#include "diagnose/deep_replay.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "diagnose/counterfactuals.h"
#include "diagnose/opened_run.h"
#include "knowledge/findings.h"

namespace qnndbg {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

Extremes extremes_of(const Tensor& tensor) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Extremes out{.min = kNone, .max = kNone};
  const auto add = [&](double value) {
    out.min = std::fmin(out.min, value);  // fmin passes over NaN
    out.max = std::fmax(out.max, value);
  };
  if (tensor.type() == DType::i32) {
    for (std::int32_t v : tensor.i32()) add(v);
    return out;
  }
  for (float v : tensor.f32()) {
    if (std::isfinite(v))
      add(v);
    else
      ++out.nonfinite;
  }
  return out;
}

TriedMistake tried_mistake(const Attempt& attempt) {
  const Hypothesis& hypothesis = attempt.hypothesis;
  return {.cause = hypothesis.cause,
          .parameter = hypothesis.parameter,
          .used = hypothesis.used,
          .meant = hypothesis.meant,
          .file = hypothesis.file,
          .free_parameters = hypothesis.free_parameters,
          .ratio = attempt.ratio,
          .sampled = attempt.sampled,
          .matches = attempt.matches,
          .decisive = attempt.decisive};
}

class OperatorReplay {
 public:
  OperatorReplay(const Model& model, const DiagnoseOptions& options, const OpenedRun& opened, int op)
      : model_(model),
        options_(options),
        opened_(opened),
        run_(opened.device()),
        node_(model.graph().ops[at(op)]),
        planned_(opened.plan().ops[at(op)]),
        replayer_(opened.replay_settings(options.half)) {}

  Result<DeepReplay> run(bool extract) {
    describe();
    replay();
    list_tensors();
    for (const JudgedStage& judged : replayed_.judged) {
      out_.stages.push_back(stage_of(judged));
      if (!judged.judgement.right()) examine(judged, out_.stages.back());
    }
    if (extract) {
      Result<OperatorCase> cut = cut_out();
      if (!cut) return fail(std::move(cut.error()));
      out_.extracted = std::move(*cut);
    }
    return std::move(out_);
  }

 private:
  void describe() {
    out_.model = model_info(model_);
    out_.run = opened_.info();
    out_.notes = opened_.notes();
    out_.op_index = node_.index;
    out_.op = node_.name;
    out_.op_type = node_.type_name;
    out_.node = node_name(node_, Stage{});
    out_.parameters = operator_parameters(model_, node_.index);
  }

  void replay() {
    if (planned_.is_input) {
      out_.status = OpStatus::set_aside;
      out_.reason = "it is an input of the graph; diagnose compares it with --inputs";
      return;
    }
    if (planned_.set_aside && !run_.dumped(node_.index)) {
      out_.status = OpStatus::set_aside;
      out_.reason = "computed on the host while the graph is shaped";
      return;
    }
    rounding_ = decide_rounding(replayer_, options_.constants, out_.run);
    replayed_ = replayer_.replay(node_.index, rounding_);
    out_.reason = replayed_.problem;
    if (!judged()) return;
    out_.status = replayed_.first_broken() != nullptr ? OpStatus::broken : OpStatus::right;
  }

  bool judged() const { return replayed_.op >= 0 && replayed_.problem.empty(); }

  // --- tensors
  // --------------------------------------------------------------------------------------------------------

  void list_tensors() {
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) {
      const int tensor = node_.inputs[k];
      if (tensor < 0) {
        out_.inputs.emplace_back().role = OperandRole::omitted;
        continue;
      }
      ReplayTensor row = tensor_row(tensor, role_of(static_cast<int>(k)));
      if (judged() && replayer_.operands()[k] != nullptr) row.range = extremes_of(*replayer_.operands()[k]);
      out_.inputs.push_back(std::move(row));
    }
    for (std::size_t k = 0; k < node_.outputs.size(); ++k) {
      ReplayTensor row = tensor_row(node_.outputs[k], OperandRole::output);
      const std::optional<Tensor>& host = opened_.plan().tensors[at(node_.outputs[k])].host;
      if (const Tensor* device = device_output(static_cast<int>(k)))
        row.range = extremes_of(*device);
      else if (host)
        row.range = extremes_of(*host);
      out_.outputs.push_back(std::move(row));
    }
  }

  OperandRole role_of(int operand) const {
    const bool host = opened_.plan().tensors[at(node_.inputs[at(operand)])].host.has_value();
    if (!host) return OperandRole::device;
    return planned_.op != nullptr && planned_.op->is_parameter(operand) ? OperandRole::parameter
                                                                        : OperandRole::constant;
  }

  ReplayTensor tensor_row(int tensor, OperandRole role) const {
    const TensorNode& known = model_.graph().tensors[at(tensor)];
    const PlannedTensor& planned = opened_.plan().tensors[at(tensor)];
    ReplayTensor row;
    row.role = role;
    row.tensor = tensor_id(tensor);
    row.name = known.name;
    row.model_encoding = known.encoding;
    if (planned.spec) {
      row.dims = planned.spec->dims;
      row.dtype = planned.spec->type;
      row.layout = std::string(name_of(planned.layout, static_cast<int>(planned.spec->dims.size())));
    }
    if (role == OperandRole::constant || role == OperandRole::parameter) return row;
    row.problem = run_.problem_of(tensor);
    if (run_.own(tensor) < 0) return row;
    const DumpEntry& entry = run_.entry(run_.own(tensor));
    row.dump_tensor = entry.name;
    row.device_dims = entry.dims;
    row.dtype = entry.type;
    if (is_quantized(entry.type)) row.encoding = entry.encoding;
    return row;
  }

  /// The device's output `k` as the replay read it; nullptr when it was not judged.
  const Tensor* device_output(int k) const {
    for (const JudgedStage& judged : replayed_.judged) {
      const Stage& stage = replayed_.stages[judged.stage];
      if (stage.name.empty() && stage.output == k) return &judged.device;
    }
    return nullptr;
  }

  // --- stages
  // ---------------------------------------------------------------------------------------------------------

  ReplayStage stage_of(const JudgedStage& judged) const {
    const Stage& stage = replayed_.stages[judged.stage];
    const DumpEntry& entry = run_.entry(judged.entry);
    const Layout layout =
        stage.name.empty() ? opened_.plan().tensors[at(node_.outputs[at(stage.output)])].layout : stage.layout;
    ReplayStage out;
    out.name = stage.name;
    out.output = stage.output;
    out.node = node_name(node_, stage);
    out.qnn_type = stage.qnn_type;
    out.dump_tensor = entry.name;
    out.dims = judged.device.dims();
    out.device_dims = entry.dims;
    out.layout = std::string(name_of(layout, judged.device.rank()));
    out.bound_name = stage.bound;
    out.bound = judged.bound;
    out.judgement = judged.judgement;
    out.metrics = compute_metrics(judged.device.f32(), judged.reference.f32());
    out.right = judged.judgement.right();
    return out;
  }

  /// What was tried for a broken stage and where its error sits; the first broken stage names the cause.
  void examine(const JudgedStage& judged, ReplayStage& stage) {
    const std::vector<Attempt> attempts = try_hypotheses(replayer_, replayed_, judged, rounding_);
    for (const Attempt& attempt : attempts) stage.tried.push_back(tried_mistake(attempt));
    stage.errors = map_errors(judged.device.f32(), judged.reference.f32(), magnitude_of(judged).f32(),
                              judged.device.dims(), judged.bound);
    if (out_.cause) return;
    out_.cause = find_cause(replayer_, replayed_, judged, rounding_, attempts);
    const FindingType& type = finding_type(out_.cause->cause);
    out_.finding_id = type.id;
    out_.title = fmt::format("{} `{}` {}", node_.type_name, node_.name, type.title);
    out_.next_steps.emplace_back(type.next);
  }

  /// Empty unless the bound needs it.
  Tensor magnitude_of(const JudgedStage& judged) const {
    return judged.bound.magnitude > 0 ? replayer_.magnitude_of(replayed_, judged.stage, rounding_) : Tensor();
  }

  // --- extraction
  // -----------------------------------------------------------------------------------------------------

  Result<OperatorCase> cut_out() const {
    if (!judged()) return fail("{} cannot be extracted, because it cannot be replayed: {}", describe_op(), out_.reason);
    OperatorCase out;
    std::vector<ModelOperand> operands;
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) operands.push_back(operand_of(k));
    auto cut = cut_operator(model_, node_.index, operands, {rounding_, options_.half});
    if (!cut) return fail(std::move(cut.error()));
    out.model = std::move(*cut);
    for (const CutTensor& input : out.model.inputs) out.inputs.push_back(replayer_.operands()[input.position]->clone());
    for (const CutTensor& output : out.model.outputs) {
      const Tensor* device = device_output(static_cast<int>(output.position));
      out.device.push_back(device == nullptr ? std::nullopt : std::optional(device->clone()));
    }
    auto replay = run_reference(*planned_.op, opened_.plan().operands(node_.index), replayer_.operands(), rounding_);
    if (!replay) return fail("{} cannot be replayed as a whole: {}", describe_op(), replay.error().message);
    out.replay = std::move(*replay);
    for (const JudgedStage& judged : replayed_.judged) {
      if (replayed_.stages[judged.stage].name.empty()) continue;
      out.stages.push_back({run_.entry(judged.entry).name, judged.device.clone(), judged.reference.clone()});
    }
    return out;
  }

  ModelOperand operand_of(std::size_t k) const {
    const int tensor = node_.inputs[k];
    if (tensor < 0) return {};
    const PlannedTensor& planned = opened_.plan().tensors[at(tensor)];
    return {.tensor = tensor,
            .type = planned.spec->type,
            .dims = planned.spec->dims,
            .layout = planned.layout,
            .constant = planned.host ? replayer_.operands()[k] : nullptr};
  }

  std::string describe_op() const { return qnndbg::describe(node_); }

  const Model& model_;
  const DiagnoseOptions& options_;
  const OpenedRun& opened_;
  const DeviceRun& run_;
  const OpNode& node_;
  const PlannedOp& planned_;
  Replayer replayer_;
  HalfRounding rounding_ = HalfRounding::toward_zero;
  ReplayedOp replayed_;
  DeepReplay out_;
};

}  // namespace

std::string_view name_of(OperandRole role) {
  switch (role) {
    case OperandRole::device: return "device";
    case OperandRole::constant: return "constant";
    case OperandRole::parameter: return "parameter";
    case OperandRole::omitted: return "omitted";
    case OperandRole::output: return "output";
  }
  return "device";
}

std::optional<double> DeepReplay::bound_ratio() const {
  std::optional<double> worst;
  for (const ReplayStage& stage : stages) worst = std::max(worst.value_or(0), stage.judgement.bound_ratio);
  return worst;
}

Result<DeepReplay> replay_operator(const Model& model, const DeepReplayOptions& options) {
  const Result<int> op = model.graph().find_op(options.op);
  if (!op) return fail(op.error());
  const auto opened = OpenedRun::open(model, options.run);
  if (!opened) return fail(opened.error());
  return OperatorReplay(model, options.run, **opened, *op).run(options.extract);
}

}  // namespace qnndbg
