#include "diagnose/constant_rounding.h"

namespace qnndbg {

std::optional<HalfRounding> find_constant_rounding(Replayer& replayer) {
  const GraphPlan& plan = replayer.settings().plan;
  for (const OpNode& node : plan.model->graph().ops) {
    const PlannedOp& planned = plan.ops[static_cast<std::size_t>(node.index)];
    if (planned.is_input || planned.set_aside || !planned.problem.empty()) continue;
    if (!planned.op->has_constants()) continue;
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
