// Where the user's known cases are kept, shared by `case`, `explain` and `diagnose`.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/console.h"
#include "knowledge/case_store.h"

namespace qnndbg::cli {

struct StorePath {
  std::filesystem::path path;
  bool is_default = false;  // nobody named it
};

/// --store FILE.
void add_store_option(CLI::App& command, std::string& store);

/// `store` if it is not empty, else $QNN_DEBUG_CASES, else the user's data directory (XDG Base Directory Specification,
/// which also says that a relative XDG_DATA_HOME is to be ignored). Errors: there is no such place.
Result<StorePath> store_path(const std::string& store);

/// For reading; makes no file. A store that somebody named and that is not there is worth a note: the name may be
/// misspelt.
Result<CaseStore> open_store_to_read(const std::string& store, const Console& console);

/// For writing. The directory of the default place is made; that of a named file has to be there.
Result<CaseStore> open_store_to_write(const std::string& store);

/// Cases like this one, for an answer to which they are an extra: a store that cannot be read is a note, and the
/// built-in cases remain.
std::vector<SimilarCase> nearest_known_cases(const std::string& store, const Fingerprint& fingerprint, std::size_t limit,
                                             const Console& console);

}  // namespace qnndbg::cli
