// A table of text columns that fits the width: the first lines of every terminal view that lists operators or tensors.
#pragma once

#include <string>
#include <vector>

#include "report/style.h"

namespace qnndbg {

struct TableColumn {
  std::string title;
  bool right = false;     // align right (figures)
  bool shortens = false;  // may lose the middle of its texts when the width does not suffice
};

struct TableRow {
  std::vector<std::string> cells;  // printable, one per column
  Paint paint = Paint::none;       // of the whole row
};

/// Title line and rows, each with `indent` spaces before it and two between columns. Columns that may shorten give way,
/// never below twelve columns each; other columns are whole even when a line then is longer than the width.
std::string render_table(const TextStyle& style, const std::vector<TableColumn>& columns,
                         const std::vector<TableRow>& rows, std::size_t indent);

}  // namespace qnndbg
