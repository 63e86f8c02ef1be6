// One line on standard error that tells how far a long run is, rewritten in place.
#pragma once

#include <chrono>
#include <string_view>

namespace qnndbg::cli {

/// Shows nothing in the first half second of the program, nothing when standard error is no terminal, and leaves
/// nothing behind: the line is erased by clear() and on destruction.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// For the progress callbacks of the library: shows the state and returns false after Ctrl-C.
  bool operator()(int done, int total, std::string_view op);

  /// Erases the line. Call before other output.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  void draw(int done, int total, std::string_view op);

  bool enabled_;
  bool drawn_ = false;
  Clock::time_point next_draw_;
};

}  // namespace qnndbg::cli
