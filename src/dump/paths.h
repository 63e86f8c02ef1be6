// What src/dump's readers share about foreign text: paths that must stay inside a directory, and quoting for messages.
#pragma once

#include <string>
#include <string_view>

#include "tensor/result.h"

namespace qnndbg {

/// Refuses a path that is empty, absolute, holds a NUL byte, or has a ".." component. Looks at the text only; symbolic
/// links are resolve_inside()'s part (inputs.h).
Result<void> check_relative_path(std::string_view relative);

/// `text` in quotation marks for a message: control characters as \xNN (they could drive a terminal), at most 80 bytes.
std::string printable(std::string_view text);

}  // namespace qnndbg
