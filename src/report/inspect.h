// What `qnn-debug inspect` prints: the operators and tensors of a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "graph/graph.h"
#include "report/style.h"

namespace qnndbg {

enum class TensorRole : std::uint8_t {
  activation,  // computed by the device
  input,       // a graph input
  output,      // a graph output
  constant,    // the same in every run
  shape_only,  // computed on the host while the graph is shaped
};

std::string_view name_of(TensorRole role);

/// What is known about one tensor without running the model.
struct InspectRow {
  TensorRole role = TensorRole::activation;
  std::optional<Dims> dims;      // logical
  std::optional<Layout> layout;  // on the device
  std::optional<DType> dtype;
  std::string problem;  // why the shape is not known; may be empty
};

struct InspectView {
  ModelInfo model;
  const Graph& graph;
  std::vector<InspectRow> tensors;  // one per tensor of the graph
};

/// Tables of operators and of the model's ends.
std::string inspect_text(const InspectView& view, const TextStyle& style);

/// The document "qnn-debug/model/1" (schema/model.schema.json), with a newline at its end.
std::string inspect_json(const InspectView& view);

}  // namespace qnndbg
