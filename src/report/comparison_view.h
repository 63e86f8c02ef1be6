// What `qnn-debug report --compare` prints.
#pragma once

#include <string>
#include <string_view>

#include "report/comparison.h"
#include "report/style.h"

namespace qnndbg {

/// Both runs; what is new, changed, still there, gone and fixed, each with its figures before and after; operators that
/// are judged in one run only; figures side by side; the outcome as the last line.
std::string comparison_text(const Comparison& comparison, const TextStyle& style);

/// The document "qnn-debug/comparison/1" (schema/comparison.schema.json), with a newline at its end.
std::string comparison_json(const Comparison& comparison);

/// The same as Markdown, under the rules of markdown.h.
std::string comparison_markdown(const Comparison& comparison, std::string_view version, std::string_view command);

/// "clean after bug; findings: 2 fixed"
std::string comparison_summary(const Comparison& comparison);

}  // namespace qnndbg
