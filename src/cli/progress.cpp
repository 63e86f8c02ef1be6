#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "report/style.h"

namespace qnndbg::cli {
namespace {

using namespace std::chrono_literals;
constexpr auto kQuietStart = 500ms;
constexpr auto kInterval = 50ms;

// Reading a large model counts too, so the quiet time begins with the program.
const auto kStart = std::chrono::steady_clock::now();

}  // namespace

Progress::Progress() : enabled_(can_rewrite_lines(STDERR_FILENO)), next_draw_(kStart + kQuietStart) {}

bool Progress::operator()(int done, int total, std::string_view op) {
  if (enabled_ && Clock::now() >= next_draw_) {
    draw(done, total, op);
    next_draw_ = Clock::now() + kInterval;
  }
  return !interrupted();
}

void Progress::draw(int done, int total, std::string_view op) {
  const std::string count = fmt::format("[{}/{}] ", done, total);
  const int columns = terminal_columns(STDERR_FILENO);
  // The last column stays free: a full line would wrap on some terminals and could not be rewritten.
  const int room = (columns > 0 ? columns : 80) - static_cast<int>(count.size()) - 1;
  const std::string name = shorten(terminal_safe(op), static_cast<std::size_t>(std::max(room, 0)), /*unicode=*/false);
  fmt::print(stderr, "\r{}{}\x1b[K", count, name);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace qnndbg::cli
