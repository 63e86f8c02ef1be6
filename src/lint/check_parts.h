// Parts of check(), by subject. Each appends to a list.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lint/checks.h"

namespace qnndbg::lint {

using Checks = std::vector<Check>;

inline Check report(std::string_view id, CheckStatus status, std::string found, std::string fix = {},
                    std::string_view cause = {}) {
  return {.id = id, .status = status, .found = std::move(found), .fix = std::move(fix), .cause = cause};
}

void check_variables(const Environment& environment, Checks& checks);
void check_sdks(const Environment& environment, Checks& checks);
void check_libraries(const Environment& environment, Checks& checks);
void check_mnn(const Environment& environment, Checks& checks);
void check_python(const Environment& environment, Checks& checks);
void check_phone(const Environment& environment, Checks& checks);
void check_machine(const Environment& environment, Checks& checks);

/// The value of a variable of the environment; nullptr when it is not set.
const std::string* variable(const Environment& environment, std::string_view name);

/// All libraries of a deployment, in search order.
std::vector<const SharedLibrary*> libraries_of(const Deployment& deployment);

/// The releases of libraries, each once, in order of appearance; libraries without a build id are left out.
std::vector<std::string> releases_of(const std::vector<const SharedLibrary*>& libraries);

/// The architecture that is asked for: told by the user, else by the phone's SoC; 0: unknown.
int target_arch(const Environment& environment);

}  // namespace qnndbg::lint
