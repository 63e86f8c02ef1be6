// The diagnosis as Markdown, to be pasted into an issue or a pull request.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "diagnose/diagnosis.h"
#include "knowledge/case_similarity.h"

namespace qnndbg {

/// Verdict, what was judged, findings with figures, evidence and what to open, coverage, and the command that made it.
/// Plain CommonMark: no tables, no HTML, so that it reads well wherever it is pasted and as text. Nothing of foreign
/// origin is markup, a link or a mention in it (markdown_text.h).
///
/// `version` is the program's, `command` the command line; empty: not known. `cases` are known ones that look like the
/// log of the run.
std::string to_markdown(const Diagnosis& diagnosis, std::string_view version, std::string_view command,
                        std::span<const SimilarCase> cases = {});

}  // namespace qnndbg
