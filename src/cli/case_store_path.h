// Where a user's own cases are.
#pragma once

#include <filesystem>
#include <string>

#include "tensor/result.h"

namespace qnndbg::cli {

/// What the help says of an option that names the store.
inline constexpr const char* kCaseStoreHelp =
    "File of your own cases; default: $QNN_DEBUG_CASES, else qnn-debug/cases.sqlite in your data directory";

struct CaseStorePath {
  std::filesystem::path path;
  bool is_default = false;  // nobody named it: not being there is nothing special
};

/// `given` (the value of an option, may be empty), else $QNN_DEBUG_CASES, else qnn-debug/cases.sqlite in $XDG_DATA_HOME
/// or
/// ~/.local/share. Error: there is no home directory.
Result<CaseStorePath> case_store_path(const std::string& given);

}  // namespace qnndbg::cli
