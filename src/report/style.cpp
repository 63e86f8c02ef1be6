#include "report/style.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace qnndbg {
namespace {

constexpr std::array<std::string_view, 7> kSgr = {"", "1", "2", "1;31", "1;33", "1;32", "1;36"};  // by Paint

constexpr std::size_t kLongestText = 4000;  // bytes; a longer name or message is no longer read by anybody

bool is_continuation_byte(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// Most characters at the beginning of the text that take at most `columns` columns.
std::string_view prefix_of(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  while (end < text.size()) {
    std::size_t next = end + 1;
    while (next < text.size() && is_continuation_byte(text[next])) ++next;
    const std::size_t width = columns_of(text.substr(end, next - end));
    if (width > columns) break;
    columns -= width;
    end = next;
  }
  return text.substr(0, end);
}

/// The same at its end.
std::string_view suffix_of(std::string_view text, std::size_t columns) {
  std::size_t begin = text.size();
  while (begin > 0) {
    std::size_t next = begin - 1;
    while (next > 0 && is_continuation_byte(text[next])) --next;
    const std::size_t width = columns_of(text.substr(next, begin - next));
    if (width > columns) break;
    columns -= width;
    begin = next;
  }
  return text.substr(begin);
}

}  // namespace

std::string paint(const TextStyle& style, Paint paint, std::string_view text) {
  if (!style.color || paint == Paint::none || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", kSgr.at(static_cast<std::size_t>(paint)), text);
}

std::string terminal_safe(std::string_view text) {
  // fmt's debug format knows what is printable (the rule of Rust's escape_debug); quotes and backslashes need no escape
  // here.
  const std::string_view shown = text.substr(0, kLongestText);
  const std::string escaped = fmt::format("{:?}", shown);
  std::string out;
  out.reserve(escaped.size());
  for (std::size_t i = 1; i + 1 < escaped.size(); ++i) {
    const bool plain_escape = escaped[i] == '\\' && (escaped[i + 1] == '"' || escaped[i + 1] == '\\');
    if (plain_escape) ++i;
    out += escaped[i];
  }
  if (shown.size() < text.size()) out += fmt::format("... ({} bytes)", text.size());
  return out;
}

std::size_t columns_of(std::string_view text) {
  // fmt pads by display columns, so the padding that it leaves out is the text's width.
  return 2 * text.size() - fmt::formatted_size("{:>{}}", text, text.size());
}

std::string file_name(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return terminal_safe(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string shorten(std::string_view text, std::size_t columns, bool unicode) {
  if (columns_of(text) <= columns) return std::string(text);
  const std::string_view mark = unicode ? "…" : "...";
  const std::size_t mark_columns = columns_of(mark);
  if (columns <= mark_columns) return std::string(prefix_of(text, columns));
  const std::size_t kept = columns - mark_columns;
  return fmt::format("{}{}{}", prefix_of(text, kept / 2), mark, suffix_of(text, kept - kept / 2));
}

std::string figure(double value) {
  if (!std::isfinite(value)) return "not finite";
  if (value == 0) return "0";
  // Rounded first, so that 999.7 is seen as the 1000 that it prints as.
  const std::string scientific = fmt::format("{:.2e}", value);
  const auto e = scientific.find('e');
  const int exponent = std::stoi(scientific.substr(e + 1));
  if (exponent >= -2 && exponent < 5) {
    const double rounded = std::stod(scientific);
    std::string fixed = fmt::format("{:.{}f}", rounded, std::max(0, 2 - exponent));
    if (fixed.find('.') != std::string::npos) {
      fixed.erase(fixed.find_last_not_of('0') + 1);
      if (fixed.back() == '.') fixed.pop_back();
    }
    return fixed;
  }
  std::string mantissa = scientific.substr(0, e);
  mantissa.erase(mantissa.find_last_not_of('0') + 1);
  if (mantissa.back() == '.') mantissa.pop_back();
  return fmt::format("{}e{}", mantissa, exponent);
}

std::string plural(long long count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool first_of_line = column == indent;
    if (!first_of_line && column + 1 + columns_of(word) > width) {
      out.erase(out.find_last_not_of(' ') + 1);
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (!first_of_line) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns_of(word);
  }
  return out;
}

}  // namespace qnndbg
