// Concat along one axis of the logical shape; empty operands are skipped.
#include <cstring>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"

namespace qnndbg {
namespace {

class Concat final : public Op {
 public:
  explicit Concat(int axis) : axis_(axis) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    std::optional<TensorSpec> out;
    for (int k = 0; k < static_cast<int>(inputs.size()); ++k) {
      auto x = require_operand(inputs, k);
      if (!x) return fail(x.error());
      if (element_count(x->dims) == 0) continue;
      if (!out) {
        out = std::move(*x);
        continue;
      }
      auto axis = normalize_axis(axis_, static_cast<int>(out->dims.size()));
      if (!axis) return fail(axis.error());
      const auto a = static_cast<std::size_t>(*axis);
      Dims other = x->dims;
      if (other.size() != out->dims.size() || x->type != out->type) {
        return fail("operands {} and {} do not concatenate", to_string(out->dims), to_string(x->dims));
      }
      other[a] = out->dims[a];
      if (other != out->dims)
        return fail("operands {} and {} do not concatenate along axis {}", to_string(out->dims), to_string(x->dims),
                    axis_);
      out->dims[a] += x->dims[a];
    }
    if (!out) return fail("every operand is empty");
    auto axis = normalize_axis(axis_, static_cast<int>(out->dims.size()));
    if (!axis) return fail(axis.error());
    auto count = check_dims(out->dims);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{std::move(*out)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const TensorSpec& out = context.outputs[0].spec;
    std::vector<int> from;
    for (std::size_t k = 0; k < context.inputs.size(); ++k) from.push_back(static_cast<int>(k));
    const int axis = *normalize_axis(axis_, static_cast<int>(out.dims.size()));
    return std::vector<Stage>{{.qnn_type = "Concat",
                               .inputs = std::move(from),
                               .bound = "exact",
                               .compute = [out, axis](const RunContext& run) -> Result<StageResult> {
                                 StageResult result{.value = Tensor(out.type, out.dims)};
                                 const AxisView to = view_axis(out.dims, axis);
                                 std::int64_t at = 0;
                                 for (const Tensor* x : run.inputs) {
                                   if (x->empty()) continue;
                                   const AxisView view = view_axis(x->dims(), axis);
                                   copy(*x, view, result.value, to, at);
                                   at += view.extent;
                                 }
                                 return result;
                               }}};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_majority(inputs); }

 private:
  static void copy(const Tensor& x, const AxisView& from, Tensor& y, const AxisView& to, std::int64_t at) {
    const auto run = static_cast<std::size_t>(from.extent * from.inner);
    for (std::int64_t o = 0; o < from.outer; ++o) {
      const auto source = static_cast<std::size_t>(o) * run;
      const auto target = static_cast<std::size_t>((o * to.extent + at) * to.inner);
      if (x.type() == DType::f32) {
        std::memcpy(&y.f32()[target], &x.f32()[source], run * sizeof(float));
      } else {
        std::memcpy(&y.i32()[target], &x.i32()[source], run * sizeof(std::int32_t));
      }
    }
  }

  int axis_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Axis* main = model.wire_op(node.index).main_as_Axis();
  if (main == nullptr) return fail("its Axis parameter is missing");
  return std::make_unique<Concat>(main->axis());
}

const RegisterOp kRegister{"Concat", make};

}  // namespace
}  // namespace qnndbg
