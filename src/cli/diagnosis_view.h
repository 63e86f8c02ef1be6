// A diagnosis in the form that --format names, for the commands that print one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/details.h"
#include "diagnose/diagnosis.h"
#include "knowledge/case_similarity.h"
#include "report/style.h"

namespace qnndbg::cli {

/// The formats, the default first.
const std::vector<std::string>& diagnosis_formats();

/// --format, --output, --verbose and --sort.
struct ViewArguments {
  std::string format = "text";
  std::string output;
  std::string sort = "order";
  int verbosity = 0;
};
void add_view(CLI::App& command, ViewArguments& arguments);

/// Style of a text view, with the version and, unless it cannot be repeated, the command line.
TextStyle view_style(const ViewArguments& arguments, const Session& session, bool repeatable);

/// The diagnosis in one of diagnosis_formats(). Of `style` the formats that are no text take version and command;
/// only the page draws `details`.
Result<std::string> view_of(const Diagnosis& diagnosis, std::span<const SimilarCase> cases, const std::string& format,
                            const TextStyle& style, const FoundDetails& details = {});

/// The HTML report. Errors: this build has none.
Result<std::string> page_of(const Diagnosis& diagnosis, std::span<const SimilarCase> cases, const TextStyle& style,
                            const FoundDetails& details);

/// "qnn-debug explain run.log --model m.mnn": what to do next about a log; empty when it cannot be read again.
std::string log_command(const std::string& log, const std::string& model);

}  // namespace qnndbg::cli
