// CumSum: running sums along one axis (second operand), optionally from the far end, optionally without the element
// itself.
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"

namespace qnndbg {
namespace {

/// `Sum`: double for floats; unsigned for integers, which wrap.
template <class T, class Sum>
void running_sums(std::span<const T> x, const AxisView& view, bool exclusive, bool reverse, std::span<T> y) {
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      Sum sum = 0;
      for (std::int64_t n = 0; n < view.extent; ++n) {
        const std::int64_t k = reverse ? view.extent - 1 - n : n;
        const auto at = static_cast<std::size_t>((o * view.extent + k) * view.inner + i);
        const Sum before = sum;
        sum += static_cast<Sum>(x[at]);
        y[at] = static_cast<T>(exclusive ? before : sum);
      }
    }
  }
}

class CumSum final : public Op {
 public:
  CumSum(bool exclusive, bool reverse) : exclusive_(exclusive), reverse_(reverse) {}

  bool is_parameter(int input) const override { return input == 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 1);
    if (!x) return fail(x.error());
    auto axis = axis_of(std::nullopt, inputs, 1);
    if (!axis) return fail(axis.error());
    return std::vector<TensorSpec>{std::move(*x)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    auto axis = axis_of(std::nullopt, context.inputs, 1);
    if (!axis) return fail(axis.error());
    return std::vector<Stage>{{.qnn_type = "CumulativeSum",
                               .inputs = {0},
                               .bound = "unmeasured",
                               .compute = [axis = *axis, exclusive = exclusive_,
                                           reverse = reverse_](const RunContext& run) -> Result<StageResult> {
                                 const Tensor& x = *run.inputs[0];
                                 const AxisView view = view_axis(x.dims(), axis);
                                 StageResult result{.value = Tensor(x.type(), x.dims())};
                                 if (x.type() == DType::f32) {
                                   running_sums<float, double>(x.f32(), view, exclusive, reverse, result.value.f32());
                                 } else {
                                   running_sums<std::int32_t, std::uint32_t>(x.i32(), view, exclusive, reverse,
                                                                             result.value.i32());
                                 }
                                 return result;
                               }}};
  }

 private:
  bool exclusive_;
  bool reverse_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::CumSum* main = model.wire_op(node.index).main_as_CumSum();
  return std::make_unique<CumSum>(main != nullptr && main->exclusive(), main != nullptr && main->reverse());
}

const RegisterOp kRegister{"CumSum", make};

}  // namespace
}  // namespace qnndbg
