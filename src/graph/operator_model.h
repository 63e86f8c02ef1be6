// A model of one operator, cut out of another: small enough for a bug report, whole enough to be run again.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "graph/model.h"
#include "tensor/half.h"

namespace qnndbg {

/// An operand of the operator as the new model gets it.
struct ModelOperand {
  int tensor = -1;  // in the model that it is cut from; -1: an optional operand that was left out
  DType type = DType::f32;
  Dims dims;
  Layout layout = Layout::logical;
  const Tensor* constant = nullptr;  // its value if the new model stores it; else it becomes an input
};

/// How the operator's own constants (weights, bias, scales) reach the device's half.
struct ConstantGrid {
  HalfRounding rounding = HalfRounding::toward_zero;
  HalfKind half = HalfKind::htp;
};

/// What an input or output of the new model was in the old one.
struct CutTensor {
  std::string name;          // in the new model: "input0", "output0"; it never depends on a name of the old one
  int tensor = -1;           // in the new model
  int origin = -1;           // in the old model
  std::size_t position = 0;  // among the operator's operands or outputs
};

struct OperatorModel {
  std::vector<std::byte> bytes;  // the .mnn file
  std::vector<CutTensor> inputs;
  std::vector<CutTensor> outputs;
  /// True when every constant of the operator stands on the device's half grid, so that another conversion to half
  /// changes none. False when it has integer weights, which are kept as they are.
  bool rounded = true;
};

/// Cuts out operator `op` with `operands` in its order. Weights of side files move into the model; hints that change no
/// result (sparsity) and fields that this program's schema does not know are left out. Errors: the operator's
/// parameters hold tables that cannot be copied, the weights cannot be read, or the model would exceed 2 GB.
Result<OperatorModel> cut_operator(const Model& model, int op, const std::vector<ModelOperand>& operands,
                                   const ConstantGrid& grid);

/// A parameter as the model file stores it.
struct OperatorParameter {
  std::string name;   // "common.strideX"
  std::string value;  // "2", "SAME", "[1, 1]", "3456 numbers"
};

/// The parameters of an operator, defaults included; empty for an operator without parameters, or whose parameters
/// cannot be copied (see cut_operator).
std::vector<OperatorParameter> operator_parameters(const Model& model, int op);

}  // namespace qnndbg
