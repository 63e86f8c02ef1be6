// MatMul and BatchMatMul: batched matrix product with NumPy broadcasting of the batch axes, optional transposes and
// bias.
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/host_values.h"
#include "ops/support/mat_mul_kernel.h"

namespace qnndbg {
namespace {

class MatMul final : public Op {
 public:
  MatMul(bool transpose_a, bool transpose_b) : transpose_a_(transpose_a), transpose_b_(transpose_b) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto a = require_operand(inputs, 0);
    if (!a) return fail(a.error());
    auto b = require_operand(inputs, 1);
    if (!b) return fail(b.error());
    auto shapes = mat_mul_shapes(a->dims, b->dims, transpose_a_, transpose_b_);
    if (!shapes) return fail(shapes.error());
    if (has_operand(inputs, 2) &&
        (element_count(inputs[2].spec.dims) != shapes->n || inputs[2].spec.type != DType::f32)) {
      return fail("a bias of {} for {} columns", to_string(inputs[2].spec.dims), shapes->n);
    }
    auto count = check_dims(shapes->result);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{{DType::f32, shapes->result}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    std::vector<int> from{0, 1};
    if (has_operand(context.inputs, 2)) from.push_back(2);
    Stage stage{.qnn_type = "MatMul", .inputs = std::move(from), .bound = "MatMul"};
    stage.compute = [this](const RunContext& run) { return compute(run); };
    stage.exact = [this](const RunContext& run) -> Result<std::function<double(std::int64_t)>> {
      auto shapes = mat_mul_shapes(run.inputs[0]->dims(), run.inputs[1]->dims(), transpose_a_, transpose_b_);
      if (!shapes) return fail(shapes.error());
      return [s = *shapes, a = run.inputs[0], b = run.inputs[1], bias = bias_of(run)](std::int64_t index) {
        return mat_mul_element(s, *a, *b, bias, index);
      };
    };
    return std::vector<Stage>{std::move(stage)};
  }

 private:
  Result<StageResult> compute(const RunContext& run) const {
    const Tensor& a = *run.inputs[0];
    const Tensor& b = *run.inputs[1];
    if (a.type() != DType::f32 || b.type() != DType::f32) return fail("integer matrix products are not implemented");
    auto shapes = mat_mul_shapes(a.dims(), b.dims(), transpose_a_, transpose_b_);
    if (!shapes) return fail(shapes.error());
    return mat_mul(*shapes, a, b, bias_of(run), run.want_magnitude);
  }

  static std::span<const float> bias_of(const RunContext& run) {
    return run.inputs.size() > 2 ? run.inputs[2]->f32() : std::span<const float>();
  }

  bool transpose_a_;
  bool transpose_b_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::MatMul* main = model.wire_op(node.index).main_as_MatMul();
  if (main == nullptr) return fail("its MatMul parameters are missing");
  return std::make_unique<MatMul>(main->transposeA(), main->transposeB());
}

Result<std::unique_ptr<Op>> make_batched(const Model& model, const OpNode& node) {
  const wire::BatchMatMulParam* main = model.wire_op(node.index).main_as_BatchMatMulParam();
  if (main == nullptr) return std::make_unique<MatMul>(false, false);
  return std::make_unique<MatMul>(main->adjX(), main->adjY());
}

const RegisterOp kMatMul{"MatMul", make};
const RegisterOp kBatchMatMul{"BatchMatMul", make_batched};

}  // namespace
}  // namespace qnndbg
