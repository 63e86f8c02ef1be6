// `emulate`: runs a model on the library and writes the dump that MNN would have written.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/htp_library.h"
#include "cli/interrupt.h"
#include "cli/model_graph_arguments.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "diagnose/baseline.h"
#include "dump/run_file.h"
#include "report/validation.h"

namespace qnndbg::cli {
namespace fs = std::filesystem;
namespace {

struct Arguments {
  ModelArguments files;
  GraphArguments graph;
  HtpArguments htp;
  std::string dump;
  bool profile = false;
  bool force = false;
};

/// The directory exists and holds no execution that would be overwritten.
Result<void> prepare_directory(const Arguments& arguments) {
  std::error_code error;
  fs::create_directories(arguments.dump, error);
  if (error) return fail("{}: {}", arguments.dump, error.message());
  if (!arguments.force && fs::exists(fs::path(arguments.dump) / "manifest_000000.tsv", error))
    return fail("{}: there is a dump already; --force replaces it", arguments.dump);
  return {};
}

/// What operators that are emulated by themselves read, from the fp32 baseline.
Result<std::map<int, Tensor>> baseline_operands(const PlannedModel& planned) {
  std::map<int, Tensor> operands;
  const std::vector<int> wanted = qnn::operands_of(planned.model, planned.graph);
  if (wanted.empty()) return operands;
  if (!planned.inputs) return fail("--only: what these operators read is computed from the model's inputs: --inputs");
  auto gaps = run_baseline(planned.model, *planned.inputs, {}, [&](const BaselineTensor& tensor) -> Result<void> {
    if (std::find(wanted.begin(), wanted.end(), tensor.tensor) != wanted.end())
      operands.emplace(tensor.tensor, tensor.value->clone());
    return {};
  });
  if (!gaps) return fail(std::move(gaps.error()));
  return operands;
}

qnn::CallResult<qnn::EmulationReport> emulate(const Arguments& arguments, const PlannedModel& planned) {
  const Result<qnn::ModelGraph> graph =
      qnn::ModelGraph::make(planned.graph, "model", qnn::ModelGraph::Intermediates::readable);
  if (!graph) return qnn::fail(qnn::Failure::bad_request, "{}", graph.error().message);
  Result<std::map<int, Tensor>> operands = baseline_operands(planned);
  if (!operands) return qnn::fail(qnn::Failure::bad_request, "{}", operands.error().message);
  Progress progress;
  qnn::CallResult<OpenedEngine> htp = open_htp_engine(arguments.htp, [&](const qnn::CallProgress& state) {
    return progress(static_cast<int>(state.done), static_cast<int>(state.total), "nodes");
  });
  if (!htp) return qnn::fail(std::move(htp.error()));
  qnn::EmulateOptions options;
  options.dump = arguments.dump;
  options.config.precision =
      arguments.graph.precision == "fp32" ? qnn::GraphPrecision::float32 : qnn::GraphPrecision::float16;
  options.profiling = arguments.profile ? qnn::Profiling::detailed : qnn::Profiling::off;
  options.operands = std::move(*operands);
  const InputMap none;
  qnn::CallResult<qnn::EmulationReport> report =
      qnn::emulate(htp->engine, planned.model, *graph, planned.inputs ? *planned.inputs : none, options);
  if (report) report->default_target = htp->default_target;
  return report;
}

int run(const Arguments& arguments, const Session& session) {
  const Console console(session.color);
  const Result<std::unique_ptr<PlannedModel>> planned = plan_model(arguments.files, arguments.graph);
  if (!planned) {
    console.error("{}", planned.error().message);
    return kExitFailed;
  }
  for (const QnnUnmappedOp& unmapped : (*planned)->graph.unmapped) {
    const OpNode& op = (*planned)->model.graph().ops[static_cast<std::size_t>(unmapped.op)];
    console.note("{} is left out ({}): {}", describe(op), name_of(unmapped.refusal.kind), unmapped.refusal.reason);
  }
  if (auto prepared = prepare_directory(arguments); !prepared) {
    console.error("{}", prepared.error().message);
    return kExitFailed;
  }
  const qnn::CallResult<qnn::EmulationReport> report = emulate(arguments, **planned);
  if (interrupted()) {
    console.error("interrupted");
    return kExitInterrupted;
  }
  if (!report) {
    show_call_error(console, report.error());
    return kExitFailed;
  }
  const EmulationSettings settings{(*planned)->model.path().filename().string(), arguments.graph.style,
                                   arguments.graph.precision};
  const fs::path run_file = fs::path(arguments.dump) / kRunFileName;
  if (auto written = write_file(run_file, run_file_json(*report, settings)); !written) {
    console.error("{}", written.error().message);
    return kExitFailed;
  }
  const int delivered =
      deliver("", emulation_text(*report, settings, arguments.dump, output_style(session.color)), console);
  if (delivered != kExitClean) return delivered;
  return (*planned)->graph.unmapped.empty() && report->refused.empty() ? kExitClean : kExitFound;
}

}  // namespace

void add_emulate(CLI::App& program, Session& session) {
  CLI::App* command =
      program.add_subcommand("emulate", "Run a model on Qualcomm's library here, and write the dump of the run");
  auto arguments = std::make_shared<Arguments>();
  add_model(*command, arguments->files);
  add_weights(*command, arguments->files);
  add_inputs(*command, arguments->files);
  command->add_option("-d,--dump", arguments->dump, "Directory to write; it is made")
      ->type_name(kDirectoryType)
      ->required();
  add_graph(*command, arguments->graph);
  add_htp_library(*command, arguments->htp);
  add_htp_target(*command, arguments->htp);
  command->add_flag("--profile", arguments->profile, "Also the library's own figures for each node, in run.json");
  command->add_flag("--force", arguments->force, "Replace a dump that is there");
  command->callback([arguments, &session] { session.exit_status = run(*arguments, session); });
}

}  // namespace qnndbg::cli
