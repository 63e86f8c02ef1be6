// From an operator of the model to its Op.
#pragma once

#include <string_view>

#include "ops/op.h"

namespace qnndbg {

using OpFactory = Result<std::unique_ptr<Op>> (*)(const Model& model, const OpNode& node);

/// Registers the factory of an operator type at start-up. Use in the operator's file, at namespace scope:
///   const RegisterOp kRegister{"ReLU6", make};
struct RegisterOp {
  RegisterOp(std::string_view type_name, OpFactory factory);
};

/// Builds the Op of a model's operator. Errors: type not implemented (the message says so), parameters missing or
/// absurd.
Result<std::unique_ptr<Op>> make_op(const Model& model, const OpNode& node);

/// Registered type names, sorted.
std::vector<std::string> registered_op_types();

}  // namespace qnndbg
