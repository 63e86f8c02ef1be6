// `htp validate`: which operators of a model the library accepts.
#include <memory>

#include "cli/console.h"
#include "cli/htp_library.h"
#include "cli/htp_verbs.h"
#include "cli/interrupt.h"
#include "cli/model_graph_arguments.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "diagnose/opened_run.h"
#include "report/validation.h"

namespace qnndbg::cli {
namespace {

struct Arguments {
  ModelArguments files;
  GraphArguments graph;
  HtpArguments htp;
  bool no_finalize = false;
  std::string format = "text";
  std::string output;
  int verbosity = 0;
};

qnn::CallResult<qnn::ValidationReport> validate(const Arguments& arguments, const PlannedModel& planned) {
  const Result<qnn::ModelGraph> graph =
      qnn::ModelGraph::make(planned.graph, "model", qnn::ModelGraph::Intermediates::readable);
  if (!graph) return qnn::fail(qnn::Failure::bad_request, "{}", graph.error().message);
  qnn::CallResult<OpenedEngine> htp = open_htp_engine(arguments.htp);
  if (!htp) return qnn::fail(std::move(htp.error()));
  Progress progress;
  const qnn::ValidateOptions options{.finalize = !arguments.no_finalize,
                                     .progress = [&](std::size_t done, std::size_t total, std::string_view node) {
                                       return progress(static_cast<int>(done), static_cast<int>(total), node);
                                     }};
  qnn::CallResult<qnn::ValidationReport> report = qnn::validate_model(htp->engine, planned.model, *graph, options);
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
  const qnn::CallResult<qnn::ValidationReport> report = validate(arguments, **planned);
  if (interrupted()) {
    console.error("interrupted");
    return kExitInterrupted;
  }
  if (!report) {
    show_call_error(console, report.error());
    return kExitFailed;
  }
  const ModelInfo info = model_info((*planned)->model);
  TextStyle style = output_style(session.color);
  style.verbosity = arguments.verbosity;
  const int delivered = deliver(
      arguments.output,
      arguments.format == "json" ? validation_json(*report, info) : validation_text(*report, info, style), console);
  if (delivered != kExitClean) return delivered;
  return report->all_accepted() ? kExitClean : kExitFound;
}

}  // namespace

void add_htp_validate(CLI::App& htp, Session& session) {
  CLI::App* command = htp.add_subcommand("validate", "Ask the library which operators of a model it accepts");
  auto arguments = std::make_shared<Arguments>();
  add_model(*command, arguments->files);
  add_weights(*command, arguments->files);
  add_inputs(*command, arguments->files);
  add_graph(*command, arguments->graph);
  add_htp_library(*command, arguments->htp);
  add_htp_target(*command, arguments->htp);
  command->add_flag("--no-finalize", arguments->no_finalize, "Only ask about nodes; do not finalize the graph");
  add_choice(*command, "-f,--format", arguments->format, {"text", "json"}, "What to print: for people, or a document");
  command->add_option("-o,--output", arguments->output, "File to write instead of standard output")
      ->type_name(kFileType);
  command->add_flag("-v,--verbose", arguments->verbosity, "Text: every line of the library");
  command->callback([arguments, &session] { session.exit_status = run(*arguments, session); });
}

}  // namespace qnndbg::cli
