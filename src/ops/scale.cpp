// Scale: y[n, c, ...] = x * scale[c] + bias[c] (a folded batch normalisation).
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/host_values.h"

namespace qnndbg {
namespace {

class Scale final : public Op {
 public:
  Scale(std::vector<float> scale, std::vector<float> bias) : scale_(std::move(scale)), bias_(std::move(bias)) {}

  bool has_constants() const override { return true; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 2);
    if (!x) return fail(x.error());
    if (x->dims[1] != static_cast<std::int64_t>(scale_.size()))
      return fail("{} scales for an input of {}", scale_.size(), to_string(x->dims));
    return std::vector<TensorSpec>{std::move(*x)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    std::vector<Stage> stages;
    Stage product{.node_suffix = "_mul",
                  .qnn_type = "ElementWiseMultiply",
                  .inputs = {0},
                  .bound = "ElementWiseMultiply",
                  .layout = Layout::channel_last,
                  .compute = [this](const RunContext& run) { return apply(run, true, false); }};
    Stage sum{.node_suffix = "_add",
              .qnn_type = "ElementWiseAdd",
              .inputs = {-1},
              .bound = "ElementWiseAdd",
              .compute = [this](const RunContext& run) { return apply(run, false, true); }};
    if (context.dumped("Stage")) {
      product.name = "Stage";
      stages.push_back(std::move(product));
      stages.push_back(std::move(sum));
    } else {
      // The product between the two nodes was rounded to half, unseen.
      stages.push_back({.qnn_type = "ElementWiseMultiply",
                        .inputs = {0},
                        .bound = "unmeasured",
                        .compute = [this](const RunContext& run) { return apply(run, true, true); }});
    }
    return stages;
  }

  Layout output_layout(std::span<const Operand>) const override { return Layout::channel_last; }

 private:
  Result<StageResult> apply(const RunContext& run, bool multiply, bool add) const {
    std::vector<float> scale = scale_;
    std::vector<float> bias = bias_;
    if (run.constants) {
      round_to_half(scale, *run.constants, run.half);
      round_to_half(bias, *run.constants, run.half);
    }
    const Tensor& x = *run.inputs[0];
    if (x.type() != DType::f32) return fail("Scale of integers");
    StageResult result{.value = x.clone()};
    std::int64_t plane = 1;
    for (int axis = 2; axis < x.rank(); ++axis) plane *= x.dims()[static_cast<std::size_t>(axis)];
    const std::span<float> y = result.value.f32();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t c = i / static_cast<std::size_t>(plane) % scale.size();
      if (multiply) y[i] *= scale[c];
      if (add && !bias.empty()) y[i] += bias[c];
    }
    return result;
  }

  std::vector<float> scale_;
  std::vector<float> bias_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Scale* main = model.wire_op(node.index).main_as_Scale();
  if (main == nullptr) return fail("its Scale parameters are missing");
  auto scale = model.float_part(node.index, main->scaleData(), main->external(), 0);
  if (!scale) return fail(scale.error());
  auto bias = model.float_part(node.index, main->biasData(), main->external(), 1);
  if (!bias) return fail(bias.error());
  if (scale->empty()) return fail("its scales are missing");
  if (!bias->empty() && bias->size() != scale->size())
    return fail("{} biases for {} scales", bias->size(), scale->size());
  return std::make_unique<Scale>(std::vector<float>(scale->values().begin(), scale->values().end()),
                                 std::vector<float>(bias->values().begin(), bias->values().end()));
}

const RegisterOp kRegister{"Scale", make};

}  // namespace
}  // namespace qnndbg
