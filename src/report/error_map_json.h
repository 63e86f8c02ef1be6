// An error map as JSON: "errors" in schema/replay.schema.json.
#pragma once

#include "diagnose/error_map.h"
#include "report/json_object.h"

namespace qnndbg {

/// `digits`: significant ones of the ratios.
Json errors_json(const ErrorMap& errors, int digits = 6);

}  // namespace qnndbg
