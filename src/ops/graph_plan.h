// Before anything runs: an Op for every operator, shapes and layouts of every tensor, and the values that MNN computes
// on the host while it shapes the graph.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/model.h"
#include "ops/op.h"

namespace qnndbg {

/// What a dump (or a user) can add to what the model says. Every function may be empty.
struct PlanHints {
  /// Logical dims of graph inputs by tensor index; wins over the model's own, which may be open (-1).
  std::map<int, Dims> input_dims;
  /// Device dims of a dumped tensor: shapes the outputs of operators that cannot be inferred.
  std::function<std::optional<TensorSpec>(int tensor, bool channel_last)> dumped_spec;
  /// The layout that a dumped tensor of these logical dims really has, given MNN's rule; nullopt: nothing known.
  std::function<std::optional<Layout>(int tensor, const Dims& logical, Layout rule)> dumped_layout;
};

struct PlannedTensor {
  std::optional<TensorSpec> spec;  // nullopt: unknown
  Layout layout = Layout::logical;
  std::optional<Tensor> host;  // value of a host tensor (constants, shape arithmetic)
};

struct PlannedOp {
  std::unique_ptr<Op> op;  // null for Input operators and for types that are not implemented
  bool is_input = false;
  bool set_aside = false;  // evaluated on the host: constants and shape arithmetic
  std::string problem;     // why it cannot be replayed; empty: it can
};

struct GraphPlan {
  const Model* model = nullptr;
  std::vector<PlannedOp> ops;
  std::vector<PlannedTensor> tensors;

  /// Operands of operator `op`, in the model's order.
  std::vector<Operand> operands(int op) const;
  /// Its outputs (specs and layouts); precondition: ops[op].problem is empty.
  std::vector<Operand> outputs(int op) const;
};

/// The plan refers to `model`, which must outlive it and stay in place.
GraphPlan plan_graph(const Model& model, const PlanHints& hints);

}  // namespace qnndbg
