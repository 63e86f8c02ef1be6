#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

namespace qnndbg::cli {
namespace {

constexpr int kDefaultColumns = 100;
constexpr int kSmallestColumns = 40;
constexpr int kLargestColumns = 160;  // longer lines are hard to read

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool forces(const char* name) {
  const std::string_view value = environment(name);
  return !value.empty() && value != "0";
}

int environment_columns() {
  const std::string_view text = environment("COLUMNS");
  int columns = 0;
  std::from_chars(text.data(), text.data() + text.size(), columns);
  return columns;
}

bool locale_is_utf8() {
  // POSIX: the first of the three that is set and not empty decides.
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value(environment(name));
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) { return std::tolower(c); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

bool can_rewrite_lines(int stream) { return isatty(stream) == 1 && environment("TERM") != "dumb"; }

bool use_color(ColorChoice choice, int stream) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  if (forces("FORCE_COLOR")) return true;
  if (!environment("NO_COLOR").empty()) return false;
  if (forces("CLICOLOR_FORCE")) return true;
  return can_rewrite_lines(stream);
}

int terminal_columns(int stream) {
  winsize size{};
  return ioctl(stream, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

TextStyle output_style(ColorChoice choice) {
  int columns = terminal_columns(STDOUT_FILENO);
  if (columns <= 0) columns = environment_columns();
  if (columns <= 0) columns = kDefaultColumns;
  TextStyle style;
  style.color = use_color(choice, STDOUT_FILENO);
  style.unicode = locale_is_utf8();
  style.width = std::clamp(columns, kSmallestColumns, kLargestColumns);
  style.version = QNNDBG_VERSION;
  return style;
}

}  // namespace qnndbg::cli
