// Another program, run without a shell, with a time limit and bounded output.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/result.h"

namespace qnndbg::lint {

struct ProgramOutput {
  int status = 0;    // exit status; 128 + signal when a signal ended it
  std::string text;  // standard output and standard error, the first 256 KiB
};

/// Asked now and then while a program runs: true ends it. An empty function never does.
using Stop = std::function<bool()>;

/// Runs `program`, an absolute path, with standard input closed off. Errors: it cannot be started, or it does not end
/// in time or before `stop` says so (it is killed then, with what it started in its process group).
Result<ProgramOutput> run_program(const std::string& program, const std::vector<std::string>& arguments,
                                  std::chrono::milliseconds limit, const Stop& stop = {});

/// The file that `name` means in a PATH-like list: the first executable regular file in its absolute entries. Relative
/// and empty entries mean the working directory, which nobody vouched for; they are skipped. Empty: none.
std::string find_program(std::string_view path_list, std::string_view name);

/// Entries of a list. An empty list has none; "a::b" has an empty one in its middle.
std::vector<std::string> split_list(std::string_view list, char separator);

/// A word of a shell's command line: in single quotes unless all its characters are harmless.
std::string shell_quoted(std::string_view word);

}  // namespace qnndbg::lint
