// run.json beside the manifests: what is known about a run that its tensors do not tell. `emulate` writes it; whoever
// records a run on a phone may write it too. schema/run.schema.json describes it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/result.h"

namespace qnndbg {

inline constexpr std::string_view kRunFileName = "run.json";

/// The part that a diagnosis uses. Empty: not told.
struct RunFile {
  std::string soc;      // QNN's number, "57"
  std::string arch;     // "v75"
  std::string library;  // build id of the QNN library
  std::string mnn;      // version of MNN
};

/// nullopt when the directory has none. Errors: it is no JSON object, a field has another type, it is larger than a run
/// file can be.
Result<std::optional<RunFile>> read_run_file(const std::filesystem::path& directory);

/// The same from memory; `name` stands in messages.
Result<RunFile> parse_run_file(std::string_view text, const std::string& name);

}  // namespace qnndbg
