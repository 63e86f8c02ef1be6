// What `qnn-debug explain 1002` prints: one error number for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/codes.h"
#include "report/style.h"

namespace qnndbg {

/// The number, all its names, who returns it, and per stage the causes with the sign that tells them apart and the
/// steps to take; with `stage` (id of a CodeStage) only what holds there. `how` says how the number was read
/// (ParsedCode::how). The last line is a command to run.
std::string code_text(const ErrorCode& code, const TextStyle& style, std::string_view stage = {},
                      std::string_view how = {});

/// The same for any number: a code, success, a mark of the headers, a status of FastRPC, or a number that is none of
/// them; then the range it falls in, codes near it, and what else logs write with this number.
std::string number_text(const ParsedCode& parsed, const TextStyle& style, std::string_view stage = {});

/// The same for a name that is no error: success, the end of a range, a sentinel.
std::string not_an_error_text(const NotAnError& name, const TextStyle& style);

/// The text for a number or a name in any form that parse_error_code() and find_error_code() take; nullopt when `text`
/// is neither.
std::optional<std::string> explain_code(std::string_view text, const TextStyle& style, std::string_view stage = {});

/// What can be said in one sentence about a number that is no code.
std::string number_meaning(const ParsedCode& parsed);

/// Names of codes for "did you mean": those that hold `text`, then those a few letters away; the nearest first, at most
/// five.
std::vector<std::string> code_names_like(std::string_view text);

}  // namespace qnndbg
