// Select: out = condition != 0 ? a : b, with NumPy broadcasting of all three.
#include "ops/registry.h"
#include "ops/support/broadcast.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/qnn_movement.h"

namespace qnndbg {
namespace {

class Select final : public Op {
 public:
  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    TensorSpec spec[3];
    for (int k = 0; k < 3; ++k) {
      auto operand = require_operand(inputs, k);
      if (!operand) return fail(operand.error());
      spec[k] = std::move(*operand);
    }
    if (spec[1].type != spec[2].type) return fail("a choice between floats and integers");
    auto out = broadcast_dims(spec[1].dims, spec[2].dims);
    if (!out) return fail(out.error());
    out = broadcast_dims(*out, spec[0].dims);
    if (!out) return fail(out.error());
    auto count = check_dims(*out);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{{spec[1].type, std::move(*out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    return std::vector<Stage>{
        {.qnn_type = "ElementWiseSelect",
         .inputs = {0, 1, 2},
         .bound = "exact",
         .compute = [out = context.outputs[0].spec.dims](const RunContext& run) -> Result<StageResult> {
           const std::vector<bool> takes_a = truth(expanded(*run.inputs[0], out));
           StageResult result{.value = expanded(*run.inputs[2], out)};
           with_elements(expanded(*run.inputs[1], out), result.value,
                         [&]<class T>(std::span<const T> a, std::span<T> y) {
                           for (std::size_t i = 0; i < y.size(); ++i) {
                             if (takes_a[i]) y[i] = a[i];
                           }
                         });
           return result;
         }}};
  }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (context.as_mnn()) return Op::qnn_mapping(context);
    QnnBuilder builder(context);
    std::vector<QnnTensorRef> operands;
    for (int k = 0; k < 3; ++k) operands.push_back(aligned_input(builder, context, k));
    const Dims& condition = context.inputs[0].spec.dims;
    Dims padded(context.outputs[0].spec.dims.size(), 1);
    std::copy(condition.begin(), condition.end(), padded.end() - static_cast<std::ptrdiff_t>(condition.size()));
    const QnnTensorRef truth = builder.stage("truth", device_dims(padded, context.outputs[0].layout),
                                             {DType::bool8, {}}, context.outputs[0].layout);
    operands[0] = builder.node("_truth", "Cast", {operands[0]}, truth);
    builder.node("", "ElementWiseSelect", std::move(operands), QnnBuilder::output());
    return builder.take();
  }
  bool runs_quantized(DType /*type*/) const override { return false; }

 private:
  static Tensor expanded(const Tensor& x, const Dims& out) {
    return strided_copy(x, out, broadcast_strides(x.dims(), out));
  }

  static std::vector<bool> truth(const Tensor& condition) {
    std::vector<bool> out(static_cast<std::size_t>(condition.size()));
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = condition.type() == DType::f32 ? condition.f32()[i] != 0 : condition.i32()[i] != 0;
    return out;
  }
};

Result<std::unique_ptr<Op>> make(const Model&, const OpNode&) { return std::make_unique<Select>(); }

const RegisterOp kRegister{"Select", make};

}  // namespace
}  // namespace qnndbg
