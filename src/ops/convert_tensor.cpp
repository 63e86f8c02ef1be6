// ConvertTensor: another layout, the same logical values.
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/movement_mistakes.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNPermute.cpp";

class ConvertTensor final : public Op {
 public:
  explicit ConvertTensor(bool to_channel_last) : to_channel_last_(to_channel_last) {}

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
    return to_channel_last_ ? Layout::channel_last : Layout::logical;
  }

 private:
  bool to_channel_last_;
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
  return std::make_unique<ConvertTensor>(main->dest() == wire::Layout_NC4HW4);
}

const RegisterOp kRegister{"ConvertTensor", make};

}  // namespace
}  // namespace qnndbg
