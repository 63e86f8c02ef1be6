// Known cases as JSON: the document {"schema": "qnn-debug/known-cases/1", "cases": [...]} that `case export` writes and
// `case import` reads (schema/known-cases.schema.json).
//
// Documents come from strangers. Refused, with the place of the mistake ("cases[3].fingerprint.codes[0]: ..." or a line
// and column): whatever is not JSON or not UTF-8, fields that are unknown, twice or of another type, values and sizes
// that check_case does not allow, nesting and lists beyond what a case can have. Unknown fields are refused because
// whoever imports and exports a case would lose them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/known_case.h"

namespace qnndbg {

/// A larger document is refused unread.
inline constexpr std::size_t kLargestCaseDocument = std::size_t{256} << 20;

/// The cases of a document, normalized; no id twice.
Result<std::vector<KnownCase>> parse_case_document(std::string_view text);

/// One case, normalized: an object as in the document's "cases".
Result<KnownCase> parse_case(std::string_view text);

/// The same, but id and dates may be missing, and check_case is left to whoever fills them in: for people who write a
/// case by hand.
Result<KnownCase> parse_case_draft(std::string_view text);

/// A document, indented, with a newline at its end; ASCII only, so that it can be printed.
std::string case_document(std::span<const KnownCase* const> cases);

/// One case on one line, for parse_case.
std::string case_line(const KnownCase& known);

}  // namespace qnndbg
