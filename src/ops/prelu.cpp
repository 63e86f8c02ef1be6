// PReLU: x >= 0 ? x : slope[c] * x, one slope per channel or one for all.
#include <vector>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/host_values.h"

namespace qnndbg {
namespace {

class Prelu final : public Op {
 public:
  explicit Prelu(std::vector<float> slope) : slope_(std::move(slope)) {}

  bool has_constants() const override { return true; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    if (slope_.size() != 1 && (x->dims.size() < 2 || x->dims[1] != static_cast<std::int64_t>(slope_.size()))) {
      return fail("{} slopes for an input of {}", slope_.size(), to_string(x->dims));
    }
    return std::vector<TensorSpec>{std::move(*x)};
  }

  Result<std::vector<Stage>> lower(const LowerContext&) const override {
    return std::vector<Stage>{{.qnn_type = "Prelu",
                               .inputs = {0},
                               .bound = "Prelu",
                               .compute = [this](const RunContext& run) -> Result<StageResult> {
                                 std::vector<float> slope = slope_;
                                 if (run.constants) round_to_half(slope, *run.constants, run.half);
                                 const Tensor& x = *run.inputs[0];
                                 if (x.type() != DType::f32) return fail("PReLU of integers");
                                 StageResult result{.value = x.clone()};
                                 const std::span<float> y = result.value.f32();
                                 std::int64_t plane = 1;
                                 for (int axis = 2; axis < x.rank(); ++axis)
                                   plane *= x.dims()[static_cast<std::size_t>(axis)];
                                 for (std::size_t i = 0; i < y.size(); ++i) {
                                   if (y[i] < 0) y[i] *= slope[i / static_cast<std::size_t>(plane) % slope.size()];
                                 }
                                 return result;
                               }}};
  }

  Layout output_layout(std::span<const Operand>) const override { return Layout::channel_last; }

 private:
  std::vector<float> slope_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::PRelu* main = model.wire_op(node.index).main_as_PRelu();
  if (main == nullptr || main->slope() == nullptr || main->slope()->size() == 0) return fail("its slopes are missing");
  return std::make_unique<Prelu>(std::vector<float>(main->slope()->begin(), main->slope()->end()));
}

const RegisterOp kRegister{"PReLU", make};

}  // namespace
}  // namespace qnndbg
