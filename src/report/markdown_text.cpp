#include "report/markdown_text.h"

#include <algorithm>

#include "report/style.h"

namespace qnndbg {
namespace {

constexpr const char* kZeroWidthSpace = "&#8203;";

/// The longest run of backticks in a text.
std::size_t longest_fence(std::string_view text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool ends_with_www(std::string_view text) {
  if (text.size() < 3) return false;
  text.remove_prefix(text.size() - 3);
  return std::all_of(text.begin(), text.end(), [](char c) { return c == 'w' || c == 'W'; });
}

/// Whether text[i] could be markup where it stands. Not everything that could be elsewhere is escaped, so that the
/// source reads well too: "_" between letters is none, nor is ":" before a blank, which begins no address ("http:",
/// "mailto:").
bool could_be_markup(std::string_view text, std::size_t i) {
  const char previous = i == 0 ? ' ' : text[i - 1];
  const char next = i + 1 == text.size() ? ' ' : text[i + 1];
  switch (text[i]) {
    case '_': return !is_alphanumeric(previous) || !is_alphanumeric(next);
    case ':': return next != ' ';
    case '.': return ends_with_www(text.substr(0, i));
    // "$" formulas, "|" cells, "~" strike-through, "@" and "#" references.
    default: return std::string_view("\\`*[]<>&~|$@#").find(text[i]) != std::string_view::npos;
  }
}

std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (could_be_markup(text, i)) out += '\\';
    out += text[i];
    if (text[i] == '@' || text[i] == '#') out += kZeroWidthSpace;
  }
  return out;
}

}  // namespace

std::string markdown_code(std::string_view text) {
  const std::string safe = terminal_safe(text);
  if (safe.find_first_not_of(' ') == std::string::npos) return "(no name)";  // a code span needs something in it
  const std::string fence(longest_fence(safe) + 1, '`');
  // One space at both ends is taken off again; without it a backtick at an end would belong to the fence.
  const bool padded = safe.front() == '`' || safe.back() == '`' || (safe.front() == ' ' && safe.back() == ' ');
  const std::string_view space = padded ? " " : "";
  return fence + std::string(space) + safe + std::string(space) + fence;
}

std::string markdown_sentence(std::string_view text) {
  const std::string safe = terminal_safe(text);
  std::string out;
  for (std::string_view rest = safe; !rest.empty();) {
    const std::size_t open = rest.find('`');
    const std::size_t close = open == std::string_view::npos ? open : rest.find('`', open + 1);
    if (close == std::string_view::npos) return out + escaped(rest);
    out += escaped(rest.substr(0, open));
    // Nothing between the two: backticks of the name itself.
    out += close == open + 1 ? "\\`\\`" : markdown_code(rest.substr(open + 1, close - open - 1));
    rest.remove_prefix(close + 1);
  }
  return out;
}

std::string markdown_block(std::string_view lines) {
  const std::string fence(std::max<std::size_t>(3, longest_fence(lines) + 1), '`');
  const std::string_view end = lines.ends_with('\n') ? "" : "\n";
  return fence + "text\n" + std::string(lines) + std::string(end) + fence + '\n';
}

}  // namespace qnndbg
