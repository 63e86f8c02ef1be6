// FloatToInt8 and Int8ToFloat: the boundary operators that MNN puts around quantized regions. On real values they are
// the identity; the rounding to the encoding's steps is for the judge of quantized tensors.
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"

namespace qnndbg {
namespace {

class Boundary final : public Op {
 public:
  explicit Boundary(const char* qnn_type) : qnn_type_(qnn_type) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    if (x->type != DType::f32) return fail("{} of integers", qnn_type_);
    return std::vector<TensorSpec>{std::move(*x)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const Dims& dims = context.outputs[0].spec.dims;
    std::vector<Stage> stages;
    // The backend brings half to float before it quantizes.
    if (context.dumped("Cast")) {
      Stage cast = reshape_stage("Cast", dims);
      cast.name = "Cast";
      cast.node_suffix = "_Cast";
      cast.bound = "Cast";
      cast.layout = context.outputs[0].layout;
      stages.push_back(std::move(cast));
    }
    Stage main = reshape_stage(qnn_type_, dims);
    main.inputs = {stages.empty() ? 0 : -1};
    main.bound = qnn_type_;
    stages.push_back(std::move(main));
    return stages;
  }

  Layout output_layout(std::span<const Operand>) const override { return Layout::channel_last; }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (qnn_type_ != std::string_view("Quantize")) return single_node(context, qnn_type_);
    QnnBuilder builder(context);
    const QnnTensorRef cast = builder.stage("Cast", context.out_dims(0), {DType::f32, {}}, context.outputs[0].layout);
    builder.node("_Cast", "Cast", {QnnBuilder::input()}, cast);
    builder.node("", "Quantize", {cast}, QnnBuilder::output());
    return builder.take();
  }

 private:
  const char* qnn_type_;
};

const RegisterOp kQuantize{"FloatToInt8", [](const Model&, const OpNode&) -> Result<std::unique_ptr<Op>> {
                             return std::make_unique<Boundary>("Quantize");
                           }};
const RegisterOp kDequantize{"Int8ToFloat", [](const Model&, const OpNode&) -> Result<std::unique_ptr<Op>> {
                               return std::make_unique<Boundary>("Dequantize");
                             }};

}  // namespace
}  // namespace qnndbg
