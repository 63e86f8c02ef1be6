// Messages for people, on standard error. Standard output belongs to data (output.h).
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "cli/terminal.h"

namespace qnndbg::cli {

/// Each message is one paragraph that begins with the program's name and a level. Parts of it may be of foreign origin:
/// it is made printable (style.h) line by line.
class Console {
 public:
  explicit Console(ColorChoice choice);

  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    print(Paint::error, "error", fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) const {
    print(Paint::accent, "note", fmt::format(format, std::forward<Args>(args)...));
  }

  /// Text of our own that explains what to do, as it is.
  void help(std::string_view text) const;

 private:
  void print(Paint paint, std::string_view level, std::string_view message) const;

  TextStyle style_;
};

}  // namespace qnndbg::cli
