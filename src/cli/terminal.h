// What the terminal can do, and what the user wants of it.
#pragma once

#include <string_view>

#include "report/style.h"

namespace qnndbg::cli {

enum class ColorChoice : unsigned char { automatic, always, never };

/// Whether text on a stream is coloured. --color beats all; then FORCE_COLOR, NO_COLOR, CLICOLOR_FORCE in this order,
/// each of which counts as not set when it is empty (or "0" where it forces; https://no-color.org counts any text);
/// then: a terminal that is not dumb.
bool use_color(ColorChoice choice, int stream);

/// Style of a text for standard output: width of the terminal (COLUMNS and then 100 where there is none), Unicode if
/// the locale's character set is UTF-8.
TextStyle output_style(ColorChoice choice);

/// True when `stream` is a terminal on which a line can be rewritten.
bool can_rewrite_lines(int stream);

/// Columns of the terminal behind `stream`; 0 when it is none or does not tell.
int terminal_columns(int stream);

}  // namespace qnndbg::cli
