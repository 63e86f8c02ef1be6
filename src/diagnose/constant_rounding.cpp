#include "diagnose/constant_rounding.h"

namespace qnndbg {

bool depends_on_rounding(const GraphPlan& plan, int op) {
  const PlannedOp& planned = plan.ops[static_cast<std::size_t>(op)];
  if (planned.is_input || planned.set_aside || !planned.problem.empty()) return false;
  if (planned.op->has_constants()) return true;
  const OpNode& node = plan.model->graph().ops[static_cast<std::size_t>(op)];
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (node.inputs[k] < 0 || planned.op->is_parameter(static_cast<int>(k))) continue;
    const auto& host = plan.tensors[static_cast<std::size_t>(node.inputs[k])].host;
    if (host && host->type() == DType::f32) return true;
  }
  return false;
}

std::optional<HalfRounding> find_constant_rounding(Replayer& replayer) {
  const GraphPlan& plan = replayer.settings().plan;
  for (const OpNode& node : plan.model->graph().ops) {
    if (!depends_on_rounding(plan, node.index)) continue;
    const bool cut = [&] {
      const ReplayedOp replayed = replayer.replay(node.index, HalfRounding::toward_zero);
      return replayed.problem.empty() && replayed.first_broken() == nullptr;
    }();
    const bool nearest = [&] {
      const ReplayedOp replayed = replayer.replay(node.index, HalfRounding::nearest);
      return replayed.problem.empty() && replayed.first_broken() == nullptr;
    }();
    if (cut != nearest) return cut ? HalfRounding::toward_zero : HalfRounding::nearest;
  }
  return std::nullopt;
}

}  // namespace qnndbg
