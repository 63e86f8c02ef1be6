// Local replay: each operator recomputed from the device's own inputs, stage by stage.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/bounds.h"
#include "diagnose/device_run.h"
#include "diagnose/judge.h"
#include "ops/graph_plan.h"

namespace qnndbg {

struct JudgedStage;

/// A stage as it was judged, with what its line is made of. Alive during the call only.
struct StageView {
  const Stage& stage;
  const JudgedStage& judged;
  std::span<const float> magnitude;  // empty when the bound has no such term
  const std::function<std::optional<ElementValue>()>& exact;
};

/// What the replay of the whole run shares.
struct ReplaySettings {
  const GraphPlan& plan;
  const DeviceRun& run;
  const Bounds& bounds;
  HalfKind half = HalfKind::htp;
  /// Called with every judged stage; may be empty.
  std::function<void(const StageView&)> observe = {};
};

/// One stage (or output) of a replayed operator that the dump holds.
struct JudgedStage {
  std::size_t stage = 0;  // position in ReplayedOp::stages
  int entry = -1;         // the dump's entry
  Tensor device;          // logical order
  Tensor reference;       // f32, as judged
  Bound bound;            // the line it was held to
  Judgement judgement;
};

/// An operator with its stages and the values that they worked on.
struct ReplayedOp {
  int op = -1;          // position in Net.oplists
  std::string problem;  // why it is not judged; empty: it is
  std::vector<Stage> stages;
  std::vector<JudgedStage> judged;

  /// The first judged stage beyond its bound; nullptr when the operator is right.
  const JudgedStage* first_broken() const;
  /// The largest ratio over the judged stages.
  double bound_ratio() const;
};

/// References are compared as floats; integers up to 2^24 are exact.
Tensor as_float(Tensor tensor);

class Replayer {
 public:
  explicit Replayer(ReplaySettings settings) : settings_(std::move(settings)) {}

  /// Recomputes and judges an operator. `constants`: how the device rounded weights. The operands stay loaded until the
  /// next call.
  ReplayedOp replay(int op, HalfRounding constants);

  /// The context in which a stage of the last replayed operator ran, for hypotheses: its device inputs.
  RunContext context_of(const ReplayedOp& replayed, std::size_t stage, HalfRounding constants,
                        std::vector<const Tensor*>& storage) const;

  /// The error magnitude M_i of a stage of the last replayed operator, which the replay itself does not keep; empty
  /// when the operator has none.
  Tensor magnitude_of(const ReplayedOp& replayed, std::size_t stage, HalfRounding constants) const;

  /// Other dumped f32 tensors with these dims, from before the operator; see Evidence::peers.
  std::vector<Peer> peers(const ReplayedOp& replayed, std::size_t stage, const Dims& dims) const;

  /// Device values of an operator's operands, loaded by the last replay (null: omitted).
  const std::vector<const Tensor*>& operands() const { return operands_; }

  const ReplaySettings& settings() const { return settings_; }

 private:
  Result<void> load_operands(int op, HalfRounding constants);
  /// A constant operand as an operator in fixed point reads it.
  Result<Tensor> load_fixed_point_constant(int tensor) const;
  /// The dump's entry of a stage's result; -1 if there is none.
  int entry_of(int op, const Stage& stage) const;
  /// True when the device holds an output of the operator in fixed point.
  bool in_fixed_point(int op) const;
  /// Judges stage `s` if the dump holds it; the value that later stages read is left in stage_values_.
  Result<void> run_stage(int op, const std::vector<Operand>& outputs, std::size_t s, HalfRounding constants,
                         ReplayedOp& out);

  ReplaySettings settings_;
  std::vector<Tensor> owned_;            // loaded or rounded operands
  std::vector<const Tensor*> operands_;  // in the operator's order
  std::vector<Tensor> stage_values_;     // device value of a stage if dumped, else its reference
};

}  // namespace qnndbg
