// A call into QNN that failed, as a value.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "qnn/log_sink.h"
#include "tensor/result.h"

namespace qnndbg::qnn {

enum class Failure : std::uint8_t {
  refused,      // the function returned an error: `code`
  bad_request,  // the request was never handed to the library: a tensor that is not there, sizes that disagree
  library,      // the library cannot be used: missing, wrong machine, too old
  crashed,      // it ended the process that it ran in: `signal`, or `exit_status`
  timed_out,    // it did not answer in time; its process was killed
  stopped,      // the caller wanted no more
  protocol,     // the process that runs it could not be started, or its answer makes no sense
};

struct CallError {
  Failure failure = Failure::refused;
  std::string message;        // a sentence as in Error
  std::uint32_t code = 0;     // QNN's number (knowledge/codes.h); 0: it returned none
  std::string function = {};  // "graphFinalize"; empty: none was running
  std::string node = {};      // the node, tensor or graph that it was about; empty: none
  int signal = 0;             // Failure::crashed: the signal that ended it
  int exit_status = 0;        // Failure::crashed: its exit status when no signal did
  std::vector<LogLine> log = {};
  std::string output = {};  // what the library wrote to standard output and standard error
};

template <class T>
using CallResult = tl::expected<T, CallError>;

using qnndbg::fail;  // the overloads below would hide it

[[nodiscard]] inline tl::unexpected<CallError> fail(CallError error) {
  return tl::unexpected<CallError>(std::move(error));
}

template <class... Args>
[[nodiscard]] tl::unexpected<CallError> fail(Failure failure, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<CallError>(
      CallError{.failure = failure, .message = fmt::format(format, std::forward<Args>(args)...)});
}

/// For callers that only pass a sentence on.
inline Error to_error(const CallError& error) { return Error{error.message}; }

/// "graphFinalize refused graph `g`: 1002 = 0x3ea QNN_COMMON_ERROR_MEM_ALLOC: could not create op". Takes what the log
/// holds.
CallError refusal(std::string function, std::string about, abi::Status status);

}  // namespace qnndbg::qnn
