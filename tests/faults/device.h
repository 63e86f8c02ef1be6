// An HTP that runs a described network: every operator evaluated from the device's own, rounded tensors.
//
// The arithmetic is what was measured of the real one (data/bounds.json): exact results rounded once to the nearest
// half, results below 2^-15 flushed, values clamped at 131008, and table look-ups with an error inside the measured
// line. What an operator computes is the product's reference; how a fault makes it compute
// something else is not (faults.h).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "diagnose/bounds.h"
#include "faults/network.h"
#include "graph/model.h"
#include "ops/graph_plan.h"

namespace qnndbg::faults {

/// A network with its model file parsed and every shape, layout and host value known.
class Program {
 public:
  /// `constants`: how the build of MNN that runs it brings weights to half.
  static Result<std::unique_ptr<Program>> compile(Network network, HalfRounding constants = HalfRounding::toward_zero);

  const Network& network() const { return network_; }
  const GraphPlan& plan() const { return plan_; }
  HalfRounding constants() const { return constants_; }
  std::string_view file() const { return bytes_.text(); }
  const Operator& op(int index) const { return network_.ops[static_cast<std::size_t>(index)]; }
  const PlannedTensor& tensor(int index) const { return plan_.tensors[static_cast<std::size_t>(index)]; }
  /// True for constants and inputs, which no node computes.
  bool is_source(int index) const;

 private:
  Program(Network network, test::ModelBytes bytes, HalfRounding constants)
      : network_(std::move(network)), bytes_(std::move(bytes)), constants_(constants) {}

  Network network_;
  test::ModelBytes bytes_;
  HalfRounding constants_;
  std::unique_ptr<Model> model_;
  GraphPlan plan_;
};

/// A tensor inside an operator that the dump shows.
struct StageTensor {
  std::string name;
  Layout layout = Layout::logical;
  Tensor value;
};

/// What the device made of one operator.
struct OpRecord {
  std::vector<Tensor> outputs;
  std::vector<StageTensor> stages;

  const StageTensor* find_stage(std::string_view name) const;
};

/// What the device holds after a run.
struct Recording {
  std::vector<Tensor> given;    // inputs as given, in the order of the Input operators
  std::vector<Tensor> tensors;  // by tensor number; constants are empty
  std::vector<OpRecord> ops;    // `outputs` is empty: see tensors
};

/// The value nearest to `value` that HTP's half has. `flush`: magnitudes below 2^-15 become 0.
float round_to_htp_half(double value, bool flush);

/// Runs operator `op` on the device's tensors. An error when a result is no number: HTP's half has none for it.
Result<OpRecord> execute(const Program& program, int op, const std::vector<Tensor>& tensors);

/// The largest error of the device's tensors of operator `op` against `program`, in units of the bound, judged stage
/// by stage as they were dumped. Up to 1 this program is indistinguishable from what ran.
Result<double> error_in_bounds(const Program& program, int op, const std::vector<Tensor>& tensors,
                               const OpRecord& device, const Bounds& bounds);

/// The leading window of `tensor` with these dims (each no larger than its own); nullopt when there is none.
std::optional<Tensor> leading_window(const Tensor& tensor, const Dims& dims);

/// Writes model.mnn, input/inputs.json with the given inputs, and dump/ in the format of MNN's backend.
Result<void> write_run(const Program& program, const Recording& recording, const std::filesystem::path& directory);

}  // namespace qnndbg::faults
