// Runs a whole model on the library and writes every tensor as MNN's dump does.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "dump/inputs.h"
#include "qnn/engine.h"
#include "qnn/model_graph.h"

namespace qnndbg::qnn {

struct EmulateOptions {
  std::filesystem::path dump;  // directory; it exists
  unsigned execution = 0;
  GraphConfig config = {};
  Profiling profiling = Profiling::off;
};

struct EmulationReport {
  SessionInfo session;
  bool default_target = false;       // nobody chose the SoC
  std::vector<NodeRefusal> refused;  // the run went on, as MNN's does
  std::size_t tensors = 0;           // written
  std::uint64_t finalize_microseconds = 0;
  std::uint64_t execute_microseconds = 0;
  std::vector<ProfileEvent> profile;  // of the execution
};

/// Finalizes and executes; every tensor that MNN's dump would have is written under MNN's names. Precondition: the
/// graph was made with readable intermediates. Errors: an input is missing or of another shape, the library fails, the
/// disk.
CallResult<EmulationReport> emulate(Engine& engine, const Model& model, const ModelGraph& graph, const InputMap& inputs,
                                    const EmulateOptions& options);

}  // namespace qnndbg::qnn
