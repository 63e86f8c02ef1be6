// Joins what the log of a run says with what its tensors say.
#pragma once

#include "diagnose/diagnosis.h"
#include "graph/model.h"

namespace qnndbg {

/// Adds the log's findings to a diagnosis whose operators are judged (or, without a dump, listed):
///  - `rejected` for every node that QNN refused, `unregistered` for every operator that MNN's backend cannot create;
///  - `load` for what kept the graph from running, only when the dump holds nothing: a log line never overrides a dump;
///  - `consequence_of` in numeric findings at or after a refused node, whose operators become `consequence`;
///  - what the log tells about SoC, architecture and versions, where nothing better is known.
/// Nodes are mapped to operators by name; one that MNN inserted has no operator. Call before conclude().
void join_log(const Model& model, const Explanation& log, Diagnosis& diagnosis);

/// Fills in which of the model's operators each node of the log belongs to.
void name_operators(const Model& model, Explanation& log);

/// The log's view alone decides which bounds apply when nobody told the architecture: "v75"; empty when it tells none.
std::string arch_of_log(const Explanation& log);

}  // namespace qnndbg
