// From the bytes of a log to lines of text: what terminals, Windows and broken pipes add is taken away, line numbers
// are kept.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace qnndbg {

/// Longest piece of a line that is looked at in one go. A longer line is cut into pieces at blanks: all of it is read,
/// and memory stays bounded.
inline constexpr std::size_t kMaxLinePiece = 16 * 1024;

/// Takes terminal control sequences (ANSI CSI and OSC, other escapes) and NUL bytes out. Newlines stay. Dropping NULs
/// also makes the ASCII part of UTF-16 readable, which is what PowerShell writes when output is redirected.
std::string without_control_sequences(std::string_view text);

/// Text of foreign origin as UTF-8: bytes that are not become U+FFFD, control characters become blanks, blanks at both
/// ends go, and what exceeds `max_bytes` is cut with an ellipsis.
std::string printable_line(std::string_view line, std::size_t max_bytes);

/// Cuts a stream into blocks that end at line ends. Feed bytes in portions of any size; where they are cut does not
/// matter.
class LineBlocks {
 public:
  /// Called with text of at most kMaxLinePiece bytes that is not empty. It begins at a line's begin, or within a line
  /// that was too long, and ends at a line's end or where a line that is too long was cut.
  using Sink = std::function<void(std::string_view block)>;

  explicit LineBlocks(Sink sink) : sink_(std::move(sink)) {}

  void feed(std::string_view bytes);
  /// Hands over the last line, which need not end with a newline.
  void finish();

 private:
  void deliver(std::string_view block);
  std::string_view complete_pending(std::string_view bytes);

  Sink sink_;
  std::string pending_;  // the begin of a line that is not complete yet; at most kMaxLinePiece bytes between calls
};

}  // namespace qnndbg
