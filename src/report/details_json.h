// The details of a diagnosis, what a report draws: a file of its own beside the document, which names it.
#pragma once

#include <span>
#include <string>

#include "diagnose/deep_replay.h"
#include "diagnose/details.h"

namespace qnndbg {

/// The document "qnn-debug/details/1" (schema/details.schema.json), in one line. `replays`: of accused operators, one
/// per operator at most. Ratios have three significant digits.
std::string details_json(const Details& details, std::span<const DeepReplay> replays);

}  // namespace qnndbg
