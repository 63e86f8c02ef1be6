// Where data goes: standard output or a file. A document is written whole or the command fails.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cli/console.h"
#include "tensor/result.h"

namespace qnndbg::cli {

/// Writes all of `text` to standard output. Errors: closed pipe, full disk, ...
Result<void> write_stdout(std::string_view text);

/// Writes a file so that readers see the old one or the whole new one: a temporary file in the same directory, then
/// rename. A target that exists and is no regular file (/dev/null, a pipe) is written to directly. The parent directory
/// must exist.
Result<void> write_file(const std::filesystem::path& path, std::string_view text);

/// write_file, or write_stdout when `path` is empty or "-".
Result<void> write_output(const std::string& path, std::string_view text);

/// write_output for commands: an error goes to the console. Returns kExitClean or kExitFailed.
int deliver(const std::string& path, std::string_view text, const Console& console);

}  // namespace qnndbg::cli
