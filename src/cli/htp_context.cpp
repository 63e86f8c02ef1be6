// `htp context`: writes a model's context binary, or tells what is in one and whether it fits.
#include <filesystem>
#include <memory>

#include "cli/console.h"
#include "cli/htp_library.h"
#include "cli/htp_verbs.h"
#include "cli/interrupt.h"
#include "cli/model_graph_arguments.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "qnn/model_graph.h"
#include "report/context.h"
#include "tensor/mapped_file.h"

namespace qnndbg::cli {
namespace fs = std::filesystem;
namespace {

struct Arguments {
  ModelArguments files;
  GraphArguments graph;
  HtpArguments htp;
  std::string info;
  std::string runtime;
  std::string format = "text";
  std::string output;
  int verbosity = 0;
};

qnn::CallError bad_request(const Error& error) {
  return {.failure = qnn::Failure::bad_request, .message = error.message};
}

// --- Writing ---------------------------------------------------------------------------------------------------------

/// A binary without some of the operators would run, and give the wrong answer.
Result<void> all_mapped(const PlannedModel& planned) {
  if (planned.graph.unmapped.empty()) return {};
  const QnnUnmappedOp& first = planned.graph.unmapped.front();
  const OpNode& op = planned.model.graph().ops[static_cast<std::size_t>(first.op)];
  return fail("{} cannot be written as QNN nodes ({}): {}; `qnn-debug htp validate` lists all such operators",
              describe(op), name_of(first.refusal.kind), first.refusal.reason);
}

qnn::CallResult<qnn::Bytes> make_binary(const Arguments& arguments) {
  const Result<std::unique_ptr<PlannedModel>> planned = plan_model(arguments.files, arguments.graph);
  if (!planned) return qnn::fail(bad_request(planned.error()));
  if (auto mapped = all_mapped(**planned); !mapped) return qnn::fail(bad_request(mapped.error()));
  const Result<qnn::ModelGraph> graph =
      qnn::ModelGraph::make((*planned)->graph, "model", qnn::ModelGraph::Intermediates::hidden);
  if (!graph) return qnn::fail(bad_request(graph.error()));
  Progress progress;
  qnn::CallResult<OpenedEngine> htp = open_htp_engine(arguments.htp, [&](const qnn::CallProgress& state) {
    return progress(static_cast<int>(state.done), static_cast<int>(state.total), "nodes");
  });
  if (!htp) return qnn::fail(std::move(htp.error()));
  qnn::FinalizeOptions options;
  options.config.precision =
      arguments.graph.precision == "fp32" ? qnn::GraphPrecision::float32 : qnn::GraphPrecision::float16;
  const qnn::CallResult<qnn::FinalizeReport> ready = htp->engine.worker().finalize(graph->spec(), options);
  if (!ready) return qnn::fail(ready.error());
  return htp->engine.worker().context_binary();
}

qnn::CallResult<void> write_binary(const Arguments& arguments) {
  const qnn::CallResult<qnn::Bytes> binary = make_binary(arguments);
  if (!binary) return qnn::fail(binary.error());
  const std::string_view text(reinterpret_cast<const char*>(binary->data()), binary->size());
  if (auto written = write_file(arguments.output, text); !written) return qnn::fail(bad_request(written.error()));
  return {};
}

// --- Reading ---------------------------------------------------------------------------------------------------------

Result<qnn::ContextWish> wish_of(const Arguments& arguments) {
  qnn::ContextWish wish;
  const Result<qnn::Target> target = qnn::target_from(arguments.htp.soc, arguments.htp.arch);
  if (!target) return fail(target.error());
  wish.target = *target;
  if (!arguments.runtime.empty()) {
    Result<std::string> runtime = qnn::short_version(arguments.runtime);
    if (!runtime) return fail("--runtime: {}", runtime.error().message);
    wish.runtime = std::move(*runtime);
  }
  if (arguments.files.model.empty()) return wish;
  const Result<std::unique_ptr<PlannedModel>> planned = plan_model(arguments.files, arguments.graph);
  if (!planned) return fail(planned.error());
  wish.ends = qnn::ends_of((*planned)->model, (*planned)->graph);
  return wish;
}

qnn::CallResult<ContextView> read_binary(const Arguments& arguments, const std::string& file, qnn::ContextWish wish) {
  const Result<MappedFile> mapped = MappedFile::open(file);
  if (!mapped) return qnn::fail(bad_request(mapped.error()));
  if (mapped->bytes().empty()) return qnn::fail(qnn::Failure::bad_request, "{}: the file is empty", file);
  qnn::CallResult<qnn::BinaryInfo> binary = read_context(arguments.htp, mapped->bytes());
  if (!binary) {
    binary.error().message = fmt::format("{}: {}", file, binary.error().message);
    return qnn::fail(std::move(binary.error()));
  }
  Result<std::vector<qnn::FitRemark>> remarks = qnn::check_context(*binary, wish);
  if (!remarks) return qnn::fail(bad_request(remarks.error()));
  return ContextView{.file = file,
                     .bytes = mapped->bytes().size(),
                     .binary = std::move(*binary),
                     .wish = std::move(wish),
                     .model = arguments.info.empty() ? "" : arguments.files.model,
                     .remarks = std::move(*remarks)};
}

qnn::CallResult<ContextView> look(const Arguments& arguments) {
  if (arguments.info.empty()) {
    if (auto written = write_binary(arguments); !written) return qnn::fail(std::move(written.error()));
    return read_binary(arguments, arguments.output, {});
  }
  Result<qnn::ContextWish> wish = wish_of(arguments);
  if (!wish) return qnn::fail(bad_request(wish.error()));
  return read_binary(arguments, arguments.info, std::move(*wish));
}

// --- The command -----------------------------------------------------------------------------------------------------

Result<void> check(const Arguments& arguments) {
  if (!arguments.info.empty()) return {};
  if (arguments.files.model.empty())
    return fail("--model names the model to write, or --info a context binary to read");
  if (arguments.output.empty() || arguments.output == "-")
    return fail("--output names the file for the context binary; it is not written to standard output");
  if (!arguments.runtime.empty()) return fail("--runtime goes with --info");
  return {};
}

int run(const Arguments& arguments, const Session& session) {
  const Console console(session.color);
  if (auto checked = check(arguments); !checked) {
    console.error("{}", checked.error().message);
    return kExitFailed;
  }
  const qnn::CallResult<ContextView> view = look(arguments);
  if (interrupted()) {
    console.error("interrupted");
    return kExitInterrupted;
  }
  if (!view) {
    show_call_error(console, view.error());
    return kExitFailed;
  }
  TextStyle style = output_style(session.color);
  style.verbosity = arguments.verbosity;
  const int delivered = deliver(arguments.info.empty() ? "" : arguments.output,
                                arguments.format == "json" ? context_json(*view) : context_text(*view, style), console);
  if (delivered != kExitClean) return delivered;
  return view->fits() ? kExitClean : kExitFound;
}

}  // namespace

void add_htp_context(CLI::App& htp, Session& session) {
  CLI::App* command = htp.add_subcommand("context", "Write a model's context binary, or tell what is in one");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("--info", arguments->info, "Context binary to read; with --model, --soc, --runtime: does it fit?")
      ->type_name(kFileType);
  add_model(*command, arguments->files);
  command->get_option("--model")->required(false)->description(
      "The .mnn model to write; with --info: the one whose inputs and outputs the binary should have");
  add_weights(*command, arguments->files);
  add_inputs(*command, arguments->files);
  add_graph(*command, arguments->graph);
  add_htp_library(*command, arguments->htp);
  add_htp_target(*command, arguments->htp);
  command->add_option("--runtime", arguments->runtime, "With --info: QNN version of the device's libraries (2.37)")
      ->type_name("VERSION");
  add_choice(*command, "-f,--format", arguments->format, {"text", "json"}, "What to print: for people, or a document");
  command
      ->add_option("-o,--output", arguments->output,
                   "The context binary to write; with --info: file to write instead of standard output")
      ->type_name(kFileType);
  command->add_flag("-v,--verbose", arguments->verbosity, "Text: every input and output");
  command->callback([arguments, &session] { session.exit_status = run(*arguments, session); });
}

}  // namespace qnndbg::cli
