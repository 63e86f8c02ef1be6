// PReLU: x >= 0 ? x : slope[c] * x, one slope per channel or one for all.
#include <algorithm>
#include <vector>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/activation.h"
#include "ops/support/channel_constants.h"
#include "ops/support/host_values.h"
#include "ops/support/qnn_movement.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNActivation.cpp";

class Prelu final : public Op {
 public:
  explicit Prelu(std::vector<float> slope) : slope_(std::move(slope)) {}

  bool has_constants() const override { return true; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    if (slope_.size() != 1 && (x->dims.size() < 2 || x->dims[1] != static_cast<std::int64_t>(slope_.size()))) {
      return fail("{} slopes for an input of {}", slope_.size(), to_string(x->dims));
    }
    return std::vector<TensorSpec>{std::move(*x)};
  }

  Result<std::vector<Stage>> lower(const LowerContext&) const override {
    return std::vector<Stage>{{.qnn_type = "Prelu",
                               .inputs = {0},
                               .bound = "Prelu",
                               .compute = [this](const RunContext& run) { return compute(run, on_device(run)); },
                               .hypotheses = [this](const Evidence& evidence) { return mistakes(evidence); }}};
  }

  Layout output_layout(std::span<const Operand>) const override { return Layout::channel_last; }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (context.as_mnn()) return Op::qnn_mapping(context);
    QnnBuilder builder(context);
    const QnnTensorRef slope = builder.floats("coeff", {static_cast<std::int64_t>(slope_.size())}, slope_);
    builder.node("", "Prelu", {aligned_input(builder, context, 0), slope}, QnnBuilder::output());
    return builder.take();
  }
  bool runs_quantized(DType /*type*/) const override { return false; }

 private:
  std::vector<float> on_device(const RunContext& run) const {
    std::vector<float> slope = slope_;
    if (run.constants) round_to_half(slope, *run.constants, run.half);
    return slope;
  }

  static std::size_t plane_of(const Dims& dims) {
    std::int64_t plane = 1;
    for (std::size_t axis = 2; axis < dims.size(); ++axis) plane *= dims[axis];
    return static_cast<std::size_t>(std::max<std::int64_t>(1, plane));
  }

  static Result<StageResult> compute(const RunContext& run, const std::vector<float>& slope) {
    const Tensor& x = *run.inputs[0];
    if (x.type() != DType::f32) return fail("PReLU of integers");
    StageResult result{.value = x.clone()};
    const std::span<float> y = result.value.f32();
    const std::size_t plane = plane_of(x.dims());
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (y[i] < 0) y[i] *= slope[i / plane % slope.size()];
    }
    return result;
  }

  std::vector<Hypothesis> mistakes(const Evidence& evidence) const {
    const Tensor& x = *evidence.context.inputs[0];
    if (x.type() != DType::f32) return {};
    std::vector<Hypothesis> list = activation_mistakes("PReLU", "node type", kMnnFile);
    const std::vector<float> right = on_device(evidence.context);
    std::vector<Interval> observed(right.size());
    const std::size_t plane = plane_of(x.dims());
    for (std::size_t i = 0; i < x.f32().size(); ++i) {
      const double v = x.f32()[i];
      if (!(v < 0)) continue;
      const double d = evidence.device.f32()[i];
      const double tolerance = evidence.line.at(d);
      observed[i / plane % right.size()].meet((d + tolerance) / v, (d - tolerance) / v);
    }
    const HalfRounding rounding = evidence.context.constants.value_or(HalfRounding::nearest);
    const auto propose = [&](std::string used, std::vector<float> slope, int free_parameters) {
      list.push_back({.cause = "activation_slope_wrong",
                      .parameter = "slopes",
                      .used = std::move(used),
                      .meant = "the model's slopes",
                      .file = kMnnFile,
                      .free_parameters = free_parameters,
                      .compute = [slope = std::move(slope)](const RunContext& run) { return compute(run, slope); }});
    };
    // One coefficient for all channels, the first that the file holds.
    if (right.size() > 1) propose("the first slope everywhere", std::vector<float>(right.size(), right[0]), 0);
    for (ConstantMistake& mistake : explain_constants({slope_, right, rounding}, observed)) {
      // Zeros and ones are ReLU and no activation, which stand in the list already.
      if (mistake.kind == ConstantMistakeKind::dropped || mistake.kind == ConstantMistakeKind::ignored) continue;
      propose(mistake.used, std::move(mistake.values), mistake.free_parameters);
    }
    return list;
  }

  std::vector<float> slope_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::PRelu* main = model.wire_op(node.index).main_as_PRelu();
  if (main == nullptr || main->slope() == nullptr || main->slope()->size() == 0) return fail("its slopes are missing");
  return std::make_unique<Prelu>(std::vector<float>(main->slope()->begin(), main->slope()->end()));
}

const RegisterOp kRegister{"PReLU", make};

}  // namespace
}  // namespace qnndbg
