// Help pages, and what to say when the command line makes no sense.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace qnndbg::cli {

/// Pages that begin with examples. Commands inherit it.
std::shared_ptr<CLI::FormatterBase> help_formatter();

/// Why the command line was refused, in one sentence; unknown commands and options come with the nearest known ones.
std::string explain(const CLI::ParseError& error, const CLI::App& program);

/// Command whose help explains the error: "qnn-debug diagnose --help".
std::string help_command(const CLI::App& program);

}  // namespace qnndbg::cli
