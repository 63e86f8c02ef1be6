// Parts of the replay document that the details of a diagnosis hold too.
#pragma once

#include "diagnose/deep_replay.h"
#include "report/json_object.h"

namespace qnndbg {

Json parameter_json(const OperatorParameter& parameter);

/// The whole document "qnn-debug/replay/1".
Json replay_object(const DeepReplay& replay);

}  // namespace qnndbg
