// Const and TrainableParam: a value stored in the model.
#include "ops/registry.h"

namespace qnndbg {
namespace {

class Constant final : public Op {
 public:
  Constant(const Model& model, int op, TensorSpec spec) : model_(model), op_(op), spec_(std::move(spec)) {}

  bool shape_only() const override { return true; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand>) const override {
    return std::vector<TensorSpec>{spec_};
  }

  Result<std::vector<Stage>> lower(const LowerContext&) const override {
    return std::vector<Stage>{{.compute = [this](const RunContext&) -> Result<StageResult> {
      auto value = model_.constant(op_);
      if (!value) return fail(value.error());
      return StageResult{.value = std::move(*value)};
    }}};
  }

 private:
  const Model& model_;
  int op_;
  TensorSpec spec_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  auto value = model.constant(node.index);
  if (!value) return fail(value.error());
  return std::make_unique<Constant>(model, node.index, TensorSpec{value->type(), value->dims()});
}

const RegisterOp kConst{"Const", make};
const RegisterOp kTrainable{"TrainableParam", make};

}  // namespace
}  // namespace qnndbg
