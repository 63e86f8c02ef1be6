#include "qnn/call_error.h"

#include "knowledge/codes.h"

namespace qnndbg::qnn {
namespace {

std::string code_words(std::uint32_t code) {
  const ErrorCode* known = find_error_code(static_cast<std::int64_t>(code));
  return fmt::format("{} = {:#x}{}", code, code, known == nullptr ? "" : " " + known->name);
}

}  // namespace

CallError refusal(std::string function, std::string about, abi::Status status) {
  CallError error{.failure = Failure::refused, .message = {}};
  error.code = static_cast<std::uint32_t>(status & abi::kErrorNumberMask);
  error.log = take_log().lines;
  error.message = fmt::format("{} failed{}: {}", function, about.empty() ? "" : fmt::format(" for `{}`", about),
                              code_words(error.code));
  if (const std::string line = first_error(error.log); !line.empty()) error.message += ": " + line;
  error.function = std::move(function);
  error.node = std::move(about);
  return error;
}

}  // namespace qnndbg::qnn
