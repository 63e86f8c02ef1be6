// MatMul and BatchMatMul: batched matrix product with NumPy broadcasting of the batch axes, optional transposes and
// bias.
#include <algorithm>
#include <cmath>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/altered_constants.h"
#include "ops/support/elementwise.h"
#include "ops/support/host_values.h"
#include "ops/support/mat_mul_kernel.h"
#include "ops/support/operand_source.h"
#include "ops/support/snap.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNMatmul.cpp";

/// The product with its transposes: y = op(a) op(b) + bias. Inputs: a, b, and the bias if there is one.
class Product {
 public:
  Product(bool transpose_a, bool transpose_b) : transpose_a_(transpose_a), transpose_b_(transpose_b) {}

  Result<MatMulShapes> shapes(const Dims& a, const Dims& b) const {
    return mat_mul_shapes(a, b, transpose_a_, transpose_b_);
  }

  Result<StageResult> compute(const RunContext& run) const {
    const Tensor& a = *run.inputs[0];
    const Tensor& b = *run.inputs[1];
    if (a.type() != DType::f32 || b.type() != DType::f32) return fail("integer matrix products are not implemented");
    auto s = shapes(a.dims(), b.dims());
    if (!s) return fail(s.error());
    return mat_mul(*s, a, b, bias_of(run.inputs), run.want_magnitude);
  }

  /// One element in double; the tensors must outlive the evaluator.
  Result<ElementValue> exact(const std::vector<const Tensor*>& inputs) const {
    auto s = shapes(inputs[0]->dims(), inputs[1]->dims());
    if (!s) return fail(s.error());
    return [held = std::move(*s), a = inputs[0], b = inputs[1], bias = bias_of(inputs)](std::int64_t index) {
      return mat_mul_element(held, *a, *b, bias, index);
    };
  }

  bool transpose_a() const { return transpose_a_; }
  bool transpose_b() const { return transpose_b_; }

 private:
  static std::span<const float> bias_of(std::span<const Tensor* const> inputs) {
    return inputs.size() > 2 ? inputs[2]->f32() : std::span<const float>();
  }

  bool transpose_a_;
  bool transpose_b_;
};

/// The mistakes of one broken product.
class Mistakes {
 public:
  /// `constant_b`: the second operand is a constant of the model. `bias`: the third as the model gives it; may be
  /// empty.
  Mistakes(const Evidence& evidence, Product meant, Dims out, bool constant_b, std::span<const float> bias)
      : evidence_(evidence), meant_(meant), out_(std::move(out)), constant_b_(constant_b), unrounded_bias_(bias) {}

  std::vector<Hypothesis> all() {
    for (const Tensor* x : evidence_.context.inputs) {
      if (x == nullptr || x->type() != DType::f32) return {};
      own_.push_back(stage_input(own_.size()));
    }
    if (own_.size() < 2 || evidence_.device.size() != element_count(out_)) return {};
    transposed();
    exchanged();
    altered_bias();
    if (constant_b_) altered_weight();
    if (!any_fits_sample(list_, evidence_)) other_tensors();
    return std::move(list_);
  }

 private:
  const Dims& dims(std::size_t k) const { return evidence_.context.inputs[k]->dims(); }

  /// Adds the product of these operands if their shapes make the output's.
  Hypothesis* add(std::string_view cause, std::string parameter, std::string used, std::string meant, Product node,
                  std::vector<LoadOperand> operands, const Dims& a, const Dims& b) {
    auto shapes = node.shapes(a, b);
    if (!shapes || shapes->result != out_) return nullptr;
    const auto load = [operands = std::move(operands)](const RunContext& run) -> Result<std::vector<OperandValue>> {
      std::vector<OperandValue> values;
      for (const LoadOperand& operand : operands) {
        auto value = operand(run);
        if (!value) return fail(value.error());
        values.push_back(std::move(*value));
      }
      return values;
    };
    const auto pointers = [](const std::vector<OperandValue>& values) {
      std::vector<const Tensor*> tensors;
      for (const OperandValue& value : values) tensors.push_back(value.get());
      return tensors;
    };
    list_.push_back({.cause = std::string(cause),
                     .parameter = std::move(parameter),
                     .used = std::move(used),
                     .meant = std::move(meant),
                     .file = kMnnFile,
                     .compute = [node, load, pointers](const RunContext& run) -> Result<StageResult> {
                       auto values = load(run);
                       if (!values) return fail(values.error());
                       const std::vector<const Tensor*> inputs = pointers(*values);
                       RunContext other = run;
                       other.inputs = inputs;
                       return node.compute(other);
                     },
                     .exact = [node, load, pointers](const RunContext& run) -> Result<ElementValue> {
                       auto values = load(run);
                       if (!values) return fail(values.error());
                       auto element = node.exact(pointers(*values));
                       if (!element) return fail(element.error());
                       return [element = std::move(*element), values = std::move(*values)](std::int64_t index) {
                         return element(index);
                       };
                     }});
    return &list_.back();
  }

  static std::string flags(const Product& node) {
    return fmt::format("{}, {}", node.transpose_a(), node.transpose_b());
  }

  void transposed() {
    for (const auto& [flip_a, flip_b] : {std::pair{false, true}, {true, false}, {true, true}}) {
      const Product other(meant_.transpose_a() != flip_a, meant_.transpose_b() != flip_b);
      add("matmul_transpose_wrong", "transpose_in0, transpose_in1", flags(other), flags(meant_), other, own_, dims(0),
          dims(1));
    }
    // A flag that does not fit the shape, with the dims set right and the data left as it lies.
    for (std::size_t k = 2; k-- > 0;) {
      const Dims& own = dims(k);
      if (own.size() < 2) continue;
      Dims turned = own;
      std::swap(turned[own.size() - 1], turned[own.size() - 2]);
      if (turned == own || std::min(turned[own.size() - 1], turned[own.size() - 2]) == 1) continue;
      std::vector<LoadOperand> operands = own_;
      operands[k] = changed(own_[k], [turned](const Tensor& x) {
        Tensor same = x.clone();
        same.reshape(turned);
        return same;
      });
      const Product other(meant_.transpose_a() != (k == 0), meant_.transpose_b() != (k == 1));
      add("matmul_transpose_wrong", k == 0 ? "transpose_in0" : "transpose_in1",
          fmt::format("data of {} taken as {}", to_string(own), to_string(turned)), to_string(own), other,
          std::move(operands), k == 0 ? turned : dims(0), k == 1 ? turned : dims(1));
    }
  }

  void exchanged() {
    std::vector<LoadOperand> operands = own_;
    std::swap(operands[0], operands[1]);
    add("operand_order_swapped", "order of the operands", "second, first", "first, second", meant_, operands, dims(1),
        dims(0));
    const Product with_flags(meant_.transpose_b(), meant_.transpose_a());
    if (meant_.transpose_a() != meant_.transpose_b()) {
      add("operand_order_swapped", "order of the operands and their flags", "second, first", "first, second",
          with_flags, operands, dims(1), dims(0));
    }
    operands = own_;
    operands[1] = own_[0];
    add("second_input_wrong", "second operand", "the first operand once more", "the second operand", meant_, operands,
        dims(0), dims(0));
    operands = own_;
    operands[0] = own_[1];
    add("second_input_wrong", "first operand", "the second operand once more", "the first operand", meant_, operands,
        dims(1), dims(1));
  }

  /// The mean error of a column is what its bias is off by.
  void altered_bias() {
    if (own_.size() < 3) return;
    const std::span<const float> bias = evidence_.context.inputs[2]->f32();
    const std::span<const float> device = evidence_.device.f32();
    const std::span<const float> reference = evidence_.reference.f32();
    if (bias.empty() || device.size() % bias.size() != 0) return;
    std::vector<SlopeFit> columns(bias.size());
    for (std::size_t i = 0; i < device.size(); ++i) {
      const double error = 3 * kHalfUnitRoundoff * std::fabs(device[i]) + kHalfMinNormal;
      columns[i % bias.size()].add(1, static_cast<double>(device[i]) - reference[i] + bias[i % bias.size()], error);
    }
    std::vector<ConstantEstimate> estimates;
    for (const SlopeFit& column : columns) estimates.push_back(column.estimate());
    for (AlteredConstant& mistake :
         altered_constants(bias, unrounded_bias_, estimates, kAddedConstant, evidence_.context)) {
      Tensor other = Tensor::f32(dims(2));
      std::copy(mistake.values.begin(), mistake.values.end(), other.f32().begin());
      std::vector<LoadOperand> operands = own_;
      operands[2] = given_operand(std::move(other)).load;
      Hypothesis* h =
          add(mistake.cause, "bias", mistake.used, "the model's bias", meant_, std::move(operands), dims(0), dims(1));
      if (h != nullptr) h->free_parameters = mistake.free_parameters;
    }
  }

  void altered_weight() {
    const auto with = [&](std::string_view cause, std::string used, std::function<Tensor(const Tensor&)> change) {
      std::vector<LoadOperand> operands = own_;
      operands[1] = changed(own_[1], std::move(change));
      return add(cause, "weights (the constant operand)", std::move(used), "the model's weights", meant_,
                 std::move(operands), dims(0), dims(1));
    };
    with("weight_layout_wrong", "in reverse order", [](const Tensor& w) {
      Tensor other = w.clone();
      std::reverse(other.f32().begin(), other.f32().end());
      return other;
    });
    for (std::ptrdiff_t step : {1, -1}) {
      with("weight_layout_wrong", step == 1 ? "rolled forward by 1" : "rolled back by 1", [step](const Tensor& w) {
        Tensor other = w.clone();
        const std::span<float> values = other.f32();
        if (!values.empty())
          std::rotate(values.begin(), step == 1 ? values.end() - 1 : values.begin() + 1, values.end());
        return other;
      });
    }
    const std::optional<double> fitted = factor();
    if (!fitted) return;
    for (double f : snap_candidates(*fitted)) {
      for (HalfRounding rounding : {HalfRounding::nearest, HalfRounding::toward_zero}) {
        Hypothesis* h = with("weight_scale_wrong", fmt::format("weights times {:.6g}", f),
                             [f, rounding, half = evidence_.context.half](const Tensor& w) {
                               Tensor other = map_elements(w, [f](float v) { return static_cast<float>(f * v); });
                               round_to_half(other.f32(), rounding, half);
                               return other;
                             });
        if (h != nullptr) h->free_parameters = 1;
      }
    }
  }

  /// Least squares of device - bias = f (reference - bias).
  std::optional<double> factor() const {
    const std::span<const float> device = evidence_.device.f32();
    const std::span<const float> reference = evidence_.reference.f32();
    const std::span<const float> bias = own_.size() < 3 ? std::span<const float>() : evidence_.context.inputs[2]->f32();
    SlopeFit sum;
    for (std::size_t i = 0; i < device.size(); ++i) {
      const double b = bias.empty() ? 0.0 : bias[i % bias.size()];
      sum.add(reference[i] - b, device[i] - b, 0);
    }
    const ConstantEstimate f = sum.estimate();
    if (!std::isfinite(f.tolerance) || f.value == 0) return std::nullopt;
    return f.value;
  }

  void other_tensors() {
    for (std::size_t k = 2; k-- > 0;) {
      for (Peer& peer : nearest_peers(evidence_, dims(k))) {
        const std::string tensor = peer.name;
        std::vector<LoadOperand> operands = own_;
        operands[k] = peer_operand(std::move(peer));
        add("second_input_wrong", k == 0 ? "first operand" : "second operand", tensor,
            k == 0 ? "the first operand" : "the second operand", meant_, std::move(operands), dims(0), dims(1));
      }
    }
  }

  const Evidence& evidence_;
  Product meant_;
  Dims out_;
  bool constant_b_;
  std::span<const float> unrounded_bias_;
  std::vector<LoadOperand> own_;
  std::vector<Hypothesis> list_;
};

class MatMul final : public Op {
 public:
  /// `registered`: MNN's QNN backend knows the operator's type.
  MatMul(bool transpose_a, bool transpose_b, bool registered)
      : product_(transpose_a, transpose_b), registered_(registered) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto a = require_operand(inputs, 0);
    if (!a) return fail(a.error());
    auto b = require_operand(inputs, 1);
    if (!b) return fail(b.error());
    auto shapes = product_.shapes(a->dims, b->dims);
    if (!shapes) return fail(shapes.error());
    if (has_operand(inputs, 2) &&
        (element_count(inputs[2].spec.dims) != shapes->n || inputs[2].spec.type != DType::f32)) {
      return fail("a bias of {} for {} columns", to_string(inputs[2].spec.dims), shapes->n);
    }
    auto count = check_dims(shapes->result);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{{DType::f32, shapes->result}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    std::vector<int> from{0, 1};
    if (has_operand(context.inputs, 2)) from.push_back(2);
    Stage stage{.qnn_type = "MatMul", .inputs = std::move(from), .bound = "MatMul"};
    stage.compute = [product = product_](const RunContext& run) { return product.compute(run); };
    stage.exact = [product = product_](const RunContext& run) {
      return product.exact({run.inputs.begin(), run.inputs.end()});
    };
    const Tensor* bias = has_operand(context.inputs, 2) ? context.inputs[2].host : nullptr;
    stage.hypotheses =
        [product = product_, out = context.outputs[0].spec.dims, constant_b = context.inputs[1].host != nullptr,
         bias = bias != nullptr && bias->type() == DType::f32 ? bias->f32() : std::span<const float>()](
            const Evidence& evidence) { return Mistakes(evidence, product, out, constant_b, bias).all(); };
    return std::vector<Stage>{std::move(stage)};
  }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const std::size_t rank_a = context.inputs[0].spec.dims.size();
    const std::size_t rank_b = context.inputs[1].spec.dims.size();
    const std::vector<QnnParam> flags{flag("transpose_in0", product_.transpose_a()),
                                      flag("transpose_in1", product_.transpose_b())};
    const int count = has_operand(context.inputs, 2) ? 3 : 2;
    if (context.as_mnn()) {
      if (!registered_) return Op::qnn_mapping(context);
      if (rank_a == 1 || rank_b == 1 || rank_a != rank_b)
        return refuse(QnnRefusal::Kind::refused, "operands of ranks {} and {}", rank_a, rank_b);
      return single_node(context, "MatMul", flags, count);
    }
    if (rank_a < 2 || rank_b < 2) return refuse(QnnRefusal::Kind::not_mapped, "a product with a vector");
    QnnBuilder builder(context);
    std::vector<QnnTensorRef> operands;
    for (int k = 0; k < 2; ++k) operands.push_back(of_rank(builder, context, k, std::max(rank_a, rank_b)));
    if (count == 3) operands.push_back(QnnBuilder::input(2));
    builder.logical_output(
        0, [&](QnnTensorRef target) { builder.node("", "MatMul", std::move(operands), target, flags); });
    return builder.take();
  }

 private:
  /// Operand k with leading axes of extent 1: QNN's product takes operands of one rank.
  static QnnTensorRef of_rank(QnnBuilder& builder, const QnnContext& context, int k, std::size_t rank) {
    const auto at = static_cast<std::size_t>(k);
    const Dims& dims = context.inputs[at].spec.dims;
    const QnnTensorRef logical = builder.logical_input(k);
    if (dims.size() == rank) return logical;
    Dims padded(rank, 1);
    std::copy(dims.begin(), dims.end(), padded.end() - static_cast<std::ptrdiff_t>(dims.size()));
    return builder.reshape(fmt::format("_reshape_{}", k), logical,
                           builder.stage(fmt::format("reshape_{}", k), std::move(padded), context.input_types[at]));
  }

  Product product_;
  bool registered_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::MatMul* main = model.wire_op(node.index).main_as_MatMul();
  if (main == nullptr) return fail("its MatMul parameters are missing");
  return std::make_unique<MatMul>(main->transposeA(), main->transposeB(), true);
}

Result<std::unique_ptr<Op>> make_batched(const Model& model, const OpNode& node) {
  const wire::BatchMatMulParam* main = model.wire_op(node.index).main_as_BatchMatMulParam();
  if (main == nullptr) return std::make_unique<MatMul>(false, false, false);
  return std::make_unique<MatMul>(main->adjX(), main->adjY(), false);
}

const RegisterOp kMatMul{"MatMul", make};
const RegisterOp kBatchMatMul{"BatchMatMul", make_batched};

}  // namespace
}  // namespace qnndbg
