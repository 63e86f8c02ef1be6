// Tests of the mistakes that an operator declares: what the counterfactual engine says of a device output.
#pragma once

#include <gmock/gmock.h>

#include "diagnose/counterfactuals.h"
#include "ops/oracle.h"

namespace qnndbg::test {

/// Inputs as a device holds them: on the half grid.
inline Tensor half_tensor(Rng& rng, const Dims& dims, float low = -2, float high = 2) {
  Tensor t = random_tensor(rng, dims, low, high);
  round_to_half(t.f32(), HalfRounding::nearest, HalfKind::htp);
  return t;
}

/// What HTP makes of exact values: one rounding to half, results below 2^-15 flushed to zero.
inline Tensor on_device(Tensor value) {
  round_to_half(value.f32(), HalfRounding::nearest, HalfKind::htp);
  for (float& v : value.f32()) v = std::abs(v) < 0x1p-15F ? 0 : v;
  return value;
}

/// The output of `op` on HTP, its own constants rounded toward zero. `op` is the right model, or one with a fault in
/// it.
inline Tensor on_device(const OneOp& op, const std::vector<const Tensor*>& inputs) {
  auto made = run_reference(op.op(), OneOp::operands(inputs), inputs, HalfRounding::toward_zero);
  if (!made) {
    ADD_FAILURE() << made.error().message;
    return {};
  }
  return on_device(std::move(made->front()));
}

/// The engine's answer.
struct Found {
  std::string cause;  // "right": within the bound; "unexplained": nothing matches
  std::string parameter, used, meant;
  std::vector<std::string> ties;  // causes of all decisive matches, the first included
};

/// The stages of an operator whose operands are tensors of the device, but for those of `constants`.
inline std::vector<Stage> stages_of(const OneOp& right, const std::vector<const Tensor*>& inputs,
                                    const std::set<std::size_t>& constants = {},
                                    const std::set<std::string>& dumped = {}, Layout layout = Layout::logical) {
  std::vector<Operand> operands = OneOp::operands(inputs);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (constants.count(k) == 0) operands[k].host = nullptr, operands[k].layout = layout;
  }
  auto specs = right.op().infer(OneOp::operands(inputs));
  if (!specs) {
    ADD_FAILURE() << specs.error().message;
    return {};
  }
  std::vector<Operand> outputs;
  for (const TensorSpec& spec : *specs) outputs.push_back({.present = true, .spec = spec, .layout = layout});
  auto stages = right.op().lower({.inputs = operands, .outputs = outputs, .dumped = [&](std::string_view name) {
                                    return dumped.count(std::string(name)) == 1;
                                  }});
  if (!stages) {
    ADD_FAILURE() << stages.error().message;
    return {};
  }
  return std::move(*stages);
}

/// Judges `device` as the output of a stage that reads `from`, and looks for the cause. `peers` are other tensors of
/// the run with the dims that a hypothesis asks for.
inline Found cause_of(const Stage& stage, const std::vector<const Tensor*>& from, const Tensor& device,
                      const std::vector<const Tensor*>& peers = {}) {
  auto bounds = Bounds::load("v75", 1);
  if (!bounds) {
    ADD_FAILURE() << bounds.error().message;
    return {};
  }
  const Bound bound = bounds->of(stage.bound);
  const RunContext context{
      .inputs = from, .constants = HalfRounding::toward_zero, .want_magnitude = bound.magnitude > 0};
  auto result = stage.compute(context);
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  const auto exact = [&]() -> std::optional<ElementValue> {
    if (!stage.exact) return std::nullopt;
    auto made = stage.exact(context);
    if (!made) return std::nullopt;
    return std::move(*made);
  };
  const Tensor device_float = as_float(device.clone());
  Tensor reference = as_float(std::move(result->value));
  const Judgement judgement =
      judge(device_float.f32(), reference.f32(), result->magnitude.f32(), bound, HalfKind::htp, exact);
  if (judgement.right()) return {.cause = "right", .parameter = {}, .used = {}, .meant = {}, .ties = {}};
  const Evidence evidence{
      .context = context, .device = device_float, .reference = reference, .peers = [&](const Dims& dims) {
        std::vector<Peer> all;
        for (const Tensor* t : peers) {
          if (t->dims() == dims) all.push_back({"peer", [t]() -> Result<Tensor> { return t->clone(); }});
        }
        return all;
      }};
  Found found{.cause = "unexplained", .parameter = {}, .used = {}, .meant = {}, .ties = {}};
  for (const Attempt& attempt : try_hypotheses(stage, evidence, bound, *bounds)) {
    if (!attempt.decisive) continue;
    if (found.ties.empty()) {
      const Hypothesis& h = attempt.hypothesis;
      found = {.cause = h.cause, .parameter = h.parameter, .used = h.used, .meant = h.meant, .ties = {}};
    }
    found.ties.push_back(attempt.hypothesis.cause);
  }
  return found;
}

/// The same for the one stage of `right`, all of whose operands are host values.
inline Found cause_of(const OneOp& right, const std::vector<const Tensor*>& inputs, const Tensor& device,
                      const std::vector<const Tensor*>& peers = {}) {
  const std::vector<Stage> stages = right.stages(inputs);
  if (stages.size() != 1) {
    ADD_FAILURE() << stages.size() << " stages; one was expected";
    return {};
  }
  std::vector<const Tensor*> from;
  for (int k : stages.front().inputs) from.push_back(inputs[u(k)]);
  return cause_of(stages.front(), from, device, peers);
}

}  // namespace qnndbg::test
