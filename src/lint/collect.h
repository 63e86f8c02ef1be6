// Describes the machine (environment.h): reads variables, lists directories, reads headers of libraries, and runs
// `python3` and, only when asked for, `adb`, both from PATH and with time limits.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lint/environment.h"
#include "lint/run_program.h"

namespace qnndbg::lint {

/// Variables as a process has them. Only those that matter here are looked up.
using Variables = std::map<std::string, std::string, std::less<>>;

struct Request {
  std::string version{};  // of this program
  Target target{};
  std::string sdk{};                     // --sdk; empty: not given
  std::vector<std::string> libraries{};  // --library
  std::vector<std::string> mnn{};        // --mnn
  bool adb = false;
  Stop stop{};                                   // ends the programs that are run
  std::vector<std::string> phone_directories{};  // --phone-library; empty: /data/local/tmp
};

/// Names of the variables that collect() reads.
const std::vector<std::string>& variable_names();

/// Never fails: what cannot be found out is in the description with its reason. `model` stays empty.
Environment collect(const Request& request, const Variables& variables);

}  // namespace qnndbg::lint
