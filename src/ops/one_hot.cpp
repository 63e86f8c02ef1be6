// OneHot: a new axis of extent `depth` that holds `on` at the position that the index names and `off` elsewhere.
// Operands: indices, depth, on, off.
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"

namespace qnndbg {
namespace {

class OneHot final : public Op {
 public:
  explicit OneHot(int axis) : axis_(axis) {}

  bool is_parameter(int input) const override { return input == 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto indices = require_operand(inputs, 0);
    if (!indices) return fail(indices.error());
    if (indices->type != DType::i32) return fail("indices that are not integers");
    auto depth = host_integer(inputs, 1, "depth");
    if (!depth) return fail(depth.error());
    auto axis = normalize_axis(axis_, static_cast<int>(indices->dims.size()) + 1);
    if (!axis) return fail(axis.error());
    indices->dims.insert(indices->dims.begin() + *axis, *depth);
    auto count = check_dims(indices->dims);
    if (!count) return fail(count.error());
    auto type = value_type(inputs);
    if (!type) return fail(type.error());
    return std::vector<TensorSpec>{{*type, std::move(indices->dims)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const TensorSpec& out = context.outputs[0].spec;
    const int axis = *normalize_axis(axis_, static_cast<int>(out.dims.size()));
    return std::vector<Stage>{{.qnn_type = "OneHot",
                               .inputs = {0, 2, 3},
                               .bound = "exact",
                               .compute = [dims = out.dims, axis](const RunContext& run) {
                                 return spread(*run.inputs[0], *run.inputs[1], *run.inputs[2], dims, axis);
                               }}};
  }

 private:
  /// Type of `on` and `off`, which are single values.
  static Result<DType> value_type(std::span<const Operand> inputs) {
    auto on = require_operand(inputs, 2);
    if (!on) return fail(on.error());
    auto off = require_operand(inputs, 3);
    if (!off) return fail(off.error());
    if (on->type != off->type || element_count(on->dims) != 1 || element_count(off->dims) != 1)
      return fail("values on and off of {} and {}", to_string(on->dims), to_string(off->dims));
    return on->type;
  }

  static Result<StageResult> spread(const Tensor& indices, const Tensor& on, const Tensor& off, const Dims& dims,
                                    int axis) {
    if (indices.type() != DType::i32) return fail("indices that are not integers");
    for (std::int32_t index : indices.i32()) {
      if (index < 0) return fail("index {}: counting from the end is not implemented", index);
    }
    const AxisView view = view_axis(dims, axis);
    StageResult result{.value = Tensor(on.type(), dims)};
    with_elements(off, result.value,
                  []<class T>(std::span<const T> from, std::span<T> y) { std::fill(y.begin(), y.end(), from[0]); });
    with_elements(on, result.value, [&]<class T>(std::span<const T> from, std::span<T> y) {
      for (std::int64_t i = 0; i < indices.size(); ++i) {
        const std::int64_t index = indices.i32()[static_cast<std::size_t>(i)];
        if (index >= view.extent) continue;
        const std::int64_t row = i / view.inner * view.extent + index;
        y[static_cast<std::size_t>(row * view.inner + i % view.inner)] = from[0];
      }
    });
    return result;
  }

  int axis_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::OneHotParam* main = model.wire_op(node.index).main_as_OneHotParam();
  return std::make_unique<OneHot>(main == nullptr ? -1 : main->axis());
}

const RegisterOp kRegister{"OneHot", make};

}  // namespace
}  // namespace qnndbg
