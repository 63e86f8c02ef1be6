// Options that say how a model becomes a QNN graph: shared by `htp validate` and `emulate`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/options.h"
#include "ops/qnn_graph.h"

namespace qnndbg::cli {

struct GraphArguments {
  std::string style = "mnn";
  std::string precision = "fp16";
  std::vector<std::string> only;
};

/// --as, --precision and --only.
void add_graph(CLI::App& command, GraphArguments& arguments);

/// A model with its plan and its graph. Stays in place: the parts refer to each other.
struct PlannedModel {
  Model model;
  std::optional<InputMap> inputs;
  GraphPlan plan;
  QnnGraph graph;
};

/// Reads the model and the inputs and builds the graph. Errors: as open_model() and build_qnn_graph(); --only names an
/// operator that the model has not.
Result<std::unique_ptr<PlannedModel>> plan_model(const ModelArguments& files, const GraphArguments& arguments);

}  // namespace qnndbg::cli
