// One finding as compilers print theirs.
#pragma once

#include <string>

#include "report/network.h"
#include "report/style.h"

namespace qnndbg {

/// Level, id and title; place; aligned rows with figures; evidence; what to open and to try.
std::string finding_text(const Finding& finding, const Diagnosis& diagnosis, const Network& network,
                         const TextStyle& style);

/// Only the first line of it, with the place at its end.
std::string finding_line(const Finding& finding, const Diagnosis& diagnosis, const TextStyle& style);

/// Parts of it: "   |  label     text" and "   = label      text", wrapped to the width.
std::string row_text(const TextStyle& style, std::string_view label, std::string_view text);
std::string step_text(const TextStyle& style, std::string_view label, std::string_view text);

/// The operators around the finding's: who feeds it, itself, two that read it. Empty when the operator is not known.
std::string neighbours_text(const Finding& finding, const Network& network, const TextStyle& style);

/// "Interp `upsample`"; the type alone when the operator has no name.
std::string op_title(std::string_view type, std::string_view name);

/// Status as a word: "not judged".
std::string status_text(OpStatus status);

/// "411 units", or "-" when it is not known.
std::string units_text(const std::optional<double>& bound_ratio);

}  // namespace qnndbg
