// InnerProduct (Caffe's fully connected layer): the axes from `axis` on are one row, times weights [outputs, inputs],
// plus a bias. The result keeps the axes before it.
#include <algorithm>
#include <memory>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
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
      auto held = std::make_shared<Constants>(constants_of(run));
      return [s = *shapes, x = std::make_shared<Tensor>(std::move(*rows)), held](std::int64_t index) {
        return mat_mul_element(s, *x, held->weight, held->bias, index);
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

  struct Constants {
    Tensor weight;
    std::vector<float> bias;
  };

  /// On the device's half grid, or in fp32 when `run.constants` is empty.
  Constants constants_of(const RunContext& run) const {
    Constants held{weight_.clone(), bias_};
    if (run.constants) {
      round_to_half(held.weight.f32(), *run.constants, run.half);
      round_to_half(held.bias, *run.constants, run.half);
    }
    return held;
  }

  Result<StageResult> compute(const RunContext& run, const Dims& out) const {
    auto rows = rows_of(*run.inputs[0]);
    if (!rows) return fail(rows.error());
    auto shapes = mat_mul_shapes(rows->dims(), weight_.dims(), false, true);
    if (!shapes) return fail(shapes.error());
    const Constants held = constants_of(run);
    auto result = mat_mul(*shapes, *rows, held.weight, held.bias, run.want_magnitude);
    if (!result) return result;
    result->value.reshape(out);
    if (run.want_magnitude) result->magnitude.reshape(out);
    return result;
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
