// Errors are values: every fallible function of the library returns Result<T>.
//
//   Result<Tensor> t = read_npy("input.npy");
//   if (!t) return fail(t.error());          // pass it on
//   use(*t);
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace qnndbg {

/// A failure as a sentence for people. The sentence names the file (and line, where there is one) and, when
/// it is known, what to do about it; it has no trailing full stop, so that callers can put a prefix before it.
struct Error {
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

/// Makes the error side of a Result from an fmt format string: `return fail("{}: not a .npy file", path);`
template <class... Args>
[[nodiscard]] tl::unexpected<Error> fail(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{fmt::format(format, std::forward<Args>(args)...)});
}

/// Passes an existing error on.
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace qnndbg
