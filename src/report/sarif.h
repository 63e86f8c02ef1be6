// The diagnosis as a SARIF 2.1.0 log (OASIS standard), for code scanning, editors and dashboards.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/diagnosis.h"

namespace qnndbg {

/// One run with one result per finding, with a newline at its end; ASCII only, as every document.
///
/// - Rules are the whole table of findings (knowledge/findings.h), so that the log of a sound run shows what it was
///   judged by. Results are errors; findings of kind `warning` are warnings.
/// - A result is located at the operator (logical location) and at the file to open, relative to MNN's source tree,
///   whose place only the reader knows: uriBaseId MNN_ROOT. Without such a file it is located at the model, for viewers
///   drop results that have no file. No line is given, because none is known.
/// - A finding that follows from a refused node names it as a related location. It is not suppressed: viewers hide
///   suppressed results, and the tensors are wrong all the same.
/// - partialFingerprints identify a finding from run to run by cause, operator type and name, not by figures.
/// - What was not judged is a notification of the invocation, and the coverage stands in the run's properties: a log
///   without results must not look like a clean run. The exit code is the one of `qnn-debug diagnose`.
///
/// `version` is the program's, `command` the command line that made the diagnosis; empty: not known.
std::string to_sarif(const Diagnosis& diagnosis, std::string_view version, std::string_view command);

/// A path as a URI reference: what may not stand in one is percent-encoded; absolute paths get the scheme file.
std::string uri_of_path(std::string_view path);

}  // namespace qnndbg
