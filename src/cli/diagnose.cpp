#include "diagnose/diagnose.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/details.h"
#include "cli/diagnosis_view.h"
#include "cli/htp_library.h"
#include "cli/interrupt.h"
#include "cli/known_cases.h"
#include "cli/log_input.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "diagnose/log_evidence.h"
#include "qnn/htp_witness.h"
#include "report/explanation.h"

namespace qnndbg::cli {
namespace {

constexpr const char* kNeedsDump =
    R"(A diagnosis needs the tensors that the device computed (--dump DIR), the log of the run (--log FILE), or both. To make a
dump

  when MNN builds the graph on the device (Module or Session API):
    1. set bit 16 of BackendConfig.flags: MNN_QNN_DUMP_INTERMEDIATE_OUTPUTS = 65536
    2. set the environment variable MNN_QNN_DUMP_DIR to a directory that the process may write to
    3. load the module with shapeMutable = false; otherwise the inputs may never reach the device
    4. run once; each execution leaves a manifest_NNNNNN.tsv and one raw file per tensor

  when the model was compiled beforehand (MNN2QNNModel): add --dump_intermediate_outputs to that command, set
    MNN_QNN_DUMP_DIR when running, and give the source model to --model

Every tensor becomes a graph output, so use that run for diagnosis only.
)";

constexpr std::size_t kMostCases = 3;  // seen before

struct Arguments {
  RunArguments run;
  std::string log;
  std::string store;
  std::string details;  // file; empty: none is written
  std::string report;   // the same
  ViewArguments view;
  std::string witness;  // "htp", or empty
  HtpArguments htp;     // library and SDK of the witness
  bool explain_bounds = false;

  bool wants_page() const { return !report.empty() || view.format == "html"; }
};

void say_what_is_not_used(const Arguments& arguments, const Console& console) {
  if (arguments.run.execution == "all")
    console.note("--execution all: this version judges the last complete execution only");
}

/// What the log tells about the device holds where the command line does not.
Result<void> add_log(const Arguments& arguments, DiagnoseOptions& options) {
  if (arguments.log.empty()) return {};
  Result<Explanation> log = explain_log_file(arguments.log);
  if (!log) return fail(std::move(log.error()));
  if (options.soc.empty()) options.soc = log->facts.soc;
  if (options.arch.empty()) options.arch = arch_of_log(*log);
  options.log = std::move(*log);
  options.log_file = arguments.log;
  return {};
}

/// The library computes for the SoC of the run, as far as that is known.
Result<std::unique_ptr<Witness>> call_witness(const Arguments& arguments, const DiagnoseOptions& options) {
  if (arguments.witness.empty()) return std::unique_ptr<Witness>();
  HtpArguments htp = arguments.htp;
  htp.soc = options.soc;
  if (htp.soc.empty() && options.arch != "unknown") htp.arch = options.arch;
  qnn::CallResult<OpenedEngine> engine = open_htp_engine(htp);
  if (!engine) return fail("--witness htp: {}", engine.error().message);
  return std::make_unique<qnn::HtpWitness>(std::move(engine->engine));
}

struct Judged {
  Diagnosis diagnosis;
  FoundDetails details;  // for a page
};

/// Makes the details; where they become a file of their own, the document names it.
Result<void> add_details(const Arguments& arguments, const Model& model, DiagnoseOptions options, Judged& judged) {
  Result<std::string> document = details_document(model, std::move(options), judged.diagnosis);
  if (!document) return fail(document.error());
  if (!arguments.details.empty()) {
    judged.diagnosis.details_file = name_details(arguments.details, arguments.view.output, *document);
    if (auto written = write_file(arguments.details, *document); !written) return written;
  }
  judged.details.text = std::move(*document);
  return {};
}

Result<Judged> judge(const Arguments& arguments, const Console& console) {
  const auto start = std::chrono::steady_clock::now();
  Result<DiagnoseOptions> options = options_of(arguments.run, console);
  if (!options) return fail(std::move(options.error()));
  if (auto read = add_log(arguments, *options); !read) return fail(std::move(read.error()));
  Result<Model> model = open_model(arguments.run.files);
  if (!model) return fail(std::move(model.error()));

  options->explain_bounds = arguments.explain_bounds;
  options->details = !arguments.details.empty() || arguments.wants_page();
  Result<std::unique_ptr<Witness>> witness = call_witness(arguments, *options);
  if (!witness) return fail(std::move(witness.error()));
  options->witness = witness->get();
  Progress progress;
  options->progress = std::ref(progress);
  Result<Diagnosis> diagnosis = diagnose(*model, *options);
  if (!diagnosis) return fail(std::move(diagnosis.error()));
  Judged judged{.diagnosis = std::move(*diagnosis), .details = {}};
  if (options->details) {
    if (auto added = add_details(arguments, *model, std::move(*options), judged); !added) return fail(added.error());
  }
  judged.diagnosis.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return judged;
}

/// Writes what was asked for. Returns the exit status.
int deliver_views(const Judged& judged, const Arguments& arguments, const Session& session, const Console& console) {
  const Diagnosis& diagnosis = judged.diagnosis;
  std::vector<SimilarCase> cases;
  if (diagnosis.log && diagnosis.verdict != Verdict::clean)
    cases = nearest_known_cases(arguments.store, fingerprint_of(*diagnosis.log), kMostCases, console);
  TextStyle style = view_style(arguments.view, session, /*repeatable=*/true);
  style.log_command = log_command(arguments.log, arguments.run.files.model);
  if (!arguments.report.empty()) {
    const Result<std::string> page = page_of(diagnosis, cases, style, judged.details);
    const Result<void> written = page ? write_file(arguments.report, *page) : fail(page.error());
    if (!written) {
      console.error("--report: {}", written.error().message);
      return kExitFailed;
    }
  }
  const Result<std::string> view = view_of(diagnosis, cases, arguments.view.format, style, judged.details);
  if (!view) {
    console.error("{}", view.error().message);
    return kExitFailed;
  }
  return deliver(arguments.view.output, *view, console);
}

int run(const Arguments& arguments, const Session& session) {
  const Console console(session.color);
  if (arguments.run.dump.empty() && arguments.log.empty()) {
    console.error("there is no dump to judge and no log to read");
    console.help(kNeedsDump);
    return kExitFailed;
  }
  say_what_is_not_used(arguments, console);

  const Result<Judged> judged = judge(arguments, console);
  if (interrupted()) {
    console.error("interrupted");
    return kExitInterrupted;
  }
  if (!judged) {
    console.error("{}", judged.error().message);
    return kExitFailed;
  }
  const int delivered = deliver_views(*judged, arguments, session, console);
  if (delivered != kExitClean) return delivered;
  return judged->diagnosis.verdict == Verdict::clean ? kExitClean : kExitFound;
}

void add_result(CLI::App& command, Arguments& arguments) {
  command.add_option("--log", arguments.log, "Console log or logcat of the run; - for standard input")
      ->type_name(kFileType);
  add_store_option(command, arguments.store);
  add_view(command, arguments.view);
  command
      .add_option("--report", arguments.report,
                  "Also write the HTML report, one file for a browser, with all details in it")
      ->type_name(kFileType);
  command
      .add_option("--details", arguments.details,
                  "Also write histograms and error maps of every tensor to this file (.qdd), for a report")
      ->type_name(kFileType);
  add_choice(command, "--witness", arguments.witness, {"htp"},
             "Also compute broken operators on Qualcomm's library: is MNN's mapping at fault, or the library?");
  add_htp_library(command, arguments.htp);
  add_threads(command, arguments.run.threads);
  command.add_flag("--explain-bounds", arguments.explain_bounds,
                   "Also how far each operator is from its error bound, and what the bound rests on");
}

}  // namespace

void add_diagnose(CLI::App& program, Session& session) {
  CLI::App* command =
      program.add_subcommand("diagnose", "Judge the operators of a dumped run: which are broken, and why");
  auto arguments = std::make_shared<Arguments>();
  add_run(*command, arguments->run);
  add_device(*command, arguments->run);
  add_result(*command, *arguments);
  command->callback([arguments, &session] { session.exit_status = run(*arguments, session); });
}

}  // namespace qnndbg::cli
