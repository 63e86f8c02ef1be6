// A list of runs in a text file: one per line, fields separated by tabs.
//
//   model.mnn <TAB> inputs.json <TAB> dump directory [<TAB> architecture]
//
// Paths are relative to the list. inputs.json may be "-" or empty; empty lines and lines that begin with # are skipped.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/result.h"

namespace qnndbg {

struct ListedRun {
  std::filesystem::path model;
  std::filesystem::path inputs;  // empty: none
  std::filesystem::path dump;
  std::string arch;  // "v75"; empty: not told
};

/// Parses the text of a list; `name` stands in messages. Errors name the line.
Result<std::vector<ListedRun>> parse_run_list(std::string_view text, const std::string& name,
                                              const std::filesystem::path& directory);

Result<std::vector<ListedRun>> read_run_list(const std::filesystem::path& path);

}  // namespace qnndbg
