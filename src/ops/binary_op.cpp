// BinaryOp: arithmetic and comparisons with NumPy broadcasting, and an optional fused ReLU.
#include <array>
#include <cmath>
#include <limits>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/altered_constants.h"
#include "ops/support/binary_mistakes.h"
#include "ops/support/broadcast.h"
#include "ops/support/data_movement.h"
#include "ops/support/elementwise.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"
#include "ops/support/qnn_movement.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNBinary.cpp";

/// What the backend builds for one operation; qnn_type is empty where it refuses the operation.
struct Kind {
  const char* qnn_type = "";
  const char* bound = "unmeasured";
  bool comparison = false;
  bool integers_only = false;
};

Result<Kind> kind_of(wire::Bin op) {
  switch (op) {
    case wire::Bin_ADD: return Kind{"ElementWiseAdd", "ElementWiseAdd"};
    case wire::Bin_SUB: return Kind{"ElementWiseSubtract", "ElementWiseSubtract"};
    case wire::Bin_MUL: return Kind{"ElementWiseMultiply", "ElementWiseMultiply"};
    case wire::Bin_DIV:
    case wire::Bin_REALDIV: return Kind{"ElementWiseDivide", "ElementWiseDivide"};
    case wire::Bin_POW: return Kind{"ElementWisePower"};
    case wire::Bin_MIN_TEMP:
    case wire::Bin_MINIMUM: return Kind{"ElementWiseMinimum", "exact"};
    case wire::Bin_MAX_TEMP:
    case wire::Bin_MAXIMUM: return Kind{"ElementWiseMaximum", "exact"};
    case wire::Bin_GREATER: return Kind{"ElementWiseGreater", "exact", true};
    case wire::Bin_GREATER_EQUAL: return Kind{"ElementWiseGreaterEqual", "exact", true};
    case wire::Bin_LESS: return Kind{"ElementWiseLess", "exact", true};
    case wire::Bin_LESS_EQUAL: return Kind{"ElementWiseLessEqual", "exact", true};
    case wire::Bin_EQUAL: return Kind{"ElementWiseEqual", "exact", true};
    case wire::Bin_NOTEQUAL: return Kind{"ElementWiseNotEqual", "exact", true};
    case wire::Bin_FLOORDIV: return Kind{"ElementWiseFloorDiv"};
    case wire::Bin_FLOORMOD: return Kind{"ElementWiseFmod"};
    case wire::Bin_MOD: return Kind{"ElementWiseMod"};
    case wire::Bin_LOGICALOR: return Kind{"ElementWiseOr", "exact", true};
    case wire::Bin_SquaredDifference:
    case wire::Bin_ATAN2:
    case wire::Bin_MUL_SILU: return Kind{};
    case wire::Bin_LOGICALXOR: return Kind{"", "exact", true};
    case wire::Bin_BITWISE_AND:
    case wire::Bin_BITWISE_OR:
    case wire::Bin_BITWISE_XOR: return Kind{"", "exact", false, true};
    default: return fail("binary operation {} is not implemented", static_cast<int>(op));
  }
}

float apply_float(wire::Bin op, float x, float y) {
  switch (op) {
    case wire::Bin_ADD: return x + y;
    case wire::Bin_SUB: return x - y;
    case wire::Bin_MUL: return x * y;
    case wire::Bin_DIV:
    case wire::Bin_REALDIV: return x / y;
    case wire::Bin_POW: return std::pow(x, y);
    case wire::Bin_MIN_TEMP:
    case wire::Bin_MINIMUM: return std::min(x, y);
    case wire::Bin_MAX_TEMP:
    case wire::Bin_MAXIMUM: return std::max(x, y);
    case wire::Bin_FLOORDIV: return static_cast<float>(std::floor(static_cast<double>(x) / y));
    case wire::Bin_FLOORMOD: return x - std::floor(x / y) * y;
    case wire::Bin_MOD: return std::fmod(x, y);
    case wire::Bin_SquaredDifference: return (x - y) * (x - y);
    case wire::Bin_ATAN2: return std::atan2(x, y);
    case wire::Bin_MUL_SILU: return x * y / (1.0F + std::exp(-y));
    default: return 0;
  }
}

template <class T>
std::int32_t compare(wire::Bin op, T x, T y) {
  switch (op) {
    case wire::Bin_GREATER: return x > y;
    case wire::Bin_GREATER_EQUAL: return x >= y;
    case wire::Bin_LESS: return x < y;
    case wire::Bin_LESS_EQUAL: return x <= y;
    case wire::Bin_EQUAL: return x == y;
    case wire::Bin_NOTEQUAL: return x != y;
    case wire::Bin_LOGICALOR: return x != 0 || y != 0;
    case wire::Bin_LOGICALXOR: return (x != 0) != (y != 0);
    default: return 0;
  }
}

/// Integer arithmetic as MNN's CPU does it: wraps, C division for REALDIV, remainders as its source reads.
Result<std::int32_t> apply_integer(wire::Bin op, std::int32_t x, std::int32_t y) {
  const std::int64_t a = x;
  const std::int64_t b = y;
  const auto floor_div = [&] { return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0); };
  switch (op) {
    case wire::Bin_ADD: return static_cast<std::int32_t>(static_cast<std::uint32_t>(a + b));
    case wire::Bin_SUB: return static_cast<std::int32_t>(static_cast<std::uint32_t>(a - b));
    case wire::Bin_MUL: return static_cast<std::int32_t>(static_cast<std::uint32_t>(a * b));
    case wire::Bin_MIN_TEMP:
    case wire::Bin_MINIMUM: return std::min(x, y);
    case wire::Bin_MAX_TEMP:
    case wire::Bin_MAXIMUM: return std::max(x, y);
    case wire::Bin_SquaredDifference: return static_cast<std::int32_t>(static_cast<std::uint32_t>((a - b) * (a - b)));
    case wire::Bin_BITWISE_AND: return x & y;
    case wire::Bin_BITWISE_OR: return x | y;
    case wire::Bin_BITWISE_XOR: return x ^ y;
    case wire::Bin_POW:
      return static_cast<std::int32_t>(
          std::clamp(std::pow(static_cast<double>(a), static_cast<double>(b)), -2147483648.0, 2147483647.0));
    default: break;
  }
  if (op != wire::Bin_REALDIV && op != wire::Bin_FLOORDIV && op != wire::Bin_FLOORMOD && op != wire::Bin_MOD) {
    return fail("integer data is not implemented for this operation");
  }
  if (b == 0) return fail("integer division by zero");
  switch (op) {
    case wire::Bin_REALDIV: return static_cast<std::int32_t>(a / b);
    case wire::Bin_FLOORDIV: return static_cast<std::int32_t>(floor_div());
    case wire::Bin_FLOORMOD: return static_cast<std::int32_t>(a % b);
    default: return static_cast<std::int32_t>(a - floor_div() * b);
  }
}

class BinaryOp final : public Op {
 public:
  BinaryOp(wire::Bin op, Kind kind, bool relu) : op_(op), kind_(kind), relu_(relu) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto a = require_operand(inputs, 0);
    if (!a) return fail(a.error());
    auto b = require_operand(inputs, 1);
    if (!b) return fail(b.error());
    auto dims = broadcast_dims(a->dims, b->dims);
    if (!dims) return fail(dims.error());
    auto count = check_dims(*dims);
    if (!count) return fail(count.error());
    const bool integer = a->type == DType::i32 && b->type == DType::i32;
    if (kind_.integers_only && !integer) return fail("bits of floats");
    return std::vector<TensorSpec>{{kind_.comparison || integer ? DType::i32 : DType::f32, std::move(*dims)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const Dims& out = context.outputs[0].spec.dims;
    std::vector<Stage> stages;
    std::vector<int> from{0, 1};
    std::array<BinaryOperand, 2> operands{binary_operand(context, 0), binary_operand(context, 1)};
    // What a helper node makes of a constant is none: it is dumped, and has the helper's shape.
    const auto read_from_helper = [&](int operand, const Dims& dims) {
      const auto k = static_cast<std::size_t>(operand);
      from[k] = -2;
      operands[k].constant = false;
      operands[k].view.dims = dims;
    };
    // The backend brings a scalar to the full shape by Reshape and Tile, a vector by Reshape and Transpose.
    if (context.dumped("stage_0") && context.dumped("stage_1")) {
      const int small = context.inputs[0].spec.dims.empty() ? 0 : 1;
      const Layout layout = context.outputs[0].layout;
      Stage ones = reshape_stage("Reshape", Dims(out.size(), 1));
      ones.name = "stage_0";
      ones.node_suffix = "_Reshape";
      ones.inputs = {small};
      ones.layout = layout;
      if (operands[static_cast<std::size_t>(small)].constant)
        declare_altered(ones, operands[static_cast<std::size_t>(small)]);
      stages.push_back(std::move(ones));
      stages.push_back({.name = "stage_1",
                        .node_suffix = "_Tile",
                        .qnn_type = "Tile",
                        .inputs = {-1},
                        .bound = "exact",
                        .layout = layout,
                        .compute = [out](const RunContext& run) -> Result<StageResult> {
                          StageResult result{.value = Tensor::f32(out)};
                          if (run.inputs[0]->type() != DType::f32)
                            return fail("integer scalar operand is not implemented");
                          std::fill(result.value.f32().begin(), result.value.f32().end(), run.inputs[0]->f32()[0]);
                          return result;
                        }});
      read_from_helper(small, out);
    } else if (context.dumped("stage_reshape") && context.dumped("stage_perm")) {
      const int small = context.inputs[0].spec.dims.size() < context.inputs[1].spec.dims.size() ? 0 : 1;
      Dims padded(out.size(), 1);
      const Dims& own = context.inputs[static_cast<std::size_t>(small)].spec.dims;
      std::copy(own.begin(), own.end(), padded.end() - static_cast<std::ptrdiff_t>(own.size()));
      Stage reshape = reshape_stage("Reshape", padded);
      reshape.name = "stage_reshape";
      reshape.node_suffix = "_Reshape";
      reshape.inputs = {small};
      reshape.layout = context.inputs[static_cast<std::size_t>(small)].layout;
      if (operands[static_cast<std::size_t>(small)].constant)
        declare_altered(reshape, operands[static_cast<std::size_t>(small)]);
      stages.push_back(std::move(reshape));
      Stage permuted = reshape_stage("Transpose", padded);
      permuted.name = "stage_perm";
      permuted.node_suffix = "_Permute";
      permuted.inputs = {-1};
      permuted.layout = context.outputs[0].layout;
      stages.push_back(std::move(permuted));
      read_from_helper(small, padded);
    }
    stages.push_back(main_stage(out, std::move(from), std::move(operands)));
    return stages;
  }

  /// MNN's shape rule takes the format of the operand with more axes, of the first among equals; only here does a
  /// constant's count (observed: constant - x).
  Layout output_layout(std::span<const Operand> inputs) const override {
    if (inputs.size() == 2) {
      const std::size_t a = inputs[0].spec.dims.size();
      const std::size_t b = inputs[1].spec.dims.size();
      if ((inputs[0].host != nullptr && a >= b) || (inputs[1].host != nullptr && b > a)) return Layout::logical;
    }
    return follow_majority(inputs);
  }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    return context.as_mnn() ? as_mnn_writes(context) : as_model_means(context);
  }

 private:
  QnnMappingResult as_mnn_writes(const QnnContext& context) const {
    if (*kind_.qnn_type == '\0')
      return refuse(QnnRefusal::Kind::refused, "the binary operation {} has no node", wire::EnumNameBin(op_));
    QnnBuilder builder(context);
    auto operands = helped_operands(builder, context);
    if (!operands) return tl::unexpected(operands.error());
    // The fused ReLU is not looked at, and a comparison writes integers, which HTP refuses.
    builder.node("", kind_.qnn_type, {(*operands)[0], (*operands)[1]}, QnnBuilder::output());
    return builder.take();
  }

  /// The operands after MNN's helper nodes: Reshape and Tile for a scalar, Reshape and Transpose for one of another
  /// rank and layout.
  static tl::expected<std::array<QnnTensorRef, 2>, QnnRefusal> helped_operands(QnnBuilder& builder,
                                                                               const QnnContext& context) {
    std::array<QnnTensorRef, 2> operands{QnnBuilder::input(0), QnnBuilder::input(1)};
    const std::size_t rank_a = context.inputs[0].spec.dims.size();
    const std::size_t rank_b = context.inputs[1].spec.dims.size();
    if (rank_a == rank_b) return operands;
    if (rank_a == 0 || rank_b == 0) {
      const std::size_t small = rank_a == 0 ? 0 : 1;
      const Dims full = context.in_dims(static_cast<int>(1 - small));
      const Layout layout = context.inputs[1 - small].layout;
      const QnnType& type = context.input_types[small];
      const QnnTensorRef ones = builder.stage("stage_0", Dims(full.size(), 1), type, layout);
      const QnnTensorRef tiled = builder.stage("stage_1", full, type, layout);
      builder.reshape("_Reshape", operands[small], ones);
      builder.node("_Tile", "Tile", {ones}, tiled, {u32_list("multiples", full)});
      operands[small] = tiled;
      return operands;
    }
    const Layout layout_a = context.inputs[0].layout;
    const Layout layout_b = context.inputs[1].layout;
    if (layout_a == layout_b) return operands;
    const Layout full_layout = context.outputs[0].layout;
    const std::size_t small = layout_a == full_layout ? 1 : 0;
    const std::size_t rank = std::max(rank_a, rank_b);
    if ((small == 0 ? rank_b : rank_a) != rank)
      return refuse(QnnRefusal::Kind::not_mapped, "the operand of the output's layout has the lower rank");
    const Dims own = context.in_dims(static_cast<int>(small));
    Dims padded(rank, 1);
    std::copy(own.begin(), own.end(), padded.end() - static_cast<std::ptrdiff_t>(own.size()));
    const std::vector<int> permutation = full_layout == Layout::channel_last
                                             ? to_channel_last_permutation(static_cast<int>(rank))
                                             : to_logical_permutation(static_cast<int>(rank));
    Dims permuted;
    for (int axis : permutation) permuted.push_back(padded[static_cast<std::size_t>(axis)]);
    const QnnType& type = context.input_types[small];
    const QnnTensorRef reshaped_stage = builder.stage("stage_reshape", padded, type, context.inputs[small].layout);
    const QnnTensorRef permuted_stage = builder.stage("stage_perm", std::move(permuted), type, full_layout);
    builder.reshape("_Reshape", operands[small], reshaped_stage);
    operands[small] = builder.transpose("_Permute", reshaped_stage, permuted_stage, permutation);
    return operands;
  }

  QnnMappingResult as_model_means(const QnnContext& context) const {
    const std::string type = meant_type();
    if (type.empty()) return refuse(QnnRefusal::Kind::refused, "QNN has no node for {}", wire::EnumNameBin(op_));
    QnnBuilder builder(context);
    std::array<QnnTensorRef, 2> operands{QnnBuilder::input(0), QnnBuilder::input(1)};
    if (context.inputs[0].spec.dims.empty() != context.inputs[1].spec.dims.empty()) {
      operands = *helped_operands(builder, context);  // right for a scalar
    } else {
      for (int k = 0; k < 2; ++k) operands[static_cast<std::size_t>(k)] = aligned_input(builder, context, k);
    }
    const Layout layout = context.outputs[0].layout;
    if (kind_.comparison) {
      if (op_ == wire::Bin_LOGICALOR || op_ == wire::Bin_LOGICALXOR) {
        for (int k = 0; k < 2; ++k) {
          const auto at = static_cast<std::size_t>(k);
          const QnnTensorRef truth =
              builder.stage(fmt::format("truth_{}", k), dims_beside(context, k), {DType::bool8, {}}, layout);
          operands[at] = builder.node(fmt::format("_truth_{}", k), "Cast", {operands[at]}, truth);
        }
      }
      const QnnTensorRef truth = builder.stage("truth", context.out_dims(0), {DType::bool8, {}}, layout);
      builder.node("_compare", type, {operands[0], operands[1]}, truth);
      builder.node("", "Cast", {truth}, QnnBuilder::output());
      return builder.take();
    }
    if (!relu_) {
      builder.node("", type, {operands[0], operands[1]}, QnnBuilder::output());
      return builder.take();
    }
    const QnnTensorRef sum = builder.stage("ReluTensor", context.out_dims(0), context.output_types[0], layout);
    builder.node("", type, {operands[0], operands[1]}, sum);
    builder.node("_relu", "Relu", {sum}, QnnBuilder::output());
    return builder.take();
  }

  /// Device dims of operand k once it stands beside the output.
  static Dims dims_beside(const QnnContext& context, int k) {
    const Dims& own = context.inputs[static_cast<std::size_t>(k)].spec.dims;
    Dims padded(context.outputs[0].spec.dims.size(), 1);
    std::copy(own.begin(), own.end(), padded.end() - static_cast<std::ptrdiff_t>(own.size()));
    return own.empty() ? context.out_dims(0) : device_dims(padded, context.outputs[0].layout);
  }

  /// QNN's node for what the operation means: MNN exchanges the two remainders and has no node for some.
  std::string meant_type() const {
    switch (op_) {
      case wire::Bin_FLOORMOD: return "ElementWiseMod";
      case wire::Bin_MOD: return "ElementWiseFmod";
      case wire::Bin_SquaredDifference: return "ElementWiseSquaredDifference";
      case wire::Bin_LOGICALXOR: return "ElementWiseXor";
      default: return kind_.qnn_type;
    }
  }
  Stage main_stage(const Dims& out, std::vector<int> from, std::array<BinaryOperand, 2> operands) const {
    BinaryStage meant{.meant = find_binary_function(kind_.qnn_type),
                      .operands = std::move(operands),
                      .out = out,
                      .finish = relu_ ? relu_finish() : Finish{},
                      .file = kMnnFile};
    Stage stage{.qnn_type = kind_.qnn_type, .inputs = std::move(from), .bound = kind_.bound};
    stage.compute = [this, out](const RunContext& run) { return compute(run, out, op_, relu_); };
    if (kind_.comparison) {
      stage.hypotheses = [this, out](const Evidence&) { return other_comparisons(out); };
    } else if (meant.meant != nullptr) {
      stage.hypotheses = [this, meant](const Evidence& evidence) { return arithmetic_mistakes(evidence, meant); };
    }
    return stage;
  }

  /// A helper node shows the constant itself: it may be another one.
  void declare_altered(Stage& helper, const BinaryOperand& constant) const {
    const bool added = op_ == wire::Bin_ADD || op_ == wire::Bin_SUB;
    helper.hypotheses = [unrounded = constant.unrounded, parameter = constant.name, added](const Evidence& evidence) {
      std::vector<ConstantEstimate> seen;
      for (float v : evidence.device.f32()) seen.push_back({v, kHalfUnitRoundoff * std::fabs(v)});
      std::vector<Hypothesis> list;
      for (AlteredConstant& other : altered_constants(evidence.reference.f32(), unrounded, seen,
                                                      added ? kAddedConstant : kFactorConstant, evidence.context)) {
        Tensor values = Tensor::f32(evidence.reference.dims());
        std::copy(other.values.begin(), other.values.end(), values.f32().begin());
        list.push_back(
            {.cause = other.cause,
             .parameter = parameter,
             .used = other.used,
             .meant = "the model's values",
             .file = kMnnFile,
             .free_parameters = other.free_parameters,
             .compute = [load = given_operand(std::move(values)).load](const RunContext& run) -> Result<StageResult> {
               auto value = load(run);
               if (!value) return fail(value.error());
               return StageResult{.value = (*value)->clone()};
             }});
      }
      return list;
    };
  }

  std::vector<Hypothesis> arithmetic_mistakes(const Evidence& evidence, const BinaryStage& meant) const {
    std::vector<Hypothesis> list;
    const auto activation = [&](std::string cause, std::string used, Finish finish) {
      BinaryStage wrong = meant;
      wrong.finish = std::move(finish);
      list.push_back({.cause = std::move(cause),
                      .parameter = "activationType",
                      .used = std::move(used),
                      .meant = relu_ ? "ReLU" : "none",
                      .file = kMnnFile,
                      .compute = binary_compute(wrong),
                      .exact = binary_exact(wrong)});
    };
    if (relu_) {
      activation("activation_dropped", "none", {});
    } else {
      activation("activation_wrong", "ReLU", relu_finish());
    }
    activation("activation_wrong", "ReLU6",
               {.apply = [](float v, std::int64_t) { return std::min(std::max(v, 0.0F), 6.0F); }, .invert = {}});
    for (Hypothesis& h : binary_mistakes(evidence, meant)) list.push_back(std::move(h));
    if (!relu_) return list;
    // MNN's backend never encodes the fused ReLU, so another mistake comes with that one.
    BinaryStage plain = meant;
    plain.finish = {};
    for (Hypothesis& h : binary_mistakes(evidence, plain)) {
      h.used += ", and no ReLU";
      list.push_back(std::move(h));
    }
    return list;
  }

  std::vector<Hypothesis> other_comparisons(const Dims& out) const {
    constexpr std::array kComparisons{wire::Bin_GREATER,    wire::Bin_GREATER_EQUAL, wire::Bin_LESS,
                                      wire::Bin_LESS_EQUAL, wire::Bin_EQUAL,         wire::Bin_NOTEQUAL};
    std::vector<Hypothesis> list;
    for (wire::Bin other : kComparisons) {
      if (other == op_) continue;
      list.push_back(
          {.cause = "binary_op_wrong",
           .parameter = "node type",
           .used = kind_of(other)->qnn_type,
           .meant = kind_.qnn_type,
           .file = kMnnFile,
           .compute = [this, out, other](const RunContext& run) { return compute(run, out, other, false); }});
    }
    return list;
  }

  Result<StageResult> compute(const RunContext& run, const Dims& out, wire::Bin op, bool relu) const {
    const Tensor& a = *run.inputs[0];
    const Tensor& b = *run.inputs[1];
    if (a.type() == DType::i32 && b.type() == DType::i32) return compute_integer(a, b, out, op);
    const Tensor a_float = as_float(a);
    const Tensor b_float = as_float(b);
    const Tensor& x = a.type() == DType::f32 ? a : a_float;
    const Tensor& y = b.type() == DType::f32 ? b : b_float;
    if (kind_.comparison) {
      StageResult result{.value = Tensor::i32(out)};
      broadcast_apply<float, float, std::int32_t>(x.f32(), x.dims(), y.f32(), y.dims(), result.value.i32(), out,
                                                  [op](float p, float q) { return compare(op, p, q); });
      return result;
    }
    StageResult result{.value = Tensor::f32(out)};
    const auto with = [&](auto f) {
      if (relu) {
        broadcast_apply<float, float, float>(x.f32(), x.dims(), y.f32(), y.dims(), result.value.f32(), out,
                                             [f](float p, float q) { return std::max(0.0F, f(p, q)); });
      } else {
        broadcast_apply<float, float, float>(x.f32(), x.dims(), y.f32(), y.dims(), result.value.f32(), out, f);
      }
    };
    // The three common ones get loops of their own that vectorize.
    switch (op) {
      case wire::Bin_ADD: with([](float p, float q) { return p + q; }); break;
      case wire::Bin_SUB: with([](float p, float q) { return p - q; }); break;
      case wire::Bin_MUL: with([](float p, float q) { return p * q; }); break;
      default: with([op](float p, float q) { return apply_float(op, p, q); });
    }
    return result;
  }

  Result<StageResult> compute_integer(const Tensor& a, const Tensor& b, const Dims& out, wire::Bin op) const {
    StageResult result{.value = Tensor::i32(out)};
    std::optional<Error> error;
    broadcast_apply<std::int32_t, std::int32_t, std::int32_t>(a.i32(), a.dims(), b.i32(), b.dims(), result.value.i32(),
                                                              out, [&](std::int32_t p, std::int32_t q) -> std::int32_t {
                                                                if (kind_.comparison) return compare(op, p, q);
                                                                auto value = apply_integer(op, p, q);
                                                                if (!value) {
                                                                  error = value.error();
                                                                  return 0;
                                                                }
                                                                return relu_ ? std::max(0, *value) : *value;
                                                              });
    if (error) return fail(*error);
    return result;
  }

  static Tensor as_float(const Tensor& t) {
    if (t.type() == DType::f32) return {};
    Tensor out = Tensor::f32(t.dims());
    std::copy(t.i32().begin(), t.i32().end(), out.f32().begin());
    return out;
  }

  wire::Bin op_;
  Kind kind_;
  bool relu_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::BinaryOp* main = model.wire_op(node.index).main_as_BinaryOp();
  if (main == nullptr) return fail("its BinaryOp parameters are missing");
  auto kind = kind_of(main->opType());
  if (!kind) return fail(kind.error());
  if (main->activationType() != 0 && main->activationType() != 1) {
    return fail("fused activation {} is not known", main->activationType());
  }
  return std::make_unique<BinaryOp>(main->opType(), *kind, main->activationType() == 1);
}

const RegisterOp kRegister{"BinaryOp", make};

}  // namespace
}  // namespace qnndbg
