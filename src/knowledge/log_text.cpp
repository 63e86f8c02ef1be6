#include "knowledge/log_text.h"

#include <algorithm>
#include <cstring>

namespace qnndbg {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\x07';
/// A terminal's title or hyperlink is short; a sequence that does not end within this is no sequence.
constexpr std::size_t kMaxOsc = 2048;

bool is_between(char c, char low, char high) { return c >= low && c <= high; }

/// Length of the control sequence introduced by ESC [ at the begin of `text` (ECMA-48, 5.4).
std::size_t csi_length(std::string_view text) {
  std::size_t i = 2;
  while (i < text.size() && is_between(text[i], 0x30, 0x3f)) ++i;
  while (i < text.size() && is_between(text[i], 0x20, 0x2f)) ++i;
  return i < text.size() && is_between(text[i], 0x40, 0x7e) ? i + 1 : i;
}

/// Length of the operating system command that begins with ESC ]: ended by BEL or ESC \.
std::size_t osc_length(std::string_view text) {
  const std::size_t limit = std::min(text.size(), kMaxOsc);
  for (std::size_t i = 2; i < limit && text[i] != '\n'; ++i) {
    if (text[i] == kBell) return i + 1;
    if (text[i] == kEscape && i + 1 < text.size() && text[i + 1] == '\\') return i + 2;
  }
  return 2;
}

std::size_t escape_length(std::string_view text) {
  if (text.size() < 2 || text[1] == '\n') return 1;
  if (text[1] == '[') return csi_length(text);
  if (text[1] == ']') return osc_length(text);
  return 2;
}

/// Bytes of the UTF-8 character at the begin of `text`; 0 when it is none (RFC 3629).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 && lead <= 0xf4   ? 4
                             : lead >= 0xe0 && lead <= 0xef ? 3
                             : lead >= 0xc2 && lead <= 0xdf ? 2
                                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned char second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool beyond = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
  return overlong || beyond ? 0 : length;
}

/// Where to cut a line that is longer than a piece, at the begin of `text`. A blank near the end is a safe place:
/// patterns seldom reach across many words.
std::size_t cut_of_long_line(std::string_view text) {
  const std::size_t blank = text.substr(0, kMaxLinePiece).find_last_of(" \t,;");
  return blank == std::string_view::npos || blank < kMaxLinePiece / 2 ? kMaxLinePiece : blank + 1;
}

/// Length of the block at the begin of `text`: whole lines, or a piece of one that is too long. 0: more bytes must come
/// to tell. It depends on the lines alone, not on what else happens to stand in `text`.
std::size_t block_length(std::string_view text) {
  const std::size_t newline = text.substr(0, kMaxLinePiece).rfind('\n');
  if (newline != std::string_view::npos) return newline + 1;
  return text.size() > kMaxLinePiece ? cut_of_long_line(text) : 0;
}

bool has(std::string_view text, char c) { return std::memchr(text.data(), c, text.size()) != nullptr; }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

std::string without_control_sequences(std::string_view original) {
  // NULs first: in UTF-16 they stand within the sequences too.
  std::string text(original);
  std::erase(text, '\0');
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == kEscape) {
      i += escape_length(std::string_view(text).substr(i));
    } else {
      clean.push_back(text[i]);
      ++i;
    }
  }
  return clean;
}

std::string printable_line(std::string_view line, std::size_t max_bytes) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && (is_blank(line.back()) || line.back() == '\n')) line.remove_suffix(1);
  std::string text;
  while (!line.empty()) {
    if (text.size() >= max_bytes) return text + "\u2026";
    const std::size_t length = utf8_length(line);
    if (length == 0) {
      text += "\ufffd";
    } else if (length == 1 && (static_cast<unsigned char>(line[0]) < 0x20 || line[0] == 0x7f)) {
      text += ' ';
    } else {
      text += line.substr(0, length);
    }
    line.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

void LineBlocks::deliver(std::string_view block) {
  if (!has(block, kEscape) && !has(block, '\0')) {
    sink_(block);
  } else if (const std::string clean = without_control_sequences(block); !clean.empty()) {
    sink_(clean);
  }
}

/// Appends to pending_ what belongs to its line and hands over what is then complete. Returns the rest of `bytes`.
std::string_view LineBlocks::complete_pending(std::string_view bytes) {
  const std::size_t room = kMaxLinePiece + 1 - pending_.size();
  const std::size_t newline = bytes.substr(0, room).find('\n');
  const std::size_t taken = std::min(newline == std::string_view::npos ? room : newline + 1, bytes.size());
  pending_.append(bytes.substr(0, taken));
  // Looked at only when something can be complete, so that single bytes cost no more than large portions.
  if (pending_.back() == '\n' || pending_.size() > kMaxLinePiece) {
    while (const std::size_t length = block_length(pending_)) {
      deliver(std::string_view(pending_).substr(0, length));
      pending_.erase(0, length);
    }
  }
  return bytes.substr(taken);
}

void LineBlocks::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!pending_.empty()) {
      bytes = complete_pending(bytes);
      continue;
    }
    const std::size_t length = block_length(bytes);
    if (length == 0) {
      pending_.assign(bytes);
      return;
    }
    deliver(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
}

void LineBlocks::finish() {
  if (!pending_.empty()) deliver(pending_);
  pending_.clear();
}

}  // namespace qnndbg
