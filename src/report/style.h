// How text reaches a person: colour, width, figures, and names that cannot harm the terminal.
#pragma once

#include <string>
#include <string_view>

namespace qnndbg {

/// How the terminal views are drawn. The defaults are those of a pipe.
struct TextStyle {
  bool color = false;
  bool unicode = true;
  int width = 100;           // columns
  int verbosity = 0;         // 1: what was not judged and why; 2: every operator
  bool worst_first = false;  // operators by local error, not in the model's order
  std::string version;       // of the program, for the headline
  std::string command;       // command line that made this view; "next" lines build on it. Empty: no such line
  std::string log_command;   // the one that explains the run's log. Empty: none
};

enum class Paint : unsigned char { none, bold, faint, error, warning, good, accent };

/// `text` in a colour, or as it is when the style has none. Pad before painting.
std::string paint(const TextStyle& style, Paint paint, std::string_view text);

/// A string of foreign origin (names, paths, messages) for a terminal: control characters, bytes that are not UTF-8,
/// bidirectional overrides and other invisible characters become escapes as in C++ source ("\n", "\x1b", "\u202e").
/// Everything else stays, up to 4000 bytes.
std::string terminal_safe(std::string_view text);

/// The last part of a path, printable: what a headline shows of it.
std::string file_name(std::string_view path);

/// At most `columns` columns of an already printable text: long ones lose their middle ("backbone/…/conv2d_61"),
/// because names differ at their ends.
std::string shorten(std::string_view text, std::size_t columns, bool unicode);

/// Three significant digits: "0.37", "411", "1.6e-2", "1230", "1.31e5"; "not finite" for NaN and infinity.
std::string figure(double value);

/// "1 operator", "3 operators"
std::string plural(long long count, std::string_view noun);

/// Breaks printable text at spaces so that lines have at most `width` columns; all but the first line begin with
/// `indent` spaces, and the first is taken to begin at column `indent` too. Words that are longer than a line stay
/// whole. No newline at the end.
std::string wrap(std::string_view text, std::size_t indent, std::size_t width);

/// Columns that a printable text takes (East Asian wide characters take two).
std::size_t columns_of(std::string_view text);

}  // namespace qnndbg
