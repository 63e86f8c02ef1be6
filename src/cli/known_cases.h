// Where the user's known cases are kept, shared by `case`, `explain` and `diagnose`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/console.h"
#include "knowledge/case_store.h"

namespace qnndbg::cli {

/// --store FILE.
void add_store_option(CLI::App& command, std::string& store);

/// For reading; makes no file. A store that somebody named and that is not there is worth a note: the name may be
/// misspelt.
Result<CaseStore> open_store_to_read(const std::string& store, const Console& console);

/// For writing. The directory of the default place is made; that of a named file has to be there.
Result<CaseStore> open_store_to_write(const std::string& store);

/// Cases like this one, for an answer to which they are an extra: a store that cannot be read is a note, and the
/// built-in cases remain.
std::vector<SimilarCase> nearest_known_cases(const std::string& store, const Fingerprint& fingerprint,
                                             std::size_t limit, const Console& console);

}  // namespace qnndbg::cli
