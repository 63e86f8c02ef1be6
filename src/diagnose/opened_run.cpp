#include "diagnose/opened_run.h"

#include <optional>

#include "diagnose/constant_rounding.h"
#include "diagnose/threads.h"

namespace qnndbg {
namespace {

Result<void> check_given_inputs(const Model& model, const std::optional<InputMap>& inputs) {
  if (!inputs) return {};
  std::vector<std::string> known;
  for (const GraphInput& input : model.graph().inputs)
    known.push_back(model.graph().tensors[static_cast<std::size_t>(input.tensor)].name);
  for (const auto& [name, tensor] : *inputs) {
    if (model.graph().find_input(name) == nullptr)
      return fail("--inputs: the model has no input `{}`; it has {}", name, fmt::join(known, ", "));
  }
  return {};
}

std::string arch_of(const DiagnoseOptions& options) { return options.arch.empty() ? "unknown" : options.arch; }

}  // namespace

OpenedRun::OpenedRun(const Model& model, const DiagnoseOptions& options, Execution execution, Bounds bounds)
    : execution_(std::move(execution)),
      bounds_(std::move(bounds)),
      device_(model, execution_),
      plan_(plan_graph(model, device_.hints(options.inputs))) {
  info_.dump = options.dump.string();
  info_.execution = execution_.number;
  info_.dumped_tensors = static_cast<int>(execution_.entries.size());
  info_.soc = options.soc;
  info_.arch = arch_of(options);
  info_.library = options.library;
  info_.mnn = options.mnn;
  info_.tolerance_scale = options.tolerance_scale;
  info_.inputs_given = options.inputs.has_value();
  if (options.witness != nullptr) info_.witness = options.witness->name();
  notes_ = execution_.problems;
  if (!bounds_.architecture_measured()) {
    notes_.push_back(
        fmt::format("no bound was measured on {}; the forward error bound of fp16 sums is added", info_.arch));
  }
}

Result<std::unique_ptr<const OpenedRun>> OpenedRun::open(const Model& model, const DiagnoseOptions& options) {
  if (model.is_offline_qnn_plugin()) {
    return fail(
        "{}: this is an offline QNN model, its network is in a context binary; give the .mnn model that it was made "
        "from",
        model.path().string());
  }
  if (auto inputs = check_given_inputs(model, options.inputs); !inputs) return fail(inputs.error());
  use_threads(options.threads);
  auto dump = Dump::open(options.dump);
  if (!dump) return fail(dump.error());
  auto execution = options.execution ? dump->read(*options.execution) : dump->read_last_complete();
  if (!execution) return fail(execution.error());
  auto bounds = Bounds::load(arch_of(options), options.tolerance_scale);
  if (!bounds) return fail(bounds.error());

  // The constructor is private, which make_unique cannot reach.
  std::unique_ptr<OpenedRun> run(new OpenedRun(model, options, std::move(*execution), std::move(*bounds)));
  run->info_.executions = dump->numbers();
  if (auto fits = run->device_.check_dims_against(run->plan_); !fits) return fail(fits.error());
  run->device_.find_inserted(run->plan_, options.half);
  return run;
}

HalfRounding decide_rounding(Replayer& replayer, ConstantsMode mode, RunInfo& info) {
  std::optional<HalfRounding> decided;
  if (mode == ConstantsMode::toward_zero) decided = HalfRounding::toward_zero;
  if (mode == ConstantsMode::nearest) decided = HalfRounding::nearest;
  if (mode == ConstantsMode::automatic) decided = find_constant_rounding(replayer);
  if (decided) info.constant_rounding = *decided == HalfRounding::nearest ? "nearest" : "toward_zero";
  return decided.value_or(HalfRounding::toward_zero);
}

ModelInfo model_info(const Model& model) {
  ModelInfo info;
  info.file = model.path().filename().string();
  info.converter_version = model.converter_version();
  info.source = model.graph().source;
  info.bytes = model.file_bytes();
  info.operators = static_cast<int>(model.graph().ops.size());
  info.tensors = static_cast<int>(model.graph().tensors.size());
  return info;
}

std::string node_name(const OpNode& op, const Stage& stage) {
  if (op.name.empty() || op.type_name == "LayerNorm" || op.type_name == "Scale") return {};
  return qnn_node_name(op.name) + stage.node_suffix;
}

}  // namespace qnndbg
