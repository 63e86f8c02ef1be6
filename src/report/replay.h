// What `qnn-debug replay` prints: one operator in depth.
#pragma once

#include <string>

#include "diagnose/deep_replay.h"
#include "report/style.h"

namespace qnndbg {

/// The operator, its tensors and stages; of a broken one the cause, every mistake that was tried, and where the error
/// sits; the status as the last line. `next` is the command to go on with; may be empty.
std::string replay_text(const DeepReplay& replay, const TextStyle& style, const std::string& next);

/// The document "qnn-debug/replay/1" (schema/replay.schema.json), with a newline at its end.
std::string replay_json(const DeepReplay& replay);

}  // namespace qnndbg
