#include "qnn/log_sink.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <utility>

namespace qnndbg::qnn {
namespace {

struct Sink {
  std::mutex mutex;
  CapturedLog log;
};

Sink& sink() {
  // Never destroyed: a library's threads may still write while the process ends.
  static Sink* const instance = new Sink;
  return *instance;
}

std::string formatted(const char* format, std::va_list arguments) {
  std::string text(256, '\0');
  std::va_list again;
  va_copy(again, arguments);
  int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  if (length >= static_cast<int>(text.size())) {
    text.resize(std::min(static_cast<std::size_t>(length) + 1, kLongestLogLine + 1));
    std::vsnprintf(text.data(), text.size(), format, again);
    length = static_cast<int>(text.size()) - 1;
  }
  va_end(again);
  text.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

void on_log(const char* format, abi::LogLevel level, std::uint64_t /*timestamp*/, std::va_list arguments) {
  if (format == nullptr) return;
  LogLine line{.level = level, .text = formatted(format, arguments)};
  if (line.text.empty()) return;
  Sink& to = sink();
  const std::lock_guard lock(to.mutex);
  if (to.log.lines.size() < kMostLogLines)
    to.log.lines.push_back(std::move(line));
  else
    ++to.log.left_out;
}

}  // namespace

abi::LogCallback log_callback() { return on_log; }

CapturedLog take_log() {
  Sink& from = sink();
  const std::lock_guard lock(from.mutex);
  return std::exchange(from.log, {});
}

std::string log_text(const std::vector<LogLine>& lines) {
  std::string text;
  for (const LogLine& line : lines) text += line.text + '\n';
  return text;
}

std::string message_of(const LogLine& line) {
  std::string_view text = line.text;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  constexpr std::string_view kOldName = "QnnDsp ";  // SDKs before 2.3x put it in front
  if (text.starts_with(kOldName)) text.remove_prefix(kOldName.size());
  if (text.size() > 4 && text[0] == '<' && text[2] == '>' && text[3] == ' ') text.remove_prefix(4);
  return std::string(text);
}

std::string first_error(const std::vector<LogLine>& lines) {
  for (const LogLine& line : lines)
    if (line.level == abi::LogLevel::error) return message_of(line);
  return {};
}

}  // namespace qnndbg::qnn
