#include "diagnose/diagnose.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "diagnose/baseline_values.h"
#include "diagnose/causes.h"
#include "diagnose/constant_rounding.h"
#include "diagnose/encodings.h"
#include "diagnose/input_check.h"
#include "diagnose/log_evidence.h"
#include "diagnose/opened_run.h"
#include "diagnose/replay.h"
#include "diagnose/shift.h"
#include "diagnose/verdict.h"
#include "knowledge/findings.h"

namespace qnndbg {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// "[0, 3, 12, 7]" of a flat element index.
std::string position_text(std::int64_t element, const Dims& dims) {
  if (dims.empty()) return "[]";
  std::vector<std::int64_t> index(dims.size());
  for (std::size_t k = dims.size(); k-- > 0;) {
    index[k] = element % dims[k];
    element /= dims[k];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

float max_abs(const Tensor& tensor) {
  float max = 0;
  for (float v : tensor.f32()) max = std::max(max, std::fabs(v));
  return max;
}

ErrorFigure figure_of(const Metrics& metrics, std::optional<double> bound_ratio) {
  return {.max_abs = metrics.max_abs, .max_rel = metrics.max_rel, .bound_ratio = bound_ratio};
}

/// One run of the main job; the steps stand in diagnose() at the end of the file.
class Diagnoser {
 public:
  Diagnoser(const Model& model, const DiagnoseOptions& options, const OpenedRun& opened, Diagnosis& out)
      : graph_(model.graph()),
        options_(options),
        execution_(opened.execution()),
        run_(opened.device()),
        plan_(opened.plan()),
        replayer_(opened.replay_settings(options.half)),
        bounds_(opened.bounds()),
        baseline_(opened.plan()),
        out_(out),
        tainted_(graph_.tensors.size(), false),
        end_to_end_(graph_.tensors.size()) {}

  Result<void> diagnose() {
    list_tensors();
    judge_inserted_copies();
    rounding_ = decide_rounding(replayer_, options_.constants, out_.run);
    const int total = static_cast<int>(graph_.ops.size());
    for (const OpNode& node : graph_.ops) {
      if (options_.progress && !options_.progress(node.index, total, node.name)) return fail("interrupted");
      visit(node);
    }
    report_printed_scales();
    return {};
  }

 private:
  void list_tensors() {
    for (std::size_t i = 0; i < execution_.entries.size(); ++i) {
      const DumpEntry& entry = execution_.entries[i];
      const DumpRole& role = run_.roles()[i];
      TensorRow row;
      row.name = entry.name;
      row.device_dims = entry.dims;
      row.dims = entry.dims;
      row.dtype = entry.type;
      row.encoding = entry.encoding;
      row.problem = entry.problem.empty() ? run_.mismatch(static_cast<int>(i)) : entry.problem;
      row.op_index = role.op;
      if (role.tensor >= 0) {
        row.tensor = tensor_id(role.tensor);
        row.op_index = graph_.tensors[at(role.tensor)].producer;
        const PlannedTensor& planned = plan_.tensors[at(role.tensor)];
        const Layout layout = planned.layout;
        row.dims = to_logical_dims(entry.dims, layout);
        row.layout = std::string(name_of(layout, static_cast<int>(entry.dims.size())));
        if (const Encoding* meant = graph_.meant_encoding(role.tensor); meant != nullptr && is_quantized(entry.type))
          row.model_encoding = *meant;
      }
      out_.tensors.push_back(std::move(row));
    }
  }

  void visit(const OpNode& node) {
    OperatorRow row;
    row.index = node.index;
    row.name = node.name;
    row.type = node.type_name;
    for (int t : node.inputs) {
      if (t >= 0) row.inputs.push_back(tensor_id(t));
    }
    for (int t : node.outputs) row.outputs.push_back(tensor_id(t));

    const PlannedOp& planned = plan_.ops[at(node.index)];
    ++out_.coverage.ops_total;
    if (planned.is_input) {
      visit_input(node, row);
    } else if (planned.set_aside && !run_.dumped(node.index)) {
      row.status = OpStatus::set_aside;
      row.reason = "computed on the host while the graph is shaped";
    } else {
      visit_operator(node, row);
    }
    count(node, row);
    const bool taint = row.status == OpStatus::broken || row.status == OpStatus::inherited ||
                       (row.status == OpStatus::not_judged && reads_tainted(node));
    for (int t : node.outputs) tainted_[at(t)] = taint;
    out_.operators.push_back(std::move(row));
    baseline_.release_after(node.index);
  }

  void count(const OpNode& node, const OperatorRow& row) {
    if (row.status == OpStatus::set_aside) {
      ++out_.coverage.ops_set_aside;
      return;
    }
    const bool dumped = run_.dumped(node.index);
    if (dumped) ++out_.coverage.ops_dumped;
    if (row.status == OpStatus::not_judged) {
      out_.coverage.not_judged.push_back({node.index, node.name, node.type_name, row.reason});
    } else if (dumped) {
      ++out_.coverage.ops_judged;
    }
  }

  bool reads_tainted(const OpNode& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](int t) { return t >= 0 && tainted_[at(t)]; });
  }

  // --- inputs -----------------------------------------------------------------------------------------------------

  const Tensor* given_input(int tensor) const {
    if (!options_.inputs) return nullptr;
    for (const auto& [name, value] : *options_.inputs) {
      const GraphInput* input = graph_.find_input(name);
      if (input != nullptr && input->tensor == tensor) return &value;
    }
    return nullptr;
  }

  void visit_input(const OpNode& node, OperatorRow& row) {
    const int tensor = node.outputs.empty() ? -1 : node.outputs[0];
    if (tensor < 0 || !plan_.tensors[at(tensor)].spec) {
      row.status = OpStatus::not_judged;
      row.reason =
          plan_.ops[at(node.index)].problem.empty() ? "its dims are not known" : plan_.ops[at(node.index)].problem;
      return;
    }
    const PlannedTensor& planned = plan_.tensors[at(tensor)];
    const Tensor* given = given_input(tensor);
    std::optional<Tensor> device;
    if (run_.own(tensor) >= 0) {
      auto loaded = run_.load(run_.own(tensor), planned.spec->type, planned.spec->dims, planned.layout, options_.half);
      if (loaded) device = std::move(*loaded);
    }
    row.status = OpStatus::set_aside;
    row.reason = given == nullptr ? "no input was given to compare it with" : "the dump does not hold it";
    if (given != nullptr && device) compare(node, tensor, *given, *device, row);

    // The baseline starts from what was given; without it, from what the device had.
    if (given != nullptr && given->dims() == planned.spec->dims && given->type() == planned.spec->type) {
      baseline_.set_input(tensor, given->clone());
    } else if (device) {
      baseline_.set_input(tensor, std::move(*device));
    }
  }

  void compare(const OpNode& node, int tensor, const Tensor& given, const Tensor& device, OperatorRow& row) {
    std::optional<InputDifference> difference;
    if (given.size() != device.size() || given.type() != device.type()) {
      difference = InputDifference{"input_differs", fmt::format("the dump's input has dims {}, the given one {}",
                                                                to_string(device.dims()), to_string(given.dims()))};
    } else {
      difference = compare_input(device, given);
    }
    row.status = difference ? OpStatus::broken : OpStatus::right;
    row.reason.clear();
    std::optional<ErrorFigure> error;
    if (given.size() == device.size() && given.type() == DType::f32 && device.type() == DType::f32) {
      const Metrics metrics = compute_metrics(device.f32(), given.f32());
      TensorRow& tensor_row = out_.tensors[at(run_.own(tensor))];
      tensor_row.baseline = metrics;
      error = figure_of(metrics, std::nullopt);
      row.end_to_end = error;
      end_to_end_[at(tensor)] = error;
    }
    if (!difference) return;
    Finding finding = make_finding(node, FindingKind::input, difference->cause);
    finding.tensor = tensor_id(tensor);
    finding.dump_tensor = run_.entry(run_.own(tensor)).name;
    finding.proven = true;
    finding.local_error = error;
    finding.evidence.push_back(difference->evidence);
    out_.findings.push_back(std::move(finding));
  }

  // --- operators --------------------------------------------------------------------------------------------------

  /// Where the run does not show how constants were rounded, an operator is right if it is so under either rounding.
  ReplayedOp replay(const OpNode& node) {
    ReplayedOp replayed = replayer_.replay(node.index, rounding_);
    if (!out_.run.constant_rounding.empty() || replayed.first_broken() == nullptr ||
        !depends_on_rounding(plan_, node.index))
      return replayed;
    ReplayedOp other = replayer_.replay(node.index, HalfRounding::nearest);
    if (other.problem.empty() && other.first_broken() == nullptr) return other;
    return replayer_.replay(node.index, rounding_);  // its operands must be loaded for what follows
  }

  void visit_operator(const OpNode& node, OperatorRow& row) {
    ReplayedOp replayed = replay(node);
    const bool have_baseline = baseline_.compute(node.index).has_value();
    std::optional<Finding> encoding = encoding_finding(node);
    if (!replayed.problem.empty()) {
      row.status = encoding ? OpStatus::broken : OpStatus::not_judged;
      if (encoding) {
        encoding->evidence.push_back(fmt::format("its values were not judged: {}", replayed.problem));
        out_.findings.push_back(std::move(*encoding));
      } else {
        row.reason = replayed.problem;
      }
      if (have_baseline) compare_outputs_with_baseline(node, nullptr, row);
      return;
    }
    row.bound_ratio = replayed.bound_ratio();
    for (const JudgedStage& stage : replayed.judged) record_stage(node, replayed.stages[stage.stage], stage);
    if (out_.details) add_details(node, replayed);
    if (have_baseline) compare_outputs_with_baseline(node, &replayed, row);
    const JudgedStage* broken = replayed.first_broken();
    row.status = broken != nullptr || encoding ? OpStatus::broken
                 : reads_tainted(node)         ? OpStatus::inherited
                                               : OpStatus::right;
    // Wrong values or wrong inputs may well leave the range; that says nothing about the calibration.
    if (encoding || row.status == OpStatus::right) report_saturation(node, replayed, encoding);
    if (encoding) {
      report_encoding(replayed, broken, std::move(*encoding));
    } else if (broken != nullptr) {
      report_bug(node, replayed, *broken);
    }
    report_range(node, replayed);
    report_shift(node, replayed);
    explain_bounds(node, replayed);
    judge_boundaries(node, replayed, row);
  }

  void record_stage(const OpNode& node, const Stage& stage, const JudgedStage& judged) {
    TensorRow& row = out_.tensors[at(judged.entry)];
    row.local = compute_metrics(judged.device.f32(), judged.reference.f32());
    row.bound_ratio = judged.judgement.bound_ratio;
    row.within_bound = judged.judgement.within_bound;
    if (!stage.name.empty()) {
      row.op_index = node.index;
      row.dims = judged.device.dims();
      row.layout = std::string(name_of(stage.layout, judged.device.rank()));
    }
  }

  void add_details(const OpNode& node, const ReplayedOp& replayed) {
    for (const JudgedStage& judged : replayed.judged) {
      const Tensor magnitude =
          judged.bound.magnitude > 0 ? replayer_.magnitude_of(replayed, judged.stage, rounding_) : Tensor();
      TensorDetails details;
      details.name = run_.entry(judged.entry).name;
      details.op_index = node.index;
      details.histogram = histogram_of(judged.device.f32(), judged.reference.f32(), kHistogramBins);
      details.errors = map_errors(judged.device.f32(), judged.reference.f32(), magnitude.f32(), judged.device.dims(),
                                  judged.bound, judged.judgement.right() ? kSoundMap : kBrokenMap);
      out_.details->tensors.push_back(std::move(details));
    }
  }

  /// Device value of output `k` if the replay already holds it.
  static const Tensor* judged_output(const ReplayedOp* replayed, int k) {
    if (replayed == nullptr) return nullptr;
    for (const JudgedStage& stage : replayed->judged) {
      const Stage& made = replayed->stages[stage.stage];
      if (made.name.empty() && made.output == k) return &stage.device;
    }
    return nullptr;
  }

  void compare_outputs_with_baseline(const OpNode& node, const ReplayedOp* replayed, OperatorRow& row) {
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const int tensor = node.outputs[k];
      const Tensor* expected = baseline_.value(tensor);
      const int entry = run_.own(tensor);
      if (expected == nullptr || entry < 0 || expected->type() != DType::f32) continue;
      std::optional<Tensor> loaded;
      const Tensor* device = judged_output(replayed, static_cast<int>(k));
      if (device == nullptr) {
        auto value = run_.load(entry, DType::f32, expected->dims(), plan_.tensors[at(tensor)].layout, options_.half);
        if (!value) continue;
        loaded = std::move(*value);
        device = &*loaded;
      }
      if (device->size() != expected->size()) continue;
      const Metrics metrics = compute_metrics(device->f32(), expected->f32());
      out_.tensors[at(entry)].baseline = metrics;
      const ErrorFigure figure = figure_of(metrics, std::nullopt);
      end_to_end_[at(tensor)] = figure;
      if (!row.end_to_end || figure.max_rel > row.end_to_end->max_rel) row.end_to_end = figure;
    }
  }

  Finding make_finding(const OpNode& node, FindingKind kind, std::string_view cause) const {
    const FindingType& type = finding_type(cause);
    Finding finding;
    finding.id = type.id;
    finding.kind = kind;
    finding.op = node.name;
    finding.op_index = node.index;
    finding.op_type = node.type_name;
    finding.cause = cause;
    finding.title = fmt::format("{} `{}` {}", node.type_name, node.name, type.title);
    finding.next_steps.emplace_back(type.next);
    return finding;
  }

  /// The error of the operator's device inputs against the baseline: what it was handed.
  std::optional<ErrorFigure> inherited_error(const OpNode& node) const {
    std::optional<ErrorFigure> worst;
    for (int t : node.inputs) {
      if (t < 0 || !end_to_end_[at(t)]) continue;
      if (!worst || end_to_end_[at(t)]->max_rel > worst->max_rel) worst = end_to_end_[at(t)];
    }
    return worst;
  }

  // --- fixed point ------------------------------------------------------------------------------------------------

  /// The finding for an encoding of the operator that is not the model's; scales that were merely printed with too few
  /// digits are kept for one warning at the end.
  std::optional<Finding> encoding_finding(const OpNode& node) {
    std::optional<Finding> finding;
    for (const WrongEncoding& wrong : wrong_encodings(graph_, run_, node)) {
      if (wrong.difference.digits) {
        printed_scales_.push_back({node.index, wrong});
      } else if (!finding) {
        finding = finding_of(node, wrong, FindingKind::bug);
      } else {
        finding->evidence.push_back(wrong.sentence);
      }
    }
    return finding;
  }

  Finding finding_of(const OpNode& node, const WrongEncoding& wrong, FindingKind kind) const {
    Finding finding = make_finding(node, kind, wrong.difference.cause);
    finding.output = wrong.output;
    finding.tensor = node.outputs.empty() ? "" : tensor_id(node.outputs[at(wrong.output)]);
    finding.dump_tensor = run_.entry(wrong.entry).name;
    finding.proven = true;
    finding.evidence.push_back(wrong.sentence);
    finding.suspect = Suspect{"source/backend/qnn/backend/QNNBackend.cpp",
                              fmt::format("quantizeParams of {}", finding.dump_tensor), wrong.used, wrong.meant};
    return finding;
  }

  /// An operator with a wrong encoding has one finding, and a second one only for another mistake that is proven.
  void report_encoding(const ReplayedOp& replayed, const JudgedStage* broken, Finding encoding) {
    for (const JudgedStage& stage : replayed.judged) {
      if (run_.entry(stage.entry).name != encoding.dump_tensor) continue;
      encoding.local_error = figure_of(*out_.tensors[at(stage.entry)].local, stage.judgement.bound_ratio);
    }
    const OpNode& node = graph_.ops[at(replayed.op)];
    encoding.inherited_error = inherited_error(node);
    if (broken == nullptr) {
      encoding.evidence.emplace_back("with the dump's own encodings the replay gives the device's values");
      out_.findings.push_back(std::move(encoding));
      return;
    }
    Finding values = bug_finding(node, replayed, *broken);
    if (!values.proven)
      std::move(values.evidence.begin(), values.evidence.end(), std::back_inserter(encoding.evidence));
    out_.findings.push_back(std::move(encoding));
    if (values.proven) out_.findings.push_back(std::move(values));
  }

  /// One warning for all scales that lost digits on their way, at the tensor where it matters most.
  void report_printed_scales() {
    if (printed_scales_.empty()) return;
    const auto worst = std::max_element(
        printed_scales_.begin(), printed_scales_.end(),
        [](const auto& a, const auto& b) { return a.wrong.difference.relative < b.wrong.difference.relative; });
    Finding finding = finding_of(graph_.ops[at(worst->op)], worst->wrong, FindingKind::warning);
    finding.evidence.push_back(
        fmt::format("{} of the dumped scales differ from the model's by {:.2g} or less: they were printed with too few "
                    "digits",
                    printed_scales_.size(), worst->wrong.difference.relative));
    out_.findings.push_back(std::move(finding));
  }

  /// Elements that the tensor cannot hold. With the model's own encoding that is a choice of the calibration and no
  /// bug, but worth a warning when it concerns many.
  void report_saturation(const OpNode& node, const ReplayedOp& replayed, std::optional<Finding>& encoding) {
    constexpr double kManySaturate = 0.01;
    for (const JudgedStage& stage : replayed.judged) {
      if (!stage.bound.clip || stage.device.empty()) continue;
      // Below the range it is no loss where a ReLU follows.
      const bool before_relu =
          stage.stage + 1 < replayed.stages.size() && replayed.stages[stage.stage + 1].qnn_type.starts_with("Relu");
      const std::int64_t low = before_relu ? 0 : stage.judgement.beyond_low;
      const double share =
          static_cast<double>(stage.judgement.beyond_high + low) / static_cast<double>(stage.device.size());
      if (share < kManySaturate) continue;
      std::string sentence = fmt::format(
          "{:.3g} % of the elements of {} lie beyond what it can hold ({:.5g} to {:.5g}); the replay reaches {:.5g}",
          100 * share, run_.entry(stage.entry).name, stage.bound.clip->low, stage.bound.clip->high,
          stage.judgement.beyond_high > 0 ? stage.judgement.highest : stage.judgement.lowest);
      if (encoding) {
        encoding->evidence.push_back(std::move(sentence));
        return;
      }
      Finding finding = make_finding(node, FindingKind::warning, "quant_saturation");
      finding.output = replayed.stages[stage.stage].output;
      finding.tensor = tensor_id(node.outputs[at(finding.output)]);
      finding.dump_tensor = run_.entry(stage.entry).name;
      finding.proven = true;
      finding.evidence.push_back(std::move(sentence));
      out_.findings.push_back(std::move(finding));
      return;
    }
  }

  /// Quantize nodes that MNN put before operators in fixed point: the copy is the fp32 side, rounded to its steps.
  void judge_inserted_copies() {
    for (const InsertedCopy& copy : run_.inserted()) {
      TensorRow& row = out_.tensors[at(copy.entry)];
      row.tensor = tensor_id(copy.tensor);
      const int producer = graph_.tensors[at(copy.tensor)].producer;
      // A constant is quantized while the graph is built, and the library cuts it off instead of rounding it (seen on
      // libQnnHtp.so 2.51); what reads it is judged with the device's values.
      if (!copy.fixed_point || copy.cast < 0 || producer < 0 || plan_.tensors[at(copy.tensor)].host) continue;
      const DumpEntry& held = run_.entry(copy.entry);
      auto device = run_.load(copy.entry, DType::f32, held.dims, Layout::logical, options_.half);
      auto reference = run_.load(copy.cast, DType::f32, held.dims, Layout::logical, options_.half);
      if (!device || !reference) continue;
      // To 16 bits the library multiplies in half precision, which has coarser steps (data/bounds.json).
      const char* key = size_of(held.type) == 1 ? "exact" : "Quantize";
      const Judgement judgement = judge(device->f32(), reference->f32(), {},
                                        bounds_.of_fixed_point(key, held.type, *held.encoding), options_.half, {});
      row.local = compute_metrics(device->f32(), reference->f32());
      row.bound_ratio = judgement.bound_ratio;
      row.within_bound = judgement.within_bound;
      report_inserted_copy(copy, graph_.ops[at(producer)], judgement);
    }
  }

  void report_inserted_copy(const InsertedCopy& copy, const OpNode& maker, const Judgement& judgement) {
    const auto wrong = wrong_encoding(graph_, run_, copy.entry, copy.tensor);
    if (wrong && wrong->difference.digits) printed_scales_.push_back({maker.index, *wrong});
    const bool encoding = wrong && !wrong->difference.digits;
    if (!encoding && judgement.right()) return;
    Finding finding =
        encoding ? finding_of(maker, *wrong, FindingKind::bug) : make_finding(maker, FindingKind::bug, "cast_wrong");
    finding.op.clear();
    finding.op_type = "Quantize";
    finding.tensor = tensor_id(copy.tensor);
    finding.dump_tensor = run_.entry(copy.entry).name;
    finding.node = copy.node;
    finding.title = fmt::format("the Quantize of `{}` {}", maker.name, finding_type(finding.cause).title);
    finding.local_error = figure_of(*out_.tensors[at(copy.entry)].local, judgement.bound_ratio);
    if (!judgement.right())
      finding.evidence.push_back(fmt::format("{} is not {} rounded to steps of {:.6g}", finding.dump_tensor,
                                             run_.entry(copy.cast).name, run_.entry(copy.entry).encoding->scale));
    out_.findings.push_back(std::move(finding));
  }

  void report_bug(const OpNode& node, const ReplayedOp& replayed, const JudgedStage& broken) {
    out_.findings.push_back(bug_finding(node, replayed, broken));
  }

  /// Where the run does not show how constants were rounded, a cause that is proven under either rounding will do.
  CauseVerdict cause_of(const OpNode& node, const ReplayedOp& replayed, const JudgedStage& broken) {
    CauseVerdict cause = find_cause(replayer_, replayed, broken, rounding_);
    if (cause.proven || !out_.run.constant_rounding.empty() || !depends_on_rounding(plan_, node.index)) return cause;
    const ReplayedOp other = replayer_.replay(node.index, HalfRounding::nearest);
    const JudgedStage* same = other.problem.empty() ? other.first_broken() : nullptr;
    if (same != nullptr && same->stage == broken.stage) {
      CauseVerdict nearest = find_cause(replayer_, other, *same, HalfRounding::nearest);
      if (nearest.proven) cause = std::move(nearest);
    }
    replayer_.replay(node.index, rounding_);  // its operands must be loaded for what follows
    return cause;
  }

  Finding bug_finding(const OpNode& node, const ReplayedOp& replayed, const JudgedStage& broken) {
    const Stage& stage = replayed.stages[broken.stage];
    CauseVerdict cause = cause_of(node, replayed, broken);
    Finding finding = make_finding(node, FindingKind::bug, cause.cause);
    finding.output = stage.output;
    finding.tensor = node.outputs.empty() ? "" : tensor_id(node.outputs[at(stage.output)]);
    finding.dump_tensor = run_.entry(broken.entry).name;
    finding.node = node_name(node, stage);
    finding.proven = cause.proven;
    finding.ties = std::move(cause.ties);
    finding.suspect = std::move(cause.suspect);
    const Metrics& metrics = *out_.tensors[at(broken.entry)].local;
    finding.local_error = figure_of(metrics, broken.judgement.bound_ratio);
    finding.inherited_error = inherited_error(node);
    finding.evidence = std::move(cause.evidence);
    const double outside = 100 * (1 - broken.judgement.within_bound);
    finding.evidence.push_back(fmt::format("{} of the elements of {} are outside the bound of a sound {}",
                                           outside >= 0.1 ? fmt::format("{:.3g} %", outside) : "a few",
                                           finding.dump_tensor, stage.qnn_type));
    if (broken.judgement.worst >= 0) {
      const auto i = static_cast<std::size_t>(broken.judgement.worst);
      finding.evidence.push_back(fmt::format("worst element {}: device {:.5g}, replay {:.5g}",
                                             position_text(broken.judgement.worst, broken.device.dims()),
                                             broken.device.f32()[i], broken.reference.f32()[i]));
    }
    if (options_.witness != nullptr) hear_witness(node, replayed, broken, finding);
    return finding;
  }

  // --- the witness ------------------------------------------------------------------------------------------------

  /// An operand as the device had it: under the name that the witness's graph gives it, else the tensor's own entry.
  Result<std::vector<std::byte>> device_bytes(int tensor, std::string_view name) const {
    int found = tensor < 0 ? -1 : run_.own(tensor);
    for (std::size_t i = 0; i < execution_.entries.size(); ++i)
      if (execution_.entries[i].name == name && execution_.entries[i].problem.empty()) found = static_cast<int>(i);
    if (found < 0) return fail("the dump does not hold it");
    const auto file = Dump::map(run_.entry(found));
    if (!file) return fail(file.error());
    return std::vector<std::byte>(file->bytes().begin(), file->bytes().end());
  }

  void hear_witness(const OpNode& node, const ReplayedOp& replayed, const JudgedStage& broken, Finding& finding) {
    const Stage& stage = replayed.stages[broken.stage];
    WitnessQuestion question;
    question.model = plan_.model;
    question.plan = &plan_;
    question.op = node.index;
    question.output = stage.output;
    question.stage = stage.name;
    question.dims = broken.device.dims();
    question.layout = stage.layout;
    question.rounding = rounding_;
    question.half = options_.half;
    question.device_bytes = [this](int tensor, std::string_view name) { return device_bytes(tensor, name); };
    Result<WitnessAnswer> answer = options_.witness->compute(question);
    if (!answer) {
      finding.evidence.push_back(fmt::format("witness: could not be asked: {}", answer.error().message));
      return;
    }
    Judgement judgement = judge_answer(replayed, broken, *answer);
    // The nodes that a model means may have constants that MNN's have not (the weights of a resize), for which the
    // run's rounding is no rule.
    if (!judgement.right() && rounding_ != HalfRounding::nearest) {
      question.rounding = HalfRounding::nearest;
      Result<WitnessAnswer> again = options_.witness->compute(question);
      if (again && judge_answer(replayed, broken, *again).right()) {
        judgement = judge_answer(replayed, broken, *again);
        std::swap(*answer, *again);
      }
    }
    if (judgement.right()) {
      finding.evidence.push_back(fmt::format(
          "witness: {} computes it rightly from the device's inputs with the model's parameters ({:.3g} of the bound), "
          "so MNN's mapping is at fault",
          options_.witness->name(), judgement.bound_ratio));
      for (const std::string& difference : answer->mapping_differences)
        finding.evidence.push_back("mapping: " + difference);
      return;
    }
    hear_wrong_answer(broken, *answer, judgement, finding);
  }

  /// Held to the stage's bound. Where several nodes make what MNN writes as one, each of them rounds its result and its
  /// constants: to first order the sum of n roundings is at most n u M (Higham, Accuracy and Stability of Numerical
  /// Algorithms, 2nd ed., section 3.1).
  Judgement judge_answer(const ReplayedOp& replayed, const JudgedStage& broken, const WitnessAnswer& answer) const {
    Bound bound = broken.bound;
    bound.magnitude += answer.extra_nodes;
    const Tensor magnitude = bound.magnitude > 0 ? replayer_.magnitude_of(replayed, broken.stage, rounding_) : Tensor();
    if (magnitude.empty()) bound.magnitude = broken.bound.magnitude;
    Tensor reference = broken.reference.clone();
    return judge(answer.value.f32(), reference.f32(), magnitude.f32(), bound, options_.half, {});
  }

  /// The library is at fault only when it makes the device's own values; other wrong ones decide nothing.
  void hear_wrong_answer(const JudgedStage& broken, const WitnessAnswer& answer, const Judgement& judgement,
                         Finding& finding) {
    const std::span<const float> there = answer.value.f32();
    const std::span<const float> here = broken.device.f32();
    std::int64_t equal = 0;
    for (std::size_t i = 0; i < there.size(); ++i) equal += there[i] == here[i] ? 1 : 0;
    const bool same = equal == static_cast<std::int64_t>(there.size());
    finding.evidence.push_back(
        same ? fmt::format("witness: {} computes the device's values from the device's inputs with the model's "
                           "parameters: all {} elements, {:.3g} of the bound",
                           options_.witness->name(), equal, judgement.bound_ratio)
             : fmt::format("witness: {} decides nothing: with the model's parameters it is neither right ({:.3g} of "
                           "the bound) nor as the device is ({} of {} elements equal)",
                           options_.witness->name(), judgement.bound_ratio, equal, there.size()));
    if (!same) return;
    if (finding.proven) finding.ties.insert(finding.ties.begin(), finding.cause);
    const FindingType& type = finding_type("library_behaviour");
    finding.id = type.id;
    finding.cause = type.cause;
    finding.proven = true;
    finding.title = fmt::format("{} `{}` {}", finding.op_type, finding.op, type.title);
    finding.next_steps = {std::string(type.next)};
    finding.suspect.reset();
  }

  /// False for a stage that is made of constants alone.
  bool reads_device(const OpNode& node, const std::vector<Stage>& stages, std::size_t stage) const {
    const std::vector<int>& from = stages[stage].inputs;
    return std::any_of(from.begin(), from.end(), [&](int k) {
      return k < 0 ? reads_device(node, stages, at(-1 - k))
                   : node.inputs[at(k)] >= 0 && !plan_.tensors[at(node.inputs[at(k)])].host;
    });
  }

  /// Overflow and underflow are reported where they begin: at an operator whose own device inputs were still in range.
  void report_range(const OpNode& node, const ReplayedOp& replayed) {
    if (options_.half != HalfKind::htp) return;
    const JudgedStage* over = nullptr;
    const JudgedStage* under = nullptr;
    for (const JudgedStage& stage : replayed.judged) {
      if (run_.entry(stage.entry).type != DType::f16) continue;
      if (stage.judgement.beyond_half > 0 && over == nullptr) over = &stage;
      const double max = stage.judgement.reference_max_abs;
      // A small constant spread over a stage is a choice of the model (an epsilon), not a loss.
      if (max > 0 && max < kHalfMinNormal && under == nullptr && reads_device(node, replayed.stages, stage.stage))
        under = &stage;
    }
    if (over == nullptr && under == nullptr) return;
    bool input_over = false;
    bool input_under = false;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const Tensor* operand = replayer_.operands()[k];
      if (operand == nullptr || operand->type() != DType::f32 || plan_.tensors[at(node.inputs[k])].host) continue;
      const float max = max_abs(*operand);
      input_over = input_over || max > kHalfMax;
      input_under = input_under || max < kHalfMinNormal;
    }
    if (over != nullptr && !input_over) {
      const double max = over->judgement.reference_max_abs;
      const int down = static_cast<int>(std::ceil(std::log2(max / kHalfMax)));
      add_range(node, replayed, *over, "fp16_overflow",
                fmt::format("{} of {} elements exceed 65504; first at {}: fp32 value {:.6g}; the largest is {:.6g}",
                            over->judgement.beyond_half, over->device.size(),
                            position_text(over->judgement.first_beyond, over->device.dims()),
                            over->judgement.first_beyond_value, max),
                fmt::format("scaled by 2^-{} (1/{:.0f}) all of it would fit", down, std::exp2(down)));
    }
    if (under != nullptr && !input_under) {
      const std::span<const float> values = under->reference.f32();
      const auto first = std::find_if(values.begin(), values.end(), [](float v) { return v != 0; });
      const double max = under->judgement.reference_max_abs;
      const int up = static_cast<int>(std::ceil(-std::log2(max)));
      add_range(
          node, replayed, *under, "fp16_underflow",
          fmt::format("the largest of {} elements is {:.3g}, below 2^-14 = 6.1e-5; first at {}: fp32 value {:.3g}",
                      under->device.size(), max, position_text(first - values.begin(), under->device.dims()),
                      first == values.end() ? 0.0 : static_cast<double>(*first)),
          fmt::format("scaled by 2^{} its largest element would be at least 1", up));
    }
  }

  void add_range(const OpNode& node, const ReplayedOp& replayed, const JudgedStage& stage, std::string_view cause,
                 std::string evidence, std::string scaling) {
    Finding finding = make_finding(node, FindingKind::range, cause);
    const Stage& made = replayed.stages[stage.stage];
    finding.output = made.output;
    finding.tensor = node.outputs.empty() ? "" : tensor_id(node.outputs[at(made.output)]);
    finding.dump_tensor = run_.entry(stage.entry).name;
    finding.node = node_name(node, made);
    finding.proven = true;
    finding.local_error = figure_of(*out_.tensors[at(stage.entry)].local, stage.judgement.bound_ratio);
    finding.inherited_error = inherited_error(node);
    finding.evidence.push_back(std::move(evidence));
    finding.evidence.push_back(std::move(scaling));
    out_.findings.push_back(std::move(finding));
  }

  /// True when the operator has constants whose rounding on the device is a guess: replaying them rounded the other way
  /// shifts every channel.
  bool constants_are_guessed(const OpNode& node) const {
    return out_.run.constant_rounding.empty() && depends_on_rounding(plan_, node.index);
  }

  /// The most significant systematic error of an operator that is within its bounds: a warning.
  void report_shift(const OpNode& node, const ReplayedOp& replayed) {
    if (replayed.first_broken() != nullptr || constants_are_guessed(node)) return;
    std::optional<ChannelShift> worst;
    const JudgedStage* where = nullptr;
    for (const JudgedStage& judged : replayed.judged) {
      if (run_.entry(judged.entry).type != DType::f16) continue;
      if (!bounds_.rounds_once(replayed.stages[judged.stage].bound)) continue;
      const auto shift = find_shift(judged.device.f32(), judged.reference.f32(), judged.device.dims(), judged.bound);
      if (!shift || (worst && shift->deviations <= worst->deviations)) continue;
      worst = shift;
      where = &judged;
    }
    if (worst) add_shift(node, replayed, *where, *worst);
  }

  void add_shift(const OpNode& node, const ReplayedOp& replayed, const JudgedStage& judged, const ChannelShift& shift) {
    const Stage& stage = replayed.stages[judged.stage];
    Finding finding = make_finding(node, FindingKind::warning, "systematic_shift");
    finding.output = stage.output;
    finding.tensor = node.outputs.empty() ? "" : tensor_id(node.outputs[at(stage.output)]);
    finding.dump_tensor = run_.entry(judged.entry).name;
    finding.node = node_name(node, stage);
    finding.local_error = figure_of(*out_.tensors[at(judged.entry)].local, judged.judgement.bound_ratio);
    finding.inherited_error = inherited_error(node);
    finding.evidence.push_back(fmt::format(
        "channel {} of {}: the mean error of {} distinct values is {:+.3g}, {:.2g} of the bound and {:.0f} standard "
        "deviations of what rounding to nearest leaves",
        shift.channel, finding.dump_tensor, shift.values, shift.mean, shift.share, shift.deviations));
    finding.evidence.push_back(fmt::format("{} of {} channels are shifted", shift.shifted, shift.channels));
    out_.findings.push_back(std::move(finding));
  }

  void explain_bounds(const OpNode& node, const ReplayedOp& replayed) {
    if (!options_.explain_bounds) return;
    for (const JudgedStage& judged : replayed.judged) {
      const std::string& key = replayed.stages[judged.stage].bound;
      const DumpEntry& entry = run_.entry(judged.entry);
      out_.bounds->push_back({.op_index = node.index,
                              .op = node.name,
                              .op_type = node.type_name,
                              .dump_tensor = entry.name,
                              .key = key,
                              .bound = judged.bound,
                              .bound_ratio = judged.judgement.bound_ratio,
                              .basis = is_quantized(entry.type) ? std::nullopt : bounds_.basis(key)});
    }
  }

  /// The host side of a graph output ("t91" beside "t91_cast") must be the device side, cast.
  void judge_boundaries(const OpNode& node, const ReplayedOp& replayed, const OperatorRow& operator_row) {
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const int entry = run_.boundary(node.outputs[k]);
      const Tensor* device = judged_output(&replayed, static_cast<int>(k));
      if (entry < 0 || device == nullptr) continue;
      auto host =
          run_.load(entry, DType::f32, device->dims(), plan_.tensors[at(node.outputs[k])].layout, options_.half);
      TensorRow& row = out_.tensors[at(entry)];
      if (!host) {
        row.problem = host.error().message;
        continue;
      }
      Tensor reference = device->clone();
      const Judgement judgement = judge(host->f32(), reference.f32(), {}, bounds_.of("Cast"), options_.half, {});
      row.local = compute_metrics(host->f32(), reference.f32());
      row.bound_ratio = judgement.bound_ratio;
      row.within_bound = judgement.within_bound;
      if (const Tensor* expected = baseline_.value(node.outputs[k]);
          expected != nullptr && expected->size() == host->size() && expected->type() == DType::f32) {
        row.baseline = compute_metrics(host->f32(), expected->f32());
      }
      if (judgement.right()) continue;
      Finding finding = make_finding(node, FindingKind::bug, "cast_wrong");
      finding.op.clear();
      finding.op_type = is_quantized(run_.entry(run_.own(node.outputs[k])).type) ? "Dequantize" : "Cast";
      finding.output = static_cast<int>(k);
      finding.tensor = tensor_id(node.outputs[k]);
      finding.dump_tensor = row.name;
      finding.title = fmt::format("the {} of `{}` to the host changes its values", finding.op_type, operator_row.name);
      finding.local_error = figure_of(*row.local, judgement.bound_ratio);
      finding.evidence.push_back(
          fmt::format("{} is not {} brought to fp32", row.name, run_.entry(run_.own(node.outputs[k])).name));
      out_.findings.push_back(std::move(finding));
    }
  }

  const Graph& graph_;
  const DiagnoseOptions& options_;
  const Execution& execution_;
  const DeviceRun& run_;
  const GraphPlan& plan_;
  Replayer replayer_;
  const Bounds& bounds_;
  BaselineValues baseline_;
  Diagnosis& out_;
  HalfRounding rounding_ = HalfRounding::toward_zero;
  struct PrintedScale {
    int op = -1;
    WrongEncoding wrong;
  };
  std::vector<PrintedScale> printed_scales_;
  std::vector<bool> tainted_;
  std::vector<std::optional<ErrorFigure>> end_to_end_;
};

/// Lists the operators of a run that left no tensors.
void list_unjudged(const Model& model, const DiagnoseOptions& options, Diagnosis& out) {
  PlanHints hints;
  if (options.inputs) {
    for (const auto& [name, value] : *options.inputs)
      if (const GraphInput* input = model.graph().find_input(name))
        hints.input_dims.emplace(input->tensor, value.dims());
  }
  const GraphPlan plan = plan_graph(model, hints);
  for (const OpNode& node : model.graph().ops) {
    OperatorRow row;
    row.index = node.index;
    row.name = node.name;
    row.type = node.type_name;
    for (int t : node.inputs)
      if (t >= 0) row.inputs.push_back(tensor_id(t));
    for (int t : node.outputs) row.outputs.push_back(tensor_id(t));
    const PlannedOp& planned = plan.ops[at(node.index)];
    const bool aside = planned.is_input || planned.set_aside;
    row.status = aside ? OpStatus::set_aside : OpStatus::not_judged;
    row.reason = aside ? "input or computed on the host" : "the run left no tensors";
    ++out.coverage.ops_total;
    if (aside)
      ++out.coverage.ops_set_aside;
    else
      out.coverage.not_judged.push_back({node.index, node.name, node.type_name, row.reason});
    out.operators.push_back(std::move(row));
  }
}

Result<Diagnosis> judge_dump(const Model& model, const DiagnoseOptions& options, const OpenedRun& opened) {
  Diagnosis out;
  out.run = opened.info();
  out.notes = opened.notes();
  if (options.explain_bounds) out.bounds.emplace();
  if (options.details) out.details.emplace();
  Diagnoser diagnoser(model, options, opened, out);
  if (auto done = diagnoser.diagnose(); !done) return fail(done.error());
  if (out.bounds) {
    std::stable_sort(out.bounds->begin(), out.bounds->end(),
                     [](const BoundUse& a, const BoundUse& b) { return a.bound_ratio > b.bound_ratio; });
  }
  return out;
}

Diagnosis read_log_alone(const Model& model, const DiagnoseOptions& options) {
  Diagnosis out;
  out.run.soc = options.soc;
  if (!options.arch.empty()) out.run.arch = options.arch;
  out.run.tolerance_scale = options.tolerance_scale;
  out.run.inputs_given = options.inputs.has_value();
  list_unjudged(model, options, out);
  return out;
}

bool tells_why_nothing_ran(const Diagnosis& diagnosis) {
  return std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(), [](const Finding& f) {
    return f.kind == FindingKind::load || f.kind == FindingKind::unregistered;
  });
}

void list_parameters(const Model& model, Diagnosis& out) {
  if (!out.details) out.details.emplace();
  for (const OpNode& node : model.graph().ops) {
    std::vector<OperatorParameter> parameters = operator_parameters(model, node.index);
    if (!parameters.empty()) out.details->operators.push_back({node.index, std::move(parameters)});
  }
}

void finish(const Model& model, const DiagnoseOptions& options, Diagnosis& out) {
  out.model = model_info(model);
  if (options.details) list_parameters(model, out);
  out.run.log = options.log_file;
  if (options.log) {
    join_log(model, *options.log, out);
    out.log = options.log;
  }
  conclude(model.graph(), out);
}

}  // namespace

Result<Diagnosis> diagnose(const Model& model, const DiagnoseOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  Diagnosis out;
  if (!options.dump.empty()) {
    const auto opened = OpenedRun::open(model, options);
    if (opened) {
      Result<Diagnosis> judged = judge_dump(model, options, **opened);
      if (!judged) return judged;
      out = std::move(*judged);
      finish(model, options, out);
      out.seconds = elapsed();
      return out;
    }
    const bool holds_an_execution = Dump::open(options.dump).has_value();
    if (!options.log || holds_an_execution) return fail(opened.error());
    out = read_log_alone(model, options);
    out.notes.push_back(opened.error().message);
    finish(model, options, out);
    if (!tells_why_nothing_ran(out)) return fail(opened.error());
  } else {
    if (!options.log) return fail("there is neither a dump to judge nor a log to read");
    out = read_log_alone(model, options);
    finish(model, options, out);
  }
  out.seconds = elapsed();
  return out;
}

}  // namespace qnndbg
