// What qnn-debug knows about an operator: its shapes, its fp32 reference, the stages that a device may have dumped,
// how large a sound error may be, and the mistakes a porter makes with it.
//
// One operator type = one file in this directory. The file derives from Op, reads its parameters from the model, and
// registers itself (registry.h). Nothing else in the program names it. docs/adding-an-operator.md walks through one.
//
// Vocabulary
//   operand    an input of the operator: a device tensor, or a *host value* (a constant, a shape computed on the host)
//   stage      one QNN node of the operator whose result can be dumped. The last stage of an output is the output
//   itself reference  what the model means, in fp32 (sums in double or by oneDNN) magnitude  M_i, the operator's own
//   yardstick for the error of element i, where |y_i| is not enough (bounds.h)
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/model.h"
#include "tensor/half.h"
#include "tensor/tensor.h"

namespace qnndbg {

/// Shape and type of a tensor, logical order.
struct TensorSpec {
  DType type = DType::f32;
  Dims dims = {};
};

/// What is known about an operand before anything runs.
struct Operand {
  bool present = false;  // false: omitted optional input (-1 in the model)
  TensorSpec spec = {};
  Layout layout = Layout::logical;
  const Tensor* host = nullptr;  // its value, when it is a host value
};

/// What a stage computes from.
struct RunContext {
  /// The stage's inputs in the order of Stage::inputs; null for an omitted operand. f32 or i32, logical order.
  std::span<const Tensor* const> inputs = {};
  /// How the device rounded weights and biases to half; nullopt: leave them in fp32 (baseline).
  std::optional<HalfRounding> constants = {};
  /// The half of the device, for constants that overflow (half.h).
  HalfKind half = HalfKind::htp;
  bool want_magnitude = false;
  /// The device holds the operator's inputs and results in fixed point: weights may be integers there (constants set).
  bool fixed_point = false;
};

struct StageResult {
  Tensor value = {};
  Tensor magnitude = {};  // M_i >= 0 per element, same dims; empty unless it was wanted and the stage has one
};

using Compute = std::function<Result<StageResult>(const RunContext&)>;
/// Value of one output element (flat index, logical order) in double.
using ElementValue = std::function<double(std::int64_t element)>;
/// Makes an evaluator of single elements; it refers to the context's inputs, which must outlive it.
using MakeExact = std::function<Result<ElementValue>(const RunContext&)>;

/// A mistake that would explain a wrong output: replaying it must reproduce the device's tensor within the bound.
struct Hypothesis {
  std::string cause = {};      // id of the table in docs/causes.md
  std::string parameter = {};  // e.g. "align_corners of ResizeBilinear"
  std::string used = {};       // value that the device would have used
  std::string meant = {};      // value that the model gives
  std::string file = {};       // file in MNN's tree to open
  int free_parameters = 0;     // numbers fitted to the device's output; 0 for a pure what-if
  std::string bound = {};      // key of the bound that the reproduction is held to; empty: the stage's own
  Compute compute = {};
  /// Single elements in double, as Stage::exact. With it the engine tries a sample of elements first and computes the
  /// whole tensor only when they fit, and fp32 sums of the host do not blur the match. May be empty.
  MakeExact exact = {};
};

/// About how far a sound element may be from its exact value, for a first look; the engine's bound decides.
struct ErrorLine {
  double relative = 1.1 * kHalfUnitRoundoff;
  double absolute = 1.1 * 0x1p-15;
  double at(double y) const { return relative * (y < 0 ? -y : y) + absolute; }
};

/// Another tensor of the run that might have been read by mistake.
struct Peer {
  std::string name = {};  // as dumped
  std::function<Result<Tensor>()> load = {};
};

/// What a hypothesis generator may look at: the stage's operands and what the device made of them.
struct Evidence {
  RunContext context;
  const Tensor& device;     // the device's output of the stage
  const Tensor& reference;  // the right output, same dims
  ErrorLine line = {};
  /// What a fixed-point output can hold: the device saturates there, so that an element at an end shows only a limit.
  std::optional<ValueRange> clip = {};
  double clipped(double y) const { return clip ? std::clamp(y, clip->low, clip->high) : y; }
  /// The dumped f32 tensors with these logical dims that exist before the operator runs, except the stage's own inputs;
  /// may be empty.
  std::function<std::vector<Peer>(const Dims&)> peers = {};
};

/// One QNN node (or a run of nodes without a dumped tensor between them).
struct Stage {
  /// What follows "<node>_" in the dumped name; empty when the stage's result is operator output `output`.
  std::string name = {};
  int output = 0;
  /// Appended to the operator's node name to give the QNN node's ("_conv"); empty for the plain name.
  std::string node_suffix = {};
  /// QNN operation ("Conv2d"); with the parameters it is the plain data that src/qnn builds nodes from.
  std::string qnn_type = {};
  /// Where the inputs come from: k >= 0 is operand k, -1 - j is the result of stage j of the same list.
  std::vector<int> inputs = {};
  /// Key of the error bound in data/bounds.json ("Convolution", "UnaryOp.GELU", "exact").
  std::string bound = {};
  /// Layout in which the device stores a named stage (outputs follow their tensor).
  Layout layout = Layout::logical;
  Compute compute = {};
  /// For stages whose fp32 accumulation could blur the comparison; may be empty.
  MakeExact exact = {};
  /// Mistakes worth trying when the stage is broken, cheapest and most specific first; may be empty.
  std::function<std::vector<Hypothesis>(const Evidence&)> hypotheses = {};
};

/// What lower() may look at.
struct LowerContext {
  std::span<const Operand> inputs = {};
  std::span<const Operand> outputs = {};  // spec and layout; host is null
  /// True when the dump holds "<node>_<stage>"; the whole-operator reference is lowered with a function that says no.
  std::function<bool(std::string_view stage)> dumped = {};
};

// Plain data about the operator's QNN nodes (qnn_mapping.h).
struct QnnContext;
struct QnnMapping;
struct QnnRefusal;

class Op {
 public:
  virtual ~Op() = default;

  /// Shapes and types of the outputs. Uses operands' specs and host values; an error says which shape is impossible or
  /// which operand would have to be a host value.
  virtual Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const = 0;

  /// The stages in execution order, every output included. Called after infer() succeeded on the same operands.
  virtual Result<std::vector<Stage>> lower(const LowerContext& context) const = 0;

  /// True for operands that configure the operator (shape, scales, axes, permutation) and never reach the device as
  /// data.
  virtual bool is_parameter(int /*input*/) const { return false; }

  /// True for operators that MNN evaluates while it shapes the graph, whatever feeds them (Const, Shape, Rank, Size).
  virtual bool shape_only() const { return false; }

  /// True for operators with float constants of their own (weights, bias, gamma): they show how constants were rounded
  /// to half.
  virtual bool has_constants() const { return false; }

  /// Layout of the outputs in MNN, given the operands' (facts: docs/mnn-format.md, layouts).
  /// `inputs[k].layout` of host values is Layout::logical.
  virtual Layout output_layout(std::span<const Operand> inputs) const;

  /// The QNN nodes that MNN's backend writes for the operator, or why it writes none. Called after infer() succeeded on
  /// the same operands. Default: MNN's backend has no creator for the type.
  virtual tl::expected<QnnMapping, QnnRefusal> qnn_mapping(const QnnContext& context) const;

  /// True when MNN lets the operator work in fixed point of this type, given that its operands have encodings.
  virtual bool runs_quantized(DType /*type*/) const { return true; }
};

/// Runs an operator as the model means it and returns its outputs.
/// Operands that are host values are taken from `inputs` like all others.
Result<std::vector<Tensor>> run_reference(const Op& op, std::span<const Operand> operands,
                                          std::span<const Tensor* const> inputs, std::optional<HalfRounding> constants);

}  // namespace qnndbg
