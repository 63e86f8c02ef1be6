// Pooling3D: MNN's form of ONNX global pools; on rank 4 it works over all spatial axes.
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/host_values.h"
#include "ops/support/pooling_mistakes.h"

namespace qnndbg {
namespace {

class GlobalPooling final : public Op {
 public:
  explicit GlobalPooling(PoolKind kind) : kind_(kind) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 4);
    if (!x) return fail(x.error());
    if (x->dims.size() != 4) return fail("input of rank {}, only rank 4 is implemented", x->dims.size());
    return std::vector<TensorSpec>{{DType::f32, {x->dims[0], x->dims[1], 1, 1}}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const bool average = kind_ == PoolKind::average;
    return std::vector<Stage>{
        {.qnn_type = average ? "PoolAvg2d" : "PoolMax2d",
         .inputs = {0},
         .bound = average ? "GlobalAveragePool" : "exact",
         .compute = [kind = kind_, out = context.outputs[0].spec.dims](const RunContext& run) -> Result<StageResult> {
           const Tensor& x = *run.inputs[0];
           if (x.type() != DType::f32) return fail("pooling of integers is not implemented");
           const PoolGeometry whole{.kernel_h = x.dims()[2], .kernel_w = x.dims()[3]};
           return StageResult{.value = pool(x, kind, PoolCount::inside, whole, out)};
         },
         .hypotheses =
             [kind = kind_, in = context.inputs[0].spec.dims,
              out = context.outputs[0].spec.dims](const Evidence& evidence) {
               return pooling_mistakes(evidence,
                                       {.kind = kind, .geometry = {.kernel_h = in[2], .kernel_w = in[3]}, .out = out});
             }}};
  }

  Layout output_layout(std::span<const Operand>) const override { return Layout::channel_last; }

 private:
  PoolKind kind_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Pool3D* main = model.wire_op(node.index).main_as_Pool3D();
  if (main == nullptr) return fail("its Pool3D parameters are missing");
  if (!main->isGlobal()) return fail("a Pooling3D with windows is not implemented (MNN's QNN backend refuses it too)");
  return std::make_unique<GlobalPooling>(main->type() == wire::PoolKind_AVEPOOL ? PoolKind::average : PoolKind::max);
}

const RegisterOp kRegister{"Pooling3D", make};

}  // namespace
}  // namespace qnndbg
