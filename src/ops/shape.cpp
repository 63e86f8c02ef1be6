// Shape: the logical dims, or a run of them, on the host.
#include <algorithm>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/host_values.h"

namespace qnndbg {
namespace {

class Shape final : public Op {
 public:
  Shape(std::optional<std::int64_t> start, std::optional<std::int64_t> end) : start_(start), end_(end) {}

  bool shape_only() const override { return true; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    return std::vector<TensorSpec>{{DType::i32, {static_cast<std::int64_t>(part(x->dims).size())}}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    return std::vector<Stage>{
        {.compute = [dims = part(context.inputs[0].spec.dims)](const RunContext&) -> Result<StageResult> {
          return StageResult{.value = Tensor::of({dims.begin(), dims.end()})};
        }}};
  }

 private:
  Dims part(const Dims& dims) const {
    const auto rank = static_cast<std::int64_t>(dims.size());
    const auto wrap = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
    const std::int64_t from = wrap(start_.value_or(0));
    const std::int64_t to = std::max(from, wrap(end_.value_or(rank)));
    return {dims.begin() + from, dims.begin() + to};
  }

  std::optional<std::int64_t> start_;
  std::optional<std::int64_t> end_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> end;
  if (const wire::ShapeParam* main = model.wire_op(node.index).main_as_ShapeParam()) {
    if (main->hasStart()) start = main->start();
    if (main->hasEnd()) end = main->end();
  }
  return std::make_unique<Shape>(start, end);
}

const RegisterOp kRegister{"Shape", make};

}  // namespace
}  // namespace qnndbg
