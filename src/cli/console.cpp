#include "cli/console.h"

#include <unistd.h>

#include <cstdio>

namespace qnndbg::cli {

Console::Console(ColorChoice choice) { style_.color = use_color(choice, STDERR_FILENO); }

void Console::print(Paint paint, std::string_view level, std::string_view message) const {
  // A failure to write here has nowhere to be reported.
  fmt::print(stderr, "qnn-debug: {} {}\n", qnndbg::paint(style_, paint, fmt::format("{}:", level)),
             terminal_safe(message));
}

void Console::help(std::string_view text) const { fmt::print(stderr, "{}", text); }

}  // namespace qnndbg::cli
