// Runs a whole model on the library and writes every tensor as MNN's dump does.
#pragma once

#include <filesystem>
#include <map>
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
  /// What the graph reads that is no input of the model, by tensor, in logical order: the operands of operators that
  /// are emulated by themselves (QnnGraphOptions::only). Rounded to nearest where the device holds halves.
  std::map<int, Tensor> operands = {};
};

/// The tensors of the model that `graph` reads and that are no inputs of the model.
std::vector<int> operands_of(const Model& model, const QnnGraph& graph);

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
/// graph was made with readable intermediates. Errors: an input or operand is missing or of another shape, an operand
/// is in fixed point, the library fails, the disk.
CallResult<EmulationReport> emulate(Engine& engine, const Model& model, const ModelGraph& graph, const InputMap& inputs,
                                    const EmulateOptions& options);

}  // namespace qnndbg::qnn
