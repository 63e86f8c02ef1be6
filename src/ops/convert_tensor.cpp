// ConvertTensor: another layout, the same logical values.
#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/movement_mistakes.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNPermute.cpp";

class ConvertTensor final : public Op {
 public:
  ConvertTensor(wire::Layout source, wire::Layout dest) : source_(source), dest_(dest) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    return std::vector<TensorSpec>{std::move(*x)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    Stage stage = reshape_stage("Transpose", context.outputs[0].spec.dims);
    stage.hypotheses = layout_exchange_mistakes(place_of(context.inputs[0]), place_of(context.outputs[0]), kMnnFile);
    return std::vector<Stage>{std::move(stage)};
  }

  Layout output_layout(std::span<const Operand>) const override {
    return dest_ == wire::Layout_NC4HW4 ? Layout::channel_last : Layout::logical;
  }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const Operand& x = context.inputs[0];
    const int rank = static_cast<int>(x.spec.dims.size());
    const bool from = x.layout == Layout::channel_last;
    const bool to = context.outputs[0].layout == Layout::channel_last;
    if (!context.as_mnn()) {
      QnnBuilder builder(context);
      if (from == to || rank < 3) {
        builder.reshape("", QnnBuilder::input(), QnnBuilder::output());
      } else {
        builder.transpose("", QnnBuilder::input(), QnnBuilder::output(),
                          to ? to_channel_last_permutation(rank) : to_logical_permutation(rank));
      }
      return builder.take();
    }
    const bool to_packed = source_ == wire::Layout_NCHW && dest_ == wire::Layout_NC4HW4;
    const bool from_packed = source_ == wire::Layout_NC4HW4 && dest_ == wire::Layout_NCHW;
    if (!to_packed && !from_packed) return single_node(context, "Reshape");
    // The permutation is written to two places at least.
    if (rank < 2) return refuse(QnnRefusal::Kind::crash, "a tensor of rank {} changes its layout", rank);
    std::vector<std::int64_t> permutation;
    for (int axis : to_packed ? to_channel_last_permutation(rank) : to_logical_permutation(rank))
      permutation.push_back(axis);
    return single_node(context, "Transpose", {u32_list("perm", std::move(permutation))});
  }

 private:
  wire::Layout source_;
  wire::Layout dest_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::TensorConvertInfo* main = model.wire_op(node.index).main_as_TensorConvertInfo();
  if (main == nullptr) return fail("its source and destination layouts are missing");
  const auto relabels_axes = [](wire::Layout layout) {
    return layout == wire::Layout_NHWC || layout == wire::Layout_NHWC4;
  };
  if (relabels_axes(main->source()) != relabels_axes(main->dest())) {
    // NHWC tensors carry their dims in that order, so here the logical dims change too.
    return fail("a conversion between NHWC and NCHW axis orders is not implemented");
  }
  return std::make_unique<ConvertTensor>(main->source(), main->dest());
}

const RegisterOp kRegister{"ConvertTensor", make};

}  // namespace
}  // namespace qnndbg
