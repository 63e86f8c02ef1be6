// Which operators of a model the library accepts for a SoC, in its own words, and where finalizing stops.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/qnn_graph.h"
#include "qnn/engine.h"
#include "qnn/model_graph.h"

namespace qnndbg::qnn {

/// The library's answer to one node.
struct NodeAnswer {
  std::string node;
  std::string type;
  bool accepted = false;
  std::uint32_t code = 0;            // QNN's number; 0 when accepted or when no answer came
  std::vector<std::string> reasons;  // the library's lines, the first one first, without repetition
  std::string failure;               // it crashed, did not answer, ...; empty: there is an answer
};

enum class Acceptance : std::uint8_t {
  accepted,
  refused,    // a node of it was refused, or ended the library
  unmapped,   // MNN's backend writes no nodes for it (QnnRefusal)
  set_aside,  // computed on the host while the graph is shaped
};
std::string_view name_of(Acceptance acceptance);

struct OperatorAnswer {
  int op_index = -1;  // -1: nodes that MNN inserts (casts at the graph's ends, Quantize, Dequantize)
  std::string op;
  std::string op_type;
  Acceptance acceptance = Acceptance::set_aside;
  std::optional<QnnRefusal> refusal;  // of Acceptance::unmapped
  std::vector<NodeAnswer> nodes;
};

/// What graphFinalize made of the whole graph.
struct FinalizeAnswer {
  bool tried = false;  // false: an operator is missing, or it was not asked for
  bool finalized = false;
  std::string message;  // why not
  std::uint32_t code = 0;
  std::string node;          // where it stops; empty: not found
  int op_index = -1;         // the same
  std::vector<LogLine> log;  // of the failing attempt
  std::uint64_t microseconds = 0;
};

struct ValidationReport {
  SessionInfo session;
  bool default_target = false;            // nobody chose the SoC
  std::vector<OperatorAnswer> operators;  // in the model's order, inserted nodes last
  FinalizeAnswer finalize;

  /// True when every operator that reaches the device is accepted and the graph, if tried, was finalized.
  bool all_accepted() const;
};

struct ValidateOptions {
  bool finalize = true;
  /// Called before each node; false stops (an error of kind stopped).
  std::function<bool(std::size_t done, std::size_t total, std::string_view node)> progress = {};
};

/// Asks about every node of the graph; a crash of the library is the answer to the node that it happened at. Then
/// finalizes the graph, and where that fails without naming a node, looks for the first node that it fails at by
/// halving.
CallResult<ValidationReport> validate_model(Engine& engine, const Model& model, const ModelGraph& graph,
                                            const ValidateOptions& options);

}  // namespace qnndbg::qnn
