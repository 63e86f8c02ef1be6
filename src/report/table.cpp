#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace qnndbg {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kSmallestShortened = 12;

std::vector<std::size_t> natural_widths(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::size_t width = columns_of(columns[c].title);
    for (const TableRow& row : rows) width = std::max(width, columns_of(row.cells[c]));
    widths.push_back(width);
  }
  return widths;
}

/// Takes columns away from the widest column that may shorten until the line fits or none can give more.
void fit(const std::vector<TableColumn>& columns, std::vector<std::size_t>& widths, std::size_t available) {
  std::size_t total = std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  while (total > available) {
    std::size_t widest = columns.size();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bool can_give = columns[c].shortens && widths[c] > kSmallestShortened;
      if (can_give && (widest == columns.size() || widths[c] > widths[widest])) widest = c;
    }
    if (widest == columns.size()) return;
    --widths[widest];
    --total;
  }
}

std::string line_of(const TextStyle& style, const std::vector<TableColumn>& columns,
                    const std::vector<std::size_t>& widths, const std::vector<std::string>& cells, std::size_t indent) {
  std::string line(indent, ' ');
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (c > 0) line.append(kGap, ' ');
    const std::string cell = shorten(cells[c], widths[c], style.unicode);
    line += columns[c].right ? fmt::format("{:>{}}", cell, widths[c]) : fmt::format("{:<{}}", cell, widths[c]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string render_table(const TextStyle& style, const std::vector<TableColumn>& columns,
                         const std::vector<TableRow>& rows, std::size_t indent) {
  std::vector<std::size_t> widths = natural_widths(columns, rows);
  const auto available = static_cast<std::size_t>(std::max(style.width, 0));
  fit(columns, widths, available > indent ? available - indent : 0);

  std::vector<std::string> titles;
  for (const TableColumn& column : columns) titles.push_back(column.title);
  std::string out = paint(style, Paint::faint, line_of(style, columns, widths, titles, indent)) + '\n';
  for (const TableRow& row : rows)
    out += paint(style, row.paint, line_of(style, columns, widths, row.cells, indent)) + '\n';
  return out;
}

}  // namespace qnndbg
