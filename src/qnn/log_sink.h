// What a QNN library writes to its log, captured.
//
// QNN's callback has no argument of the caller's, so there is one sink in the process. Libraries call it from threads
// of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qnn/abi.h"

namespace qnndbg::qnn {

struct LogLine {
  abi::LogLevel level = abi::LogLevel::error;
  std::string text;  // as the library wrote it, usually with "<E>" in front; no newline at its end
  bool operator==(const LogLine&) const = default;
};

/// Beyond these the first lines are kept and the rest is counted.
inline constexpr std::size_t kMostLogLines = 20000;
inline constexpr std::size_t kLongestLogLine = 16384;

struct CapturedLog {
  std::vector<LogLine> lines;
  std::uint64_t left_out = 0;
};

/// For logCreate.
abi::LogCallback log_callback();

/// What came since the last call.
CapturedLog take_log();

/// The lines as a log file has them, for knowledge/log_reader.h.
std::string log_text(const std::vector<LogLine>& lines);

/// The first line that is an error; empty: none. The first one names the cause, later ones follow from it.
std::string first_error(const std::vector<LogLine>& lines);

/// A line without the marks in front of its message: " <E> out[0] ..." is "out[0] ...".
std::string message_of(const LogLine& line);

}  // namespace qnndbg::qnn
