// UnaryOp: element-wise functions. Definitions follow MNN's CPU backend (docs/operators.md).
#include <cmath>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/activation.h"
#include "ops/support/elementwise.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"

namespace qnndbg {
namespace {

float softplus(float x) { return std::max(x, 0.0F) + std::log1p(std::exp(-std::fabs(x))); }

/// Inverse error function: Newton's method on erf from Winitzki's approximation (relative error 2e-3), in double.
float erf_inv(float y) {
  if (y <= -1 || y >= 1) return y == 1 ? INFINITY : y == -1 ? -INFINITY : NAN;
  const double l = std::log1p(-static_cast<double>(y) * y);
  const double t = 2 / (M_PI * 0.147) + l / 2;
  double x = std::copysign(std::sqrt(std::sqrt(t * t - l / 0.147) - t), y);
  for (int i = 0; i < 4; ++i) x -= (std::erf(x) - y) * std::sqrt(M_PI) / 2 * std::exp(x * x);
  return static_cast<float>(x);
}

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNUnary.cpp";

/// What the backend builds for one function. An empty qnn_type: MNN's QNN backend has no node for it.
struct Function {
  const char* qnn_type;
  const char* bound;
  float (*f)(float);
};

Result<Function> function_of(wire::Un type) {
  switch (type) {
    case wire::Un_ABS: return Function{"ElementWiseAbs", "exact", [](float x) { return std::fabs(x); }};
    case wire::Un_NEG: return Function{"ElementWiseNeg", "exact", [](float x) { return -x; }};
    case wire::Un_FLOOR: return Function{"ElementWiseFloor", "exact", [](float x) { return std::floor(x); }};
    case wire::Un_CEIL: return Function{"", "exact", [](float x) { return std::ceil(x); }};
    case wire::Un_SQUARE: return Function{"ElementWiseMultiply", "Square", [](float x) { return x * x; }};
    case wire::Un_SQRT: return Function{"ElementWiseSquareRoot", "unmeasured", [](float x) { return std::sqrt(x); }};
    case wire::Un_RSQRT: return Function{"ElementWiseRsqrt", "Rsqrt", [](float x) { return 1.0F / std::sqrt(x); }};
    case wire::Un_EXP: return Function{"ElementWiseExp", "Exp", [](float x) { return std::exp(x); }};
    case wire::Un_LOG: return Function{"ElementWiseLog", "Log", [](float x) { return std::log(x); }};
    case wire::Un_SIN: return Function{"ElementWiseSin", "Sin", [](float x) { return std::sin(x); }};
    case wire::Un_COS: return Function{"ElementWiseCos", "unmeasured", [](float x) { return std::cos(x); }};
    case wire::Un_TAN: return Function{"", "unmeasured", [](float x) { return std::tan(x); }};
    case wire::Un_ASIN: return Function{"ElementWiseAsin", "unmeasured", [](float x) { return std::asin(x); }};
    case wire::Un_ACOS: return Function{"", "unmeasured", [](float x) { return std::acos(x); }};
    case wire::Un_ATAN: return Function{"", "unmeasured", [](float x) { return std::atan(x); }};
    case wire::Un_RECIPROCAL: return Function{"", "unmeasured", [](float x) { return 1.0F / x; }};
    case wire::Un_LOG1P: return Function{"", "unmeasured", [](float x) { return std::log1p(x); }};
    case wire::Un_BNLL: return Function{"", "unmeasured", softplus};
    case wire::Un_ACOSH: return Function{"", "unmeasured", [](float x) { return std::acosh(x); }};
    case wire::Un_SINH: return Function{"", "unmeasured", [](float x) { return std::sinh(x); }};
    case wire::Un_ASINH: return Function{"", "unmeasured", [](float x) { return std::asinh(x); }};
    case wire::Un_ATANH: return Function{"", "unmeasured", [](float x) { return std::atanh(x); }};
    case wire::Un_SIGN:
      return Function{"ElementWiseSign", "exact", [](float x) { return static_cast<float>((x > 0) - (x < 0)); }};
    case wire::Un_ROUND: return Function{"", "exact", [](float x) { return std::round(x); }};
    case wire::Un_COSH: return Function{"", "unmeasured", [](float x) { return std::cosh(x); }};
    case wire::Un_ERF: return Function{"", "unmeasured", [](float x) { return std::erf(x); }};
    case wire::Un_ERFC: return Function{"", "unmeasured", [](float x) { return std::erfc(x); }};
    case wire::Un_ERFINV: return Function{"", "unmeasured", erf_inv};
    case wire::Un_EXPM1: return Function{"", "unmeasured", [](float x) { return std::expm1(x); }};
    case wire::Un_SIGMOID: return Function{"Sigmoid", "Sigmoid", sigmoid};
    case wire::Un_TANH: return Function{"Tanh", "Tanh", [](float x) { return std::tanh(x); }};
    case wire::Un_HARDSWISH: return Function{"HardSwish", "HardSwish", hard_swish};
    case wire::Un_GELU: return Function{"Gelu", "Gelu", gelu_tanh};
    case wire::Un_GELU_STANDARD: return Function{"Gelu", "Gelu", gelu_erf};
    case wire::Un_SILU: return Function{"Silu", "Silu", silu};
  }
  return fail("unary function {} is not known", static_cast<int>(type));
}

/// The name under which known_activations() lists the function; its enumerator's otherwise.
std::string_view name_of(wire::Un type) {
  switch (type) {
    case wire::Un_ABS: return "Abs";
    case wire::Un_NEG: return "Neg";
    case wire::Un_EXP: return "Exp";
    case wire::Un_SIGMOID: return "Sigmoid";
    case wire::Un_TANH: return "Tanh";
    case wire::Un_HARDSWISH: return "HardSwish";
    case wire::Un_GELU:
    case wire::Un_GELU_STANDARD: return "GELU";
    case wire::Un_SILU: return "SiLU";
    default: return wire::EnumNameUn(type);
  }
}

class UnaryOp final : public Op {
 public:
  UnaryOp(wire::Un type, Function function) : type_(type), function_(function) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    return std::vector<TensorSpec>{std::move(*x)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    std::vector<Stage> stages;
    if (type_ == wire::Un_SILU && context.dumped("Stage")) {
      Stage gate = unary_stage("Sigmoid", "Sigmoid", sigmoid);
      gate.name = "Stage";
      gate.node_suffix = "Sigmoid__";
      gate.layout = context.inputs[0].layout;
      stages.push_back(std::move(gate));
      stages.push_back({.node_suffix = "ElementWiseMultiply__",
                        .qnn_type = "ElementWiseMultiply",
                        .inputs = {0, -1},
                        .bound = "ElementWiseMultiply",
                        .compute = [](const RunContext& run) -> Result<StageResult> {
                          const Tensor& gate_value = *run.inputs[1];
                          StageResult result{.value = run.inputs[0]->clone()};
                          for (std::size_t i = 0; i < result.value.f32().size(); ++i)
                            result.value.f32()[i] *= gate_value.f32()[i];
                          return result;
                        }});
      return stages;
    }
    Stage stage = unary_stage(
        function_.qnn_type, function_.bound, function_.f,
        type_ == wire::Un_SILU ? [](float x) { return std::fabs(x); } : static_cast<float (*)(float)>(nullptr));
    stage.hypotheses = [this](const Evidence& evidence) {
      if (evidence.context.inputs[0]->type() != DType::f32) return std::vector<Hypothesis>{};
      return activation_mistakes(name_of(type_), "node type", kMnnFile);
    };
    // Shape arithmetic on the host is integer.
    stage.compute = [general = stage.compute, type = type_](const RunContext& run) -> Result<StageResult> {
      if (run.inputs[0]->type() == DType::f32) return general(run);
      StageResult result{.value = run.inputs[0]->clone()};
      for (std::int32_t& v : result.value.i32()) {
        switch (type) {
          case wire::Un_ABS: v = v < 0 ? static_cast<std::int32_t>(0U - static_cast<std::uint32_t>(v)) : v; break;
          case wire::Un_NEG: v = static_cast<std::int32_t>(0U - static_cast<std::uint32_t>(v)); break;
          case wire::Un_SQUARE:
            v = static_cast<std::int32_t>(static_cast<std::uint32_t>(v) * static_cast<std::uint32_t>(v));
            break;
          case wire::Un_SIGN: v = (v > 0) - (v < 0); break;
          default: return fail("integer data is not implemented for this function");
        }
      }
      return result;
    };
    stages.push_back(std::move(stage));
    return stages;
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    QnnBuilder builder(context);
    const QnnTensorRef x = QnnBuilder::input();
    if (type_ == wire::Un_SQUARE) {
      builder.node("", "ElementWiseMultiply", {x, x}, QnnBuilder::output());
      return builder.take();
    }
    if (type_ == wire::Un_SILU) {
      const QnnTensorRef gate =
          builder.stage("Stage", context.out_dims(0), context.output_types[0], context.outputs[0].layout);
      builder.node("Sigmoid__", "Sigmoid", {x}, gate);
      builder.node("ElementWiseMultiply__", "ElementWiseMultiply", {x, gate}, QnnBuilder::output());
      return builder.take();
    }
    if (type_ == wire::Un_RECIPROCAL && !context.as_mnn() && !context.quantized()) {
      builder.node("", "ElementWiseDivide", {builder.floats("one", {1}, {1.0F}), x}, QnnBuilder::output());
      return builder.take();
    }
    const std::string type = context.as_mnn() ? function_.qnn_type : meant_node_type();
    if (type.empty()) return refuse(QnnRefusal::Kind::refused, "the function {} has no node", wire::EnumNameUn(type_));
    return single_node(context, type);
  }

 private:
  /// QNN's node, also where MNN's backend does not use it.
  std::string meant_node_type() const {
    switch (type_) {
      case wire::Un_CEIL: return "ElementWiseCeil";
      case wire::Un_ROUND: return "ElementWiseRound";
      case wire::Un_ATAN: return "ElementWiseAtan";
      case wire::Un_BNLL: return "ElementWiseSoftplus";
      default: return function_.qnn_type;
    }
  }

  wire::Un type_;
  Function function_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::UnaryOp* main = model.wire_op(node.index).main_as_UnaryOp();
  if (main == nullptr) return fail("its UnaryOp parameters are missing");
  auto function = function_of(main->opType());
  if (!function) return fail(function.error());
  return std::make_unique<UnaryOp>(main->opType(), *function);
}

const RegisterOp kRegister{"UnaryOp", make};

}  // namespace
}  // namespace qnndbg
