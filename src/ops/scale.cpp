// Scale: y[n, c, ...] = x * scale[c] + bias[c] (a folded batch normalisation).
#include <algorithm>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/binary_mistakes.h"
#include "ops/support/host_values.h"
#include "ops/support/qnn_movement.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNScale.cpp";

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
    const Dims& out = context.outputs[0].spec.dims;
    std::vector<Stage> stages;
    Stage product{.node_suffix = "_mul",
                  .qnn_type = "ElementWiseMultiply",
                  .inputs = {0},
                  .bound = "ElementWiseMultiply",
                  .layout = Layout::channel_last,
                  .compute = [this](const RunContext& run) { return apply(run, true, false); },
                  .hypotheses = [this, out](const Evidence& e) { return binary_mistakes(e, product_stage(out)); }};
    Stage sum{.node_suffix = "_add",
              .qnn_type = "ElementWiseAdd",
              .inputs = {-1},
              .bound = "ElementWiseAdd",
              .compute = [this](const RunContext& run) { return apply(run, false, true); }};
    if (!bias_.empty()) {
      sum.hypotheses = [this, out](const Evidence& e) {
        return named(binary_mistakes(e, sum_stage(out, stage_input(0))));
      };
    }
    if (context.dumped("Stage")) {
      product.name = "Stage";
      stages.push_back(std::move(product));
      stages.push_back(std::move(sum));
    } else {
      // The product between the two nodes was rounded to half, unseen.
      stages.push_back({.qnn_type = "ElementWiseMultiply",
                        .inputs = {0},
                        .bound = "unmeasured",
                        .compute = [this](const RunContext& run) { return apply(run, true, true); },
                        .hypotheses = [this, out](const Evidence& e) { return mistakes_of_both(e, out); }});
    }
    return stages;
  }

  Layout output_layout(std::span<const Operand>) const override { return Layout::channel_last; }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (context.as_mnn() && bias_.empty())
      return refuse(QnnRefusal::Kind::crash, "it has no bias, which the backend reads all the same");
    QnnBuilder builder(context);
    const auto channels = static_cast<std::int64_t>(scale_.size());
    const QnnTensorRef x = context.as_mnn() ? QnnBuilder::input() : aligned_input(builder, context, 0);
    const QnnTensorRef weight = builder.floats("weight", {channels}, scale_);
    if (bias_.empty()) {
      builder.node("_mul", "ElementWiseMultiply", {x, weight}, QnnBuilder::output());
    } else {
      const QnnTensorRef bias = builder.floats("bias", {channels}, bias_);
      const QnnTensorRef product =
          builder.stage("Stage", context.out_dims(0), builder.float_type(), Layout::channel_last);
      builder.node("_mul", "ElementWiseMultiply", {x, weight}, product);
      builder.node("_add", "ElementWiseAdd", {product, bias}, QnnBuilder::output());
    }
    QnnMapping mapping = builder.take();
    mapping.named_by_counters = true;
    return mapping;
  }
  bool runs_quantized(DType /*type*/) const override { return false; }

 private:
  /// A constant along the channel axis of `out`, as the device holds it.
  static OperandView per_channel(const std::vector<float>& values, const Dims& out) {
    Dims dims(out.size(), 1);
    dims[1] = static_cast<std::int64_t>(values.size());
    LoadOperand load = [&values, dims](const RunContext& run) -> Result<OperandValue> {
      Tensor constant = Tensor::f32(dims);
      std::copy(values.begin(), values.end(), constant.f32().begin());
      if (run.constants) round_to_half(constant.f32(), *run.constants, run.half);
      return std::make_shared<const Tensor>(std::move(constant));
    };
    return {.load = std::move(load), .dims = std::move(dims)};
  }

  BinaryStage product_stage(const Dims& out) const {
    return {.meant = find_binary_function("ElementWiseMultiply"),
            .operands = {BinaryOperand{.name = "input", .view = {.load = stage_input(0), .dims = out}},
                         BinaryOperand{
                             .name = "scale", .constant = true, .unrounded = scale_, .view = per_channel(scale_, out)}},
            .out = out,
            .finish = {},
            .file = kMnnFile};
  }

  /// `product`: x * scale, dumped or not.
  BinaryStage sum_stage(const Dims& out, LoadOperand product) const {
    return {.meant = find_binary_function("ElementWiseAdd"),
            .operands = {BinaryOperand{.name = "product", .view = {.load = std::move(product), .dims = out}},
                         BinaryOperand{
                             .name = "bias", .constant = true, .unrounded = bias_, .view = per_channel(bias_, out)}},
            .out = out,
            .finish = {},
            .file = kMnnFile};
  }

  /// The two nodes seen as one: a wrong sum of the right product, or the right sum of a wrong product.
  std::vector<Hypothesis> mistakes_of_both(const Evidence& evidence, const Dims& out) const {
    BinaryStage product = product_stage(out);
    if (bias_.empty()) return binary_mistakes(evidence, product);
    LoadOperand right_product = [this](const RunContext& run) -> Result<OperandValue> {
      auto value = apply(run, true, false);
      if (!value) return fail(value.error());
      return std::make_shared<const Tensor>(std::move(value->value));
    };
    std::vector<Hypothesis> list = binary_mistakes(evidence, sum_stage(out, std::move(right_product)));
    auto bias = per_channel(bias_, out).load(evidence.context);
    if (!bias) return list;
    product.finish = bias_finish(std::move(*bias), out);
    for (Hypothesis& h : binary_mistakes(evidence, product)) list.push_back(std::move(h));
    // Without the sum's node in sight the line is the one of both.
    for (Hypothesis& h : list) h.bound.clear();
    return named(std::move(list));
  }

  /// A product of zeros is a scale of zeros, and no scale is a scale of ones; both have names of their own.
  static std::vector<Hypothesis> named(std::vector<Hypothesis> list) {
    for (Hypothesis& h : list) {
      if (h.cause != "second_input_wrong" || (h.used != "zeros" && h.used != "ones")) continue;
      if (h.parameter != "product" && h.parameter != "scale") continue;
      h.cause = h.used == "zeros" ? "gamma_dropped" : "gamma_ignored";
      h.parameter = "scale";
      h.meant = "the model's scales";
    }
    return list;
  }

  static Finish bias_finish(OperandValue bias, const Dims& out) {
    std::int64_t plane = 1;
    for (std::size_t axis = 2; axis < out.size(); ++axis) plane *= out[axis];
    const auto at = [bias = std::move(bias), plane](std::int64_t element) {
      return bias->f32()[static_cast<std::size_t>(element / plane % bias->size())];
    };
    return {.apply = [at](float v, std::int64_t element) { return v + at(element); },
            .invert = [at](double v, std::int64_t element) { return std::optional<double>(v - at(element)); }};
  }

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
