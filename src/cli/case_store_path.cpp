#include "cli/case_store_path.h"

#include <cstdlib>

namespace qnndbg::cli {
namespace fs = std::filesystem;
namespace {

/// Value of an environment variable; nullptr when it is not set or empty.
const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

Result<CaseStorePath> case_store_path(const std::string& given) {
  if (!given.empty()) return CaseStorePath{given, false};
  if (const char* file = variable("QNN_DEBUG_CASES")) return CaseStorePath{file, false};
  const fs::path file = fs::path("qnn-debug") / "cases.sqlite";
  // The XDG Base Directory Specification says that a relative XDG_DATA_HOME is to be ignored.
  if (const char* data = variable("XDG_DATA_HOME"); data != nullptr && fs::path(data).is_absolute())
    return CaseStorePath{fs::path(data) / file, true};
  if (const char* home = variable("HOME")) return CaseStorePath{fs::path(home) / ".local" / "share" / file, true};
  return fail("no place for the case store: HOME is not set; name a file with --store");
}

}  // namespace qnndbg::cli
