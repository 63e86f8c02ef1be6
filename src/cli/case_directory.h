// A directory with one operator as a case of its own, for a bug report: index.json (schema "qnn-debug/case/1",
// schema/case.schema.json), the model, its inputs, and both outputs. docs/cli.md describes it.
#pragma once

#include <filesystem>
#include <string>

#include "diagnose/deep_replay.h"

namespace qnndbg::cli {

/// Fails unless `path` does not exist yet or is an empty directory; with `force` it may hold other files. For before
/// the work, so that nobody waits for a refusal.
Result<void> check_case_directory(const std::filesystem::path& path, bool force);

/// Makes the directory if need be and writes the case of `replay` into it. File names come from positions, never from
/// the model. Precondition: replay.extracted.
Result<void> write_case(const std::filesystem::path& path, const DeepReplay& replay);

}  // namespace qnndbg::cli
