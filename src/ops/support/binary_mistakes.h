// Element-wise arithmetic of two operands, and the mistakes worth trying with it: another operation, operands swapped
// or taken twice, another tensor of the run, a constant altered, an operand laid along other axes.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"
#include "ops/support/operand_source.h"

namespace qnndbg {

/// An operation that QNN has a node for. Functions of one group are mistaken for each other.
struct BinaryFunction {
  enum class Group : std::uint8_t { arithmetic, remainder };

  std::string_view qnn_type;
  std::string_view bound;
  float (*f)(float, float);
  Group group = Group::arithmetic;
  bool commutative = false;
};

/// The float arithmetic that a node may compute; comparisons are not among it.
std::span<const BinaryFunction> binary_functions();
/// nullptr when the table has no such node type.
const BinaryFunction* find_binary_function(std::string_view qnn_type);

struct BinaryOperand {
  std::string name = {};  // as printed: "second operand"
  bool constant = false;  // a constant of the model
  /// A constant's values as the model gives them, before they are rounded to half; may be empty.
  std::span<const float> unrounded = {};
  OperandView view = {};
};

/// Operand k as input k of the stage.
BinaryOperand binary_operand(const LowerContext& context, std::size_t k);

/// What happens to f(a, b) before it is stored: a fused activation, a second constant. Empty: nothing.
struct Finish {
  std::function<float(float value, std::int64_t element)> apply = {};
  /// The value before, as far as the stored one tells it.
  std::function<std::optional<double>(double stored, std::int64_t element)> invert = {};
};

/// max(0, y)
Finish relu_finish();

/// A stage y = finish(f(a, b)) with NumPy broadcasting to `out`. All operands are f32.
struct BinaryStage {
  const BinaryFunction* meant = nullptr;
  std::array<BinaryOperand, 2> operands = {};
  Dims out = {};
  Finish finish = {};
  std::string file = {};
};

/// y = finish(f(a, b)), whole and by element.
Compute binary_compute(const BinaryStage& stage);
MakeExact binary_exact(const BinaryStage& stage);

/// The what-ifs that keep the stage's finish, most plausible first. A constant that is added is a bias, one that is
/// multiplied a weight (altered_constants.h); an operand broadcast along other axes, or read in the other layout, is
/// `flatten_layout_wrong`. Other tensors of the run are loaded only when nothing else fits a sample of the output.
std::vector<Hypothesis> binary_mistakes(const Evidence& evidence, const BinaryStage& stage);

}  // namespace qnndbg
