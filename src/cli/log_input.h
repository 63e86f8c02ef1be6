// Reading a log for `explain`, `diagnose --log` and `case match`: a file, a pipe or standard input, in one pass.
#pragma once

#include <string>

#include "knowledge/explanation.h"
#include "tensor/result.h"

namespace qnndbg::cli {

/// Reads all of a log and applies the rules. `file` is a path, or "-" for standard input; reading from a pipe or a
/// terminal ends at the end of input or at the first Ctrl-C, and what was read until then is explained. Progress is
/// shown on standard error for large files. Errors: the file cannot be read, or is a directory.
Result<Explanation> explain_log_file(const std::string& file);

}  // namespace qnndbg::cli
