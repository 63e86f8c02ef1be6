// InnerProduct (Caffe's fully connected layer): the axes from `axis` on are one row, times weights [outputs, inputs],
// plus a bias. The result keeps the axes before it.
#include <algorithm>
#include <cmath>
#include <memory>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/elementwise.h"
#include "ops/support/host_values.h"
#include "ops/support/mat_mul_kernel.h"

namespace qnndbg {
namespace {

class InnerProduct final : public Op {
 public:
  InnerProduct(int axis, Tensor weight, std::vector<float> bias)
      : axis_(axis), weight_(std::move(weight)), bias_(std::move(bias)) {}

  bool has_constants() const override { return true; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 1);
    if (!x) return fail(x.error());
    auto axis = normalize_axis(axis_, static_cast<int>(x->dims.size()));
    if (!axis) return fail(axis.error());
    Dims out(x->dims.begin(), x->dims.begin() + *axis);
    const std::int64_t columns = element_count({x->dims.begin() + *axis, x->dims.end()});
    if (columns != weight_.dims()[1]) return fail("rows of {} for weights {}", columns, to_string(weight_.dims()));
    out.push_back(weight_.dims()[0]);
    auto count = check_dims(out);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{{DType::f32, std::move(out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    Stage stage{.qnn_type = "FullyConnected", .inputs = {0}, .bound = "MatMul"};
    stage.compute = [this, out = context.outputs[0].spec.dims](const RunContext& run) { return compute(run, out); };
    stage.exact = [this](const RunContext& run) -> Result<ElementValue> {
      auto rows = rows_of(*run.inputs[0]);
      if (!rows) return fail(rows.error());
      auto shapes = mat_mul_shapes(rows->dims(), weight_.dims(), false, true);
      if (!shapes) return fail(shapes.error());
      Tensor weight = weight_.clone();
      std::vector<float> bias = bias_;
      round_constants(run, weight, bias);
      return [s = *shapes, x = std::make_shared<Tensor>(std::move(*rows)),
              w = std::make_shared<Tensor>(std::move(weight)), b = std::move(bias)](std::int64_t index) {
        const double sum = mat_mul_element(s, *x, *w, index);
        return b.empty() ? sum : sum + b[static_cast<std::size_t>(index % s.n)];
      };
    };
    return std::vector<Stage>{std::move(stage)};
  }

 private:
  Result<Tensor> rows_of(const Tensor& x) const {
    if (x.type() != DType::f32) return fail("integer matrix products are not implemented");
    const std::int64_t columns = weight_.dims()[1];
    return reshaped(x, {x.size() / columns, columns});
  }

  static void round_constants(const RunContext& run, Tensor& weight, std::vector<float>& bias) {
    if (!run.constants) return;
    round_to_half(weight.f32(), *run.constants, run.half);
    round_to_half(bias, *run.constants, run.half);
  }

  Result<StageResult> compute(const RunContext& run, const Dims& out) const {
    auto rows = rows_of(*run.inputs[0]);
    if (!rows) return fail(rows.error());
    auto shapes = mat_mul_shapes(rows->dims(), weight_.dims(), false, true);
    if (!shapes) return fail(shapes.error());
    Tensor weight = weight_.clone();
    std::vector<float> bias = bias_;
    round_constants(run, weight, bias);
    auto value = affine(*shapes, *rows, weight, bias, out);
    if (!value) return fail(value.error());
    StageResult result{.value = std::move(*value)};
    if (run.want_magnitude) {
      const auto magnitude_of = [](float v) { return std::fabs(v); };
      std::transform(bias.begin(), bias.end(), bias.begin(), magnitude_of);
      auto magnitude =
          affine(*shapes, map_elements(*rows, magnitude_of), map_elements(weight, magnitude_of), bias, out);
      if (!magnitude) return fail(magnitude.error());
      result.magnitude = std::move(*magnitude);
    }
    return result;
  }

  static Result<Tensor> affine(const MatMulShapes& shapes, const Tensor& x, const Tensor& weight,
                               const std::vector<float>& bias, const Dims& out) {
    auto y = mat_mul(shapes, x, weight);
    if (!y) return y;
    for (std::size_t i = 0; i < y->f32().size() && !bias.empty(); ++i) y->f32()[i] += bias[i % bias.size()];
    y->reshape(out);
    return y;
  }

  int axis_;
  Tensor weight_;
  std::vector<float> bias_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::InnerProduct* main = model.wire_op(node.index).main_as_InnerProduct();
  if (main == nullptr) return fail("its InnerProduct parameters are missing");
  if (main->transpose()) return fail("transposed weights are not implemented");
  if (main->weight() == nullptr || main->weight()->size() == 0) return fail("its weights are not plain floats");
  const std::int64_t outputs = main->outputCount();
  const std::int64_t count = main->weight()->size();
  if (outputs < 1 || count % outputs != 0) return fail("{} weights for {} outputs", count, outputs);
  Tensor weight = Tensor::f32({outputs, count / outputs});
  std::copy(main->weight()->begin(), main->weight()->end(), weight.f32().begin());
  std::vector<float> bias;
  if (main->bias() != nullptr) bias.assign(main->bias()->begin(), main->bias()->end());
  if (!bias.empty() && static_cast<std::int64_t>(bias.size()) != outputs)
    return fail("{} biases for {} outputs", bias.size(), outputs);
  return std::make_unique<InnerProduct>(main->axis(), std::move(weight), std::move(bias));
}

const RegisterOp kRegister{"InnerProduct", make};

}  // namespace
}  // namespace qnndbg
