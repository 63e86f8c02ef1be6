// The dump aligned with the graph: which entry holds which tensor or stage, in which layout.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dump/dump.h"
#include "dump/inputs.h"
#include "ops/graph_plan.h"

namespace qnndbg {

/// What MNN puts between a float tensor and operators that work in fixed point (node Quantize, after a Cast to fp32),
/// or the other way round (Dequantize).
struct InsertedCopy {
  int tensor = -1;        // the model's tensor
  int entry = -1;         // its copy, "QnnTensor_<n>"
  int cast = -1;          // the fp32 side of a Quantize; -1 if the dump has none
  std::string node = {};  // QNN node that makes the copy; empty: not known
  bool fixed_point = false;
};

class DeviceRun {
 public:
  /// Sorts the entries of `execution` by what they stand for. Both arguments must outlive the run.
  DeviceRun(const Model& model, const Execution& execution);

  /// Hints for plan_graph: dims of the inputs (the dump's own first, then `given`), layouts that the dumped dims show,
  /// and shapes of what cannot be inferred. Refers to this run.
  PlanHints hints(const std::optional<InputMap>& given) const;

  /// Checks every dumped tensor's dims against the plan and marks those that disagree. The error: more than a tenth
  /// disagree, so the dump is not of this model.
  Result<void> check_dims_against(const GraphPlan& plan);

  /// Entry (position in execution.entries) of the operator's own result: t<i>_cast or t<i>_dequant, else t<i>; -1 if
  /// none is usable.
  int own(int tensor) const { return own_[static_cast<std::size_t>(tensor)]; }
  /// Entry of t<i> when own() is another one: the host side of a boundary Cast or Dequantize; -1 if there is none.
  int boundary(int tensor) const { return boundary_[static_cast<std::size_t>(tensor)]; }
  /// Entry that an operator reads for a tensor: the copy that MNN brought to fixed point (or to float) for it where the
  /// dump holds one, else own(). `fixed_point`: the operator works in fixed point. -1 if none is usable.
  int operand(int tensor, bool fixed_point) const;
  /// The copies of tensors that MNN inserted between float and fixed point, as far as they are recognised.
  const std::vector<InsertedCopy>& inserted() const { return inserted_; }
  /// Recognises the inserted copies ("QnnTensor_2") by dims and values. Call after check_dims_against.
  void find_inserted(const GraphPlan& plan, HalfKind half);
  /// Entry of a stage; -1 if the dump has none that is usable.
  int stage(int op, std::string_view name) const;
  /// Stage entries of an operator by name.
  const std::map<std::string, int, std::less<>>& stages(int op) const { return stages_[static_cast<std::size_t>(op)]; }
  /// True when the dump has an entry for the operator, usable or not.
  bool dumped(int op) const { return dumped_[static_cast<std::size_t>(op)]; }

  const DumpEntry& entry(int index) const { return execution_->entries[static_cast<std::size_t>(index)]; }
  const std::vector<DumpRole>& roles() const { return roles_; }
  /// Why an entry is not used although it could be read (dims that disagree); empty otherwise.
  const std::string& mismatch(int index) const { return mismatch_[static_cast<std::size_t>(index)]; }
  /// Why the operator's result is not usable although the dump names it; empty otherwise.
  std::string problem_of(int tensor) const;

  /// Decodes an entry into logical order. The dims are logical; the entry holds as many elements.
  Result<Tensor> load(int index, DType type, const Dims& dims, Layout layout, HalfKind half) const;

 private:
  /// True when an operator reads the tensor and makes fixed-point numbers (or floats).
  bool has_reader(const Graph& graph, int tensor, bool fixed_point) const;
  bool is_copy_of(const GraphPlan& plan, const InsertedCopy& copy, int tensor, HalfKind half) const;

  const Model* model_;
  const Execution* execution_;
  std::vector<DumpRole> roles_;
  std::vector<std::string> mismatch_;
  std::vector<int> own_;
  std::vector<int> boundary_;
  std::vector<int> unusable_;  // per tensor: an entry that names it but cannot be read
  std::vector<std::map<std::string, int, std::less<>>> stages_;
  std::vector<bool> dumped_;
  std::vector<InsertedCopy> inserted_;
};

/// Why the integers of an entry cannot be read as numbers: its encoding is unknown or makes no sense. Empty for float
/// types.
std::string encoding_problem(const DumpEntry& entry);

/// The layout under which device dims are these logical dims: `rule` if that fits, else the other one; nullopt if
/// neither.
std::optional<Layout> fitting_layout(const Dims& device, const Dims& logical, Layout rule);

}  // namespace qnndbg
