// `qnn-debug report`: a diagnosis that was made before, in another form, or two of them compared. Nothing is run.
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/diagnosis_view.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/text_input.h"
#include "report/comparison_view.h"
#include "report/read_json.h"

namespace qnndbg::cli {
namespace {

struct Arguments {
  std::string document;
  std::string details;               // file; empty: the one that the document names
  std::vector<std::string> compare;  // before, after; empty: not asked for
  ViewArguments view;
};

struct OpenedDocument {
  std::string text;  // as it was read
  DiagnosisDocument document;
};

Result<OpenedDocument> open_document(const std::string& file) {
  OpenedDocument opened;
  Result<std::string> text = read_text(file, kLargestDiagnosisDocument);
  if (!text) return fail(std::move(text.error()));
  opened.text = std::move(*text);
  Result<DiagnosisDocument> document = read_diagnosis(opened.text);
  if (!document) return fail("{}: {}", input_name(file), document.error().message);
  opened.document = std::move(*document);
  return opened;
}

/// What a command has to say, and the status that it ends with.
struct Answer {
  std::string text;
  int status = kExitClean;
};

Result<Answer> render(const Arguments& arguments, const Session& session) {
  const Result<OpenedDocument> opened = open_document(arguments.document);
  if (!opened) return fail(opened.error());
  // The document is given back as it came, with fields that this version does not know.
  if (arguments.view.format == "json") return Answer{.text = opened->text};
  const Diagnosis& diagnosis = opened->document.diagnosis;
  TextStyle style = view_style(arguments.view, session, arguments.document != "-");
  style.log_command = log_command(diagnosis.run.log, diagnosis.model.file);
  Result<FoundDetails> details;
  if (arguments.view.format == "html") details = find_details(diagnosis, arguments.document, arguments.details);
  if (!details) return fail(std::move(details.error()));
  Result<std::string> view = view_of(diagnosis, opened->document.cases, arguments.view.format, style, *details);
  if (!view) return fail(std::move(view.error()));
  return Answer{.text = std::move(*view)};
}

Result<Answer> compare_documents(const Arguments& arguments, const Session& session) {
  if (arguments.view.format == "sarif" || arguments.view.format == "html")
    return fail("--compare has no format {}; it has text, json and markdown", arguments.view.format);
  if (arguments.compare[0] == "-" && arguments.compare[1] == "-")
    return fail("--compare: only one of the two documents can come from standard input");
  Result<OpenedDocument> before = open_document(arguments.compare[0]);
  if (!before) return fail(std::move(before.error()));
  Result<OpenedDocument> after = open_document(arguments.compare[1]);
  if (!after) return fail(std::move(after.error()));
  const Comparison comparison = compare(std::move(before->document.diagnosis), std::move(after->document.diagnosis));
  if (Result<void> checked = check_comparable(comparison); !checked)
    return fail("{}, {}: {}", input_name(arguments.compare[0]), input_name(arguments.compare[1]),
                checked.error().message);
  const TextStyle style = view_style(arguments.view, session, true);
  Answer answer;
  answer.status = what_got_worse(comparison).empty() ? kExitClean : kExitFound;
  if (arguments.view.format == "json")
    answer.text = comparison_json(comparison);
  else if (arguments.view.format == "markdown")
    answer.text = comparison_markdown(comparison, style.version, style.command);
  else
    answer.text = comparison_text(comparison, style);
  return answer;
}

Result<Answer> answer_of(const Arguments& arguments, const Session& session) {
  if (arguments.compare.empty() == arguments.document.empty())
    return fail("give one diagnosis, or two with --compare BEFORE AFTER (qnn-debug diagnose --format json writes one)");
  if (!arguments.details.empty() && arguments.view.format != "html")
    return fail("--details: only --format html draws them");
  return arguments.compare.empty() ? render(arguments, session) : compare_documents(arguments, session);
}

int run(const Arguments& arguments, const Session& session) {
  const Console console(session.color);
  const Result<Answer> answer = answer_of(arguments, session);
  if (interrupted()) {
    console.error("interrupted");
    return kExitInterrupted;
  }
  if (!answer) {
    console.error("{}", answer.error().message);
    return kExitFailed;
  }
  const int delivered = deliver(arguments.view.output, answer->text, console);
  return delivered == kExitClean ? answer->status : delivered;
}

}  // namespace

void add_report(CLI::App& program, Session& session) {
  CLI::App* command =
      program.add_subcommand("report", "Render a diagnosis again (exit status 0 whatever its verdict), or compare two");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("diagnosis", arguments->document, "Document of diagnose --format json; - for standard input")
      ->type_name(kFileType);
  command
      ->add_option("--compare", arguments->compare,
                   "Two documents, before and after: exit status 1 if something got worse")
      ->type_name(kFileType)
      ->expected(2);
  command
      ->add_option(
          "--details", arguments->details,
          "With --format html: the file that diagnose --details wrote; default: the one that the document names")
      ->type_name(kFileType);
  add_view(*command, arguments->view);
  command->callback([arguments, &session] { session.exit_status = run(*arguments, session); });
}

}  // namespace qnndbg::cli
