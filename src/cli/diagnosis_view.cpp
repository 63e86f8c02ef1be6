#include "cli/diagnosis_view.h"

#include <filesystem>

#include "cli/options.h"
#include "cli/terminal.h"
#include "report/bounds.h"
#include "report/html.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/sarif.h"
#include "report/text.h"

namespace qnndbg::cli {

const std::vector<std::string>& diagnosis_formats() {
  static const std::vector<std::string> formats = {"text", "json", "markdown", "sarif", "html"};
  return formats;
}

void add_view(CLI::App& command, ViewArguments& arguments) {
  add_choice(command, "-f,--format", arguments.format, diagnosis_formats(),
             "What to print: for people, the document, for an issue, for code scanning, for a browser");
  command.add_option("-o,--output", arguments.output, "File to write instead of standard output")->type_name(kFileType);
  add_choice(command, "--sort", arguments.sort, {"order", "worst"},
             "Text with -vv: operators in the model's order, or the largest local error first");
  command.add_flag("-v,--verbose", arguments.verbosity, "Text: also what was not judged and why; -vv: every operator");
}

TextStyle view_style(const ViewArguments& arguments, const Session& session, bool repeatable) {
  TextStyle style = output_style(session.color);
  style.verbosity = arguments.verbosity;
  style.worst_first = arguments.sort == "worst";
  if (repeatable) style.command = session.command_line;
  return style;
}

Result<std::string> page_of(const Diagnosis& diagnosis, std::span<const SimilarCase> cases, const TextStyle& style,
                            const FoundDetails& details) {
  const std::string document = to_compact_json(diagnosis, cases);
  const std::string title = fmt::format("{}: {} - qnn-debug", name_of(diagnosis.verdict),
                                        std::filesystem::path(diagnosis.model.file).filename().string());
  return to_html({.diagnosis = document,
                  .details = details.text,
                  .missing = details.missing,
                  .title = title,
                  .summary = diagnosis.summary,
                  .version = style.version});
}

Result<std::string> view_of(const Diagnosis& diagnosis, std::span<const SimilarCase> cases, const std::string& format,
                            const TextStyle& style, const FoundDetails& details) {
  if (format == "html") return page_of(diagnosis, cases, style, details);
  if (format == "json") return to_json(diagnosis, cases);
  if (format == "markdown") return to_markdown(diagnosis, style.version, style.command, cases);
  if (format == "sarif") return to_sarif(diagnosis, style.version, style.command);
  return to_text(diagnosis, style, cases) + bounds_text(diagnosis, style);
}

std::string log_command(const std::string& log, const std::string& model) {
  if (log.empty() || log == "-") return {};
  return fmt::format("qnn-debug explain {} --model {}", shell_word(log), shell_word(model));
}

}  // namespace qnndbg::cli
