#include "ops/support/float_detour.h"

namespace qnndbg {
namespace {

Result<StageResult> copy_input(const RunContext& run) { return StageResult{.value = run.inputs[0]->clone()}; }

/// A conversion of the stage before (or of operand 0); what it may change is the bound's affair.
Stage conversion(std::string name, std::string node_suffix, std::string qnn_type, std::string bound, int from) {
  return {.name = std::move(name),
          .node_suffix = std::move(node_suffix),
          .qnn_type = std::move(qnn_type),
          .inputs = {from},
          .bound = std::move(bound),
          .layout = Layout::channel_last,
          .compute = copy_input};
}

RunContext in_float(RunContext context) {
  context.fixed_point = false;
  return context;
}

/// `compute` of a stage or a hypothesis, with constants in half.
Compute in_float(Compute inner) {
  return [inner = std::move(inner)](const RunContext& run) { return inner(in_float(run)); };
}

MakeExact in_float(MakeExact inner) {
  if (!inner) return inner;
  return [inner = std::move(inner)](const RunContext& run) { return inner(in_float(run)); };
}

/// The stage one place later in the list, reading the dequantized input.
Stage moved(Stage stage) {
  // Operand 0 is now the result of stage 0; stage j (coded -1 - j) is stage j + 1.
  for (int& from : stage.inputs) from = from == 0 ? -1 : from < 0 ? from - 1 : from;
  stage.compute = in_float(std::move(stage.compute));
  stage.exact = in_float(std::move(stage.exact));
  if (!stage.hypotheses) return stage;
  stage.hypotheses = [inner = std::move(stage.hypotheses)](const Evidence& evidence) {
    Evidence in_half = evidence;
    in_half.context = in_float(evidence.context);
    std::vector<Hypothesis> list = inner(in_half);
    for (Hypothesis& hypothesis : list) {
      hypothesis.compute = in_float(std::move(hypothesis.compute));
      hypothesis.exact = in_float(std::move(hypothesis.exact));
    }
    return list;
  };
  return stage;
}

}  // namespace

std::vector<Stage> with_float_detour(std::vector<Stage> stages, const LowerContext& context) {
  if (stages.empty() || !context.dumped("DequantInput") || !context.dumped("QuantOutput")) return stages;
  std::vector<Stage> list;
  list.push_back(conversion("DequantInput", "_dequant_input", "Dequantize", "Dequantize", 0));
  for (Stage& stage : stages) list.push_back(moved(std::move(stage)));
  list.back().name = "QuantOutput";
  const auto last = [&] { return -static_cast<int>(list.size()); };
  if (context.dumped("CastOutput")) list.push_back(conversion("CastOutput", "_Cast_Output", "Cast", "Cast", last()));
  list.push_back(conversion("", "_Quant_Output", "Quantize", "exact", last()));
  return list;
}

}  // namespace qnndbg
