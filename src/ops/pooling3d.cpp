// Pooling3D: MNN's form of ONNX global pools, over all spatial axes. MNN's QNN backend takes rank 4 alone.
#include <algorithm>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/pooling_mistakes.h"
#include "ops/support/qnn_pooling.h"

namespace qnndbg {
namespace {

class GlobalPooling final : public Op {
 public:
  explicit GlobalPooling(PoolKind kind) : kind_(kind) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 3);
    if (!x) return fail(x.error());
    std::fill(x->dims.begin() + 2, x->dims.end(), 1);
    return std::vector<TensorSpec>{{DType::f32, std::move(x->dims)}};
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
           // Whatever the rank, the spatial axes are one row of pixels.
           const std::int64_t pixels = element_count({x.dims().begin() + 2, x.dims().end()});
           const Tensor row = reshaped(x, {out[0], out[1], 1, pixels});
           StageResult result{.value =
                                  pool(row, kind, PoolCount::inside, {.kernel_w = pixels}, {out[0], out[1], 1, 1})};
           result.value.reshape(out);
           return result;
         },
         .hypotheses = [kind = kind_, in = context.inputs[0].spec.dims,
                        out = context.outputs[0].spec.dims](const Evidence& evidence) -> std::vector<Hypothesis> {
           if (in.size() != 4) return {};
           return pooling_mistakes(evidence,
                                   {.kind = kind, .geometry = {.kernel_h = in[2], .kernel_w = in[3]}, .out = out});
         }}};
  }

  Layout output_layout(std::span<const Operand>) const override { return Layout::channel_last; }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const Dims& in = context.inputs[0].spec.dims;
    const Dims device = context.in_dims(0);
    if (in.size() != 4 && context.as_mnn())
      return refuse(QnnRefusal::Kind::encode_error, "an input of rank {}, the backend takes 4 alone", in.size());
    // Whatever the rank, the spatial axes are one row of pixels.
    const std::int64_t pixels = element_count({in.begin() + 2, in.end()});
    const bool image = in.size() == 4;
    PoolWindow window{
        .average = kind_ == PoolKind::average, .filter_h = image ? in[2] : 1, .filter_w = image ? in[3] : pixels};
    window.stride_h = window.filter_h;
    window.stride_w = window.filter_w;
    if (image) return pool_mapping(context, window);
    if (context.inputs[0].layout != Layout::channel_last)
      return refuse(QnnRefusal::Kind::not_mapped, "a pool over data that is not channel-last");
    QnnBuilder builder(context);
    const QnnTensorRef plane = builder.stage("plane", {in[0], 1, pixels, in[1]}, context.input_types[0]);
    const QnnTensorRef pooled = builder.stage("pooled", {in[0], 1, 1, in[1]}, context.output_types[0]);
    builder.reshape("_to_plane", QnnBuilder::input(), plane);
    builder.node("", pool_type(window), {plane}, pooled, pool_params(window));
    builder.reshape("_from_plane", pooled, QnnBuilder::output());
    return builder.take();
  }

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
