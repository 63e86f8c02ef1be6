// BroadcastTo: repeats axes of extent 1 until the shape in the second operand is reached (NumPy's rules).
#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/broadcast.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"

namespace qnndbg {
namespace {

class BroadcastTo final : public Op {
 public:
  bool is_parameter(int input) const override { return input == 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    auto shape = host_integers(inputs, 1, "shape");
    if (!shape) return fail(shape.error());
    auto wanted = check_dims(*shape);
    if (!wanted) return fail(wanted.error());
    auto out = broadcast_dims(x->dims, *shape);
    if (!out) return fail(out.error());
    auto count = check_dims(*out);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{{x->type, std::move(*out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    return std::vector<Stage>{
        {.qnn_type = "Tile",
         .inputs = {0},
         .bound = "exact",
         .compute = [out = context.outputs[0].spec.dims](const RunContext& run) -> Result<StageResult> {
           const Tensor& x = *run.inputs[0];
           return StageResult{.value = strided_copy(x, out, broadcast_strides(x.dims(), out))};
         }}};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const Dims& in = context.inputs[0].spec.dims;
    const Dims& out = context.outputs[0].spec.dims;
    if (element_count(in) == 0) return refuse(QnnRefusal::Kind::not_mapped, "an empty input {}", to_string(in));
    std::vector<std::int64_t> multiples;
    if (context.as_mnn()) {
      if (in.size() > 5) return refuse(QnnRefusal::Kind::refused, "an input of rank {}, 5 is the most", in.size());
      // Extents are divided place by place in the model's order, whatever the device's and even where the ranks differ.
      for (std::size_t k = 0; k < in.size(); ++k) multiples.push_back(out[k] / in[k]);
      return single_node(context, "Tile", {u32_list("multiples", std::move(multiples))});
    }
    QnnBuilder builder(context);
    QnnTensorRef x = builder.logical_input(0);
    Dims padded(out.size(), 1);
    std::copy(in.begin(), in.end(), padded.end() - static_cast<std::ptrdiff_t>(in.size()));
    if (in.size() != out.size())
      x = builder.reshape("_Reshape", x, builder.stage("stage_reshape", padded, context.input_types[0]));
    for (std::size_t k = 0; k < out.size(); ++k) multiples.push_back(out[k] / padded[k]);
    builder.logical_output(0, [&](QnnTensorRef target) {
      builder.node("", "Tile", {x}, target, {u32_list("multiples", std::move(multiples))});
    });
    return builder.take();
  }
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Axis* main = model.wire_op(node.index).main_as_Axis();
  if (main != nullptr && main->axis() != 0)
    return fail("a broadcast that starts at axis {} is not implemented (MNN's QNN backend refuses it too)",
                main->axis());
  return std::make_unique<BroadcastTo>();
}

const RegisterOp kRegister{"BroadcastTo", make};

}  // namespace
}  // namespace qnndbg
