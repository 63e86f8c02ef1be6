// Reading a whole document: a file, a pipe or standard input.
#pragma once

#include <cstddef>
#include <string>

#include "tensor/result.h"

namespace qnndbg::cli {

/// All of a file, or of standard input for "-". Errors: it cannot be read, or has more than `largest` bytes; Ctrl-C
/// ends the waiting (interrupt.h tells).
Result<std::string> read_text(const std::string& file, std::size_t largest);

/// "standard input" for "-", else the file.
std::string input_name(const std::string& file);

}  // namespace qnndbg::cli
