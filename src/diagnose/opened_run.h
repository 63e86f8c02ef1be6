// One execution of a dump, ready to be replayed: read, aligned with the model, planned, with the bounds that apply.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "diagnose/bounds.h"
#include "diagnose/device_run.h"
#include "diagnose/diagnose.h"
#include "diagnose/replay.h"

namespace qnndbg {

class OpenedRun {
 public:
  /// Errors: those of diagnose(). `model` must outlive the result.
  static Result<std::unique_ptr<const OpenedRun>> open(const Model& model, const DiagnoseOptions& options);
  OpenedRun(const OpenedRun&) = delete;
  OpenedRun& operator=(const OpenedRun&) = delete;

  const Execution& execution() const { return execution_; }
  const DeviceRun& device() const { return device_; }
  const GraphPlan& plan() const { return plan_; }
  const Bounds& bounds() const { return bounds_; }
  /// What the document says about the run; the rounding of constants is not decided yet.
  const RunInfo& info() const { return info_; }
  /// Problems of the dump, and bounds that were not measured.
  const std::vector<std::string>& notes() const { return notes_; }

  ReplaySettings replay_settings(HalfKind half) const { return {plan_, device_, bounds_, half}; }

 private:
  OpenedRun(const Model& model, const DiagnoseOptions& options, Execution execution, Bounds bounds);

  Execution execution_;
  Bounds bounds_;
  DeviceRun device_;  // refers to execution_
  GraphPlan plan_;
  RunInfo info_;
  std::vector<std::string> notes_;
};

/// How the device rounded constants: as told, or as the run shows. Where it does not show it, toward zero, and
/// `info.constant_rounding` stays empty.
HalfRounding decide_rounding(Replayer& replayer, ConstantsMode mode, RunInfo& info);

/// What a document says about the model.
ModelInfo model_info(const Model& model);

/// The QNN node that makes a stage; empty when its name is not known: LayerNorm and Scale number their nodes by a
/// counter.
std::string node_name(const OpNode& op, const Stage& stage);

}  // namespace qnndbg
