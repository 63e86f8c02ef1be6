// Error numbers as elements of an explanation's "codes".
#pragma once

#include <string_view>

#include "knowledge/codes.h"
#include "report/json_object.h"

namespace qnndbg {

/// {number, hex, name, aliases, module, since, class, stage, meaning, causes, next_steps, returned_by, also_called,
/// follows, stages}. With `stage` (id of a CodeStage), class, meaning, causes and next_steps are those of that stage,
/// as far as it gives the number its own, and "stages" is empty. Without, "stage" is null, they hold for any stage, and
/// "stages" lists what they are where a stage differs.
Json code_json(const ErrorCode& code, std::string_view stage = {});

/// The same for any number: one that is no code has name null, empty lists, and in "meaning" and "next_steps" what can
/// be said about it. With "read_as" (how the number follows from what was written, or null) and "lookalikes" (what else
/// logs write with this number).
Json number_json(const ParsedCode& parsed, std::string_view stage = {});

}  // namespace qnndbg
