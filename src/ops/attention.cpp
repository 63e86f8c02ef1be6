// Attention: softmax(q k^T * scale + mask) v per head. q [B, Sq, H, D], k and v [B, Sk, Hk, D]; H / Hk query heads
// share a key head. The result is [B, Sq, H * D].
#include <cmath>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/broadcast.h"
#include "ops/support/data_movement.h"
#include "ops/support/elementwise.h"
#include "ops/support/host_values.h"
#include "ops/support/mat_mul_kernel.h"
#include "ops/support/slice_kernel.h"
#include "ops/support/softmax_kernel.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNAttention.cpp";
// Shared key heads have stages of their own; no real network comes near this many.
constexpr std::int64_t kMaxHeads = 1 << 12;

struct Extents {
  std::int64_t batch = 0, queries = 0, heads = 0, depth = 0, keys = 0, key_heads = 0;
};

enum class Mask : std::uint8_t {
  causal,  // no mask: query i sees the keys up to i + (Sk - Sq)
  full,    // added to the scores of every head and batch item
};

/// The kinds of stage below.
Stage exact_stage(std::string name, std::string node_suffix, std::string qnn_type, std::vector<int> inputs,
                  Compute compute) {
  return {.name = std::move(name),
          .node_suffix = std::move(node_suffix),
          .qnn_type = std::move(qnn_type),
          .inputs = std::move(inputs),
          .bound = "exact",
          .compute = std::move(compute)};
}

Stage heads_first_stage(std::string name, std::string node_suffix, int from) {
  return transpose_stage(std::move(name), std::move(node_suffix), from, {0, 2, 1, 3});
}

Stage scale_stage(float scale, float default_scale) {
  const auto scaled_by = [](float factor) -> Compute {
    return [factor](const RunContext& run) -> Result<StageResult> {
      float held[] = {factor};
      if (run.constants) round_to_half(held, *run.constants, run.half);
      return StageResult{.value = map_elements(*run.inputs[0], [f = held[0]](float x) { return x * f; })};
    };
  };
  Stage stage{.name = "ScaleQ",
              .node_suffix = "_Scale",
              .qnn_type = "ElementWiseMultiply",
              .bound = "ElementWiseMultiply",
              .compute = scaled_by(scale)};
  if (scale != default_scale) {
    stage.hypotheses = [=](const Evidence&) {
      return std::vector<Hypothesis>{{.cause = "attention_scale_wrong",
                                      .parameter = "attnScale",
                                      .used = fmt::format("{}", default_scale),
                                      .meant = fmt::format("{}", scale),
                                      .file = kMnnFile,
                                      .compute = scaled_by(default_scale)}};
    };
  }
  return stage;
}

Stage product_stage(std::string name, std::string node_suffix, std::vector<int> inputs, bool transpose_b) {
  Stage stage{.name = std::move(name),
              .node_suffix = std::move(node_suffix),
              .qnn_type = "MatMul",
              .inputs = std::move(inputs),
              .bound = "MatMul"};
  stage.compute = [transpose_b](const RunContext& run) -> Result<StageResult> {
    const Tensor& a = *run.inputs[0];
    const Tensor& b = *run.inputs[1];
    auto shapes = mat_mul_shapes(a.dims(), b.dims(), false, transpose_b);
    if (!shapes) return fail(shapes.error());
    return mat_mul(*shapes, a, b, {}, run.want_magnitude);
  };
  stage.exact = [transpose_b](const RunContext& run) -> Result<ElementValue> {
    auto shapes = mat_mul_shapes(run.inputs[0]->dims(), run.inputs[1]->dims(), false, transpose_b);
    if (!shapes) return fail(shapes.error());
    return [s = *shapes, a = run.inputs[0], b = run.inputs[1]](std::int64_t i) {
      return mat_mul_element(s, *a, *b, {}, i);
    };
  };
  return stage;
}

Stage mask_stage() {
  return {.name = "maskResult",
          .node_suffix = "_Mask_Add",
          .qnn_type = "ElementWiseAdd",
          .bound = "ElementWiseAdd",
          .compute = [](const RunContext& run) -> Result<StageResult> {
            const Tensor& scores = *run.inputs[0];
            const Tensor& mask = *run.inputs[1];
            StageResult result{.value = Tensor::f32(scores.dims())};
            broadcast_apply<float, float, float>(scores.f32(), scores.dims(), mask.f32(), mask.dims(),
                                                 result.value.f32(), scores.dims(),
                                                 [](float s, float m) { return s + m; });
            return result;
          }};
}

/// Softmax over the keys; with `causal` a query sees no key behind its own place, both counted from the end.
Result<StageResult> weights_of(const Tensor& scores, bool causal) {
  Tensor seen = scores.clone();
  const std::int64_t queries = scores.dims()[2];
  const std::int64_t keys = scores.dims()[3];
  for (std::int64_t row = 0; causal && row < scores.size() / std::max<std::int64_t>(keys, 1); ++row) {
    const std::int64_t first_hidden = std::max<std::int64_t>(0, row % queries + keys - queries + 1);
    for (std::int64_t k = first_hidden; k < keys; ++k) seen.f32()[static_cast<std::size_t>(row * keys + k)] = -INFINITY;
  }
  StageResult result{.value = Tensor::f32(scores.dims())};
  softmax(seen.f32(), view_axis(scores.dims(), 3), result.value.f32());
  return result;
}

Stage softmax_stage(bool causal) {
  Stage stage{.name = "Softmax",
              .node_suffix = "_Softmax",
              .qnn_type = "Softmax",
              .bound = "Softmax",
              .compute = [causal](const RunContext& run) { return weights_of(*run.inputs[0], causal); }};
  if (causal) {
    stage.hypotheses = [](const Evidence&) {
      return std::vector<Hypothesis>{
          {.cause = "attention_mask_dropped",
           .parameter = "mask",
           .used = "none",
           .meant = "causal (the model gives no mask)",
           .file = kMnnFile,
           .compute = [](const RunContext& run) { return weights_of(*run.inputs[0], false); }}};
    };
  }
  return stage;
}

/// The stages in the backend's order, each with its name in the dump; the last is the output.
class Chain {
 public:
  Chain(const Extents& extents, Mask mask, float scale) : e_(extents), mask_(mask), scale_(scale) {}

  std::vector<Stage> build(const Dims& out) {
    const int query = add(heads_first_stage("Query_perm", "_Transpose_query", 0));
    int key = add(heads_first_stage("Key_perm", "_Transpose_key", 1));
    int value = add(heads_first_stage("Value_perm", "_Transpose_value", 2));
    const int scaled = add(scale_stage(scale_, default_scale()), {query});
    key = repeated(key, "K", "RepeatedKey");
    int scores = add(product_stage("QK", "_MatMul_QK", {scaled, key}, true));
    if (mask_ == Mask::full) {
      Stage reshaped_mask = reshape_stage("Reshape", {1, 1, e_.queries, e_.keys});
      reshaped_mask.name = "tempMask";
      reshaped_mask.node_suffix = "_Mask_Reshape";
      const int mask = add(std::move(reshaped_mask), {3});
      scores = add(mask_stage(), {scores, mask});
    }
    const int weights = add(softmax_stage(mask_ == Mask::causal), {scores});
    value = repeated(value, "V", "RepeatedValue");
    const int mixed = add(product_stage("QKV", "_MatMul_QKV", {weights, value}, false));
    const int back = add(heads_first_stage("Transpose", "_Transpose", mixed));
    Stage output = reshape_stage("Reshape", out);
    output.node_suffix = "_Reshape";
    add(std::move(output), {back});
    return std::move(stages_);
  }

 private:
  float default_scale() const { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(e_.depth))); }

  int add(Stage stage) {
    stages_.push_back(std::move(stage));
    return -static_cast<int>(stages_.size());
  }
  int add(Stage stage, std::vector<int> inputs) {
    stage.inputs = std::move(inputs);
    return add(std::move(stage));
  }

  /// With fewer key heads than query heads the backend splits them and joins each with its copies.
  int repeated(int from, const std::string& letter, std::string name) {
    if (e_.key_heads == e_.heads) return from;
    const Dims part{e_.batch, 1, e_.keys, e_.depth};
    std::vector<int> joined;
    for (std::int64_t head = 0; head < e_.key_heads; ++head) {
      const int split = add(exact_stage("Split" + letter + "_Temp" + std::to_string(head), "_" + letter + "_Split",
                                        "Split", {from}, [part, head](const RunContext& run) -> Result<StageResult> {
                                          std::vector<SliceAxis> window;
                                          for (std::int64_t extent : part) window.push_back({0, 1, extent});
                                          window[1].begin = head;
                                          return StageResult{.value = slice(*run.inputs[0], window)};
                                        }));
      joined.insert(joined.end(), static_cast<std::size_t>(e_.heads / e_.key_heads), split);
    }
    const Dims whole{e_.batch, e_.heads, e_.keys, e_.depth};
    return add(exact_stage(std::move(name), "_" + letter + "_Concat", "Concat", std::move(joined),
                           [whole](const RunContext& run) -> Result<StageResult> {
                             return StageResult{.value = stack(run.inputs, whole, 1)};
                           }));
  }

  Extents e_;
  Mask mask_;
  float scale_;
  std::vector<Stage> stages_;
};

/// The whole chain as one stage, where the dump does not show what lies between.
Stage folded(std::vector<Stage> chain, std::vector<int> inputs) {
  return {.qnn_type = "Attention",
          .inputs = std::move(inputs),
          .bound = "unmeasured",
          .compute = [chain = std::move(chain)](const RunContext& run) -> Result<StageResult> {
            std::vector<Tensor> values;
            for (const Stage& stage : chain) {
              std::vector<const Tensor*> from;
              for (int k : stage.inputs)
                from.push_back(k >= 0 ? run.inputs[static_cast<std::size_t>(k)]
                                      : &values[static_cast<std::size_t>(-1 - k)]);
              auto result = stage.compute({.inputs = from, .constants = run.constants, .half = run.half});
              if (!result) return fail(result.error());
              values.push_back(std::move(result->value));
            }
            return StageResult{.value = std::move(values.back())};
          }};
}

/// The same chain as QNN nodes.
class QnnChain {
 public:
  QnnChain(const QnnContext& context, const Extents& extents, Mask mask, float scale)
      : context_(context), builder_(context), e_(extents), mask_(mask), scale_(scale) {}

  QnnMapping build() {
    const QnnTensorRef query = heads_first(0, "query", "Query_perm", {e_.batch, e_.heads, e_.queries, e_.depth});
    const Dims shared{e_.batch, e_.key_heads, e_.keys, e_.depth};
    QnnTensorRef key = heads_first(1, "key", "Key_perm", shared);
    QnnTensorRef value = heads_first(2, "value", "Value_perm", shared);
    const QnnTensorRef scaled =
        builder_.node("_Scale", "ElementWiseMultiply", {query, builder_.floats("coef", {1}, {scale_})},
                      stage("ScaleQ", {e_.batch, e_.heads, e_.queries, e_.depth}));
    key = repeated(key, "K", "RepeatedKey");
    const Dims score_dims{e_.batch, e_.heads, e_.queries, e_.keys};
    QnnTensorRef scores = product("_MatMul_QK", scaled, key, true, stage("QK", score_dims));
    scores = masked(scores, score_dims);
    const QnnTensorRef weights =
        builder_.node("_Softmax", "Softmax", {scores}, stage("Softmax", score_dims), {u32_scalar("axis", 3)});
    value = repeated(value, "V", "RepeatedValue");
    const QnnTensorRef mixed =
        product("_MatMul_QKV", weights, value, false, stage("QKV", {e_.batch, e_.heads, e_.queries, e_.depth}));
    const QnnTensorRef back = builder_.transpose(
        "_Transpose", mixed, stage("Transpose", {e_.batch, e_.queries, e_.heads, e_.depth}), {0, 2, 1, 3}, "result");
    builder_.logical_output(0, [&](QnnTensorRef target) { builder_.reshape("_Reshape", back, target); });
    return builder_.take();
  }

 private:
  QnnTensorRef stage(std::string name, Dims dims) {
    return builder_.stage(std::move(name), std::move(dims), builder_.float_type());
  }

  QnnTensorRef heads_first(int operand, const std::string& what, std::string name, Dims dims) {
    const QnnTensorRef from = context_.as_mnn() ? QnnBuilder::input(operand) : builder_.logical_input(operand);
    return builder_.transpose("_Transpose_" + what, from, stage(std::move(name), std::move(dims)), {0, 2, 1, 3}, what);
  }

  QnnTensorRef product(std::string suffix, QnnTensorRef a, QnnTensorRef b, bool transpose_b, QnnTensorRef target) {
    return builder_.node(std::move(suffix), "MatMul", {a, b}, target,
                         {flag("transpose_in0", false), flag("transpose_in1", transpose_b)});
  }

  /// MNN adds the mask operand, and nothing where the model leaves it out and means a causal one.
  QnnTensorRef masked(QnnTensorRef scores, const Dims& dims) {
    std::optional<QnnTensorRef> mask;
    if (mask_ == Mask::full) {
      const std::int64_t batch = context_.as_mnn() ? e_.batch : 1;
      mask =
          builder_.reshape("_Mask_Reshape", QnnBuilder::input(3), stage("tempMask", {batch, 1, e_.queries, e_.keys}));
    } else if (!context_.as_mnn()) {
      mask = builder_.floats("causal", {1, 1, e_.queries, e_.keys},
                             [queries = e_.queries, keys = e_.keys] { return causal(queries, keys); });
    }
    if (!mask) return scores;
    return builder_.node("_Mask_Add", "ElementWiseAdd", {scores, *mask}, stage("maskResult", dims));
  }

  /// Far below every score, and room for the score within half.
  static Result<std::vector<float>> causal(std::int64_t queries, std::int64_t keys) {
    constexpr float kHidden = -30000.0F;
    std::vector<float> mask;
    for (std::int64_t q = 0; q < queries; ++q) {
      for (std::int64_t k = 0; k < keys; ++k) mask.push_back(k > q + keys - queries ? kHidden : 0.0F);
    }
    return mask;
  }

  QnnTensorRef repeated(QnnTensorRef from, const std::string& letter, std::string name) {
    if (e_.key_heads == e_.heads) return from;
    std::vector<QnnTensorRef> joined;
    const auto copies = static_cast<std::size_t>(e_.heads / e_.key_heads);
    if (e_.key_heads == 1 && !context_.as_mnn()) {
      joined.assign(copies, from);
    } else {
      QnnNode split{.suffix = "_" + letter + "_Split", .type = "Split", .inputs = {from}};
      std::vector<std::int64_t> cuts;
      for (std::int64_t head = 0; head < e_.key_heads; ++head) {
        if (head > 0) cuts.push_back(head);
        split.outputs.push_back(stage(fmt::format("Split{}_Temp{}", letter, head), {e_.batch, 1, e_.keys, e_.depth}));
        joined.insert(joined.end(), copies, split.outputs.back());
      }
      split.params = {u32_scalar("axis", 1), u32_list("split_index", std::move(cuts), letter)};
      builder_.add(std::move(split));
    }
    return builder_.node("_" + letter + "_Concat", "Concat", std::move(joined),
                         stage(std::move(name), {e_.batch, e_.heads, e_.keys, e_.depth}), {u32_scalar("axis", 1)});
  }

  const QnnContext& context_;
  QnnBuilder builder_;
  Extents e_;
  Mask mask_;
  float scale_;
};

class Attention final : public Op {
 public:
  Attention(float scale, bool kv_cache) : scale_(scale), kv_cache_(kv_cache) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto e = extents_of(inputs);
    if (!e) return fail(e.error());
    auto mask = mask_of(inputs, *e);
    if (!mask) return fail(mask.error());
    const Dims scores{e->batch, e->heads, e->queries, e->keys};
    auto count = check_dims(scores);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{{DType::f32, {e->batch, e->queries, e->heads * e->depth}}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const Extents e = *extents_of(context.inputs);
    const Mask mask = *mask_of(context.inputs, e);
    if (context.dumped("QKPast")) return fail("its past keys and values are not in the dump");
    const float scale = scale_ > 0 ? scale_ : static_cast<float>(1.0 / std::sqrt(static_cast<double>(e.depth)));
    std::vector<Stage> chain = Chain(e, mask, scale).build(context.outputs[0].spec.dims);
    if (context.dumped("QK") && context.dumped("Softmax") && context.dumped("QKV")) return chain;
    std::vector<int> from{0, 1, 2};
    if (mask == Mask::full) from.push_back(3);
    std::vector<Stage> one;
    one.push_back(folded(std::move(chain), std::move(from)));
    return one;
  }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const std::size_t count = context.inputs.size();
    if (context.as_mnn() && (count < 3 || count > 4))
      return refuse(QnnRefusal::Kind::refused, "{} operands, the backend takes 3 or 4", count);
    // Only the offline plugin binds the tensors that hold past keys and values.
    if (context.as_mnn() && kv_cache_)
      return refuse(QnnRefusal::Kind::not_mapped, "an attention with kv_cache keeps keys and values from run to run");
    auto e = extents_of(context.inputs);
    if (!e) return not_mapped(e.error());
    auto mask = mask_of(context.inputs, *e);
    if (!mask) return not_mapped(mask.error());
    const auto default_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(e->depth)));
    const float scale = !context.as_mnn() && scale_ > 0 ? scale_ : default_scale;
    return QnnChain(context, *e, *mask, scale).build();
  }
  bool runs_quantized(DType /*type*/) const override { return false; }

 private:
  static Result<Extents> extents_of(std::span<const Operand> inputs) {
    Dims dims[3];
    for (int k = 0; k < 3; ++k) {
      auto operand = require_operand(inputs, k, 4);
      if (!operand) return fail(operand.error());
      if (operand->dims.size() != 4 || operand->type != DType::f32)
        return fail("operand {} is {}, floats of rank 4 are needed", k, to_string(operand->dims));
      dims[k] = std::move(operand->dims);
    }
    const Dims& q = dims[0];
    const Dims& k = dims[1];
    const Extents e{.batch = q[0], .queries = q[1], .heads = q[2], .depth = q[3], .keys = k[1], .key_heads = k[2]};
    if (k != dims[2] || k[0] != e.batch || k[3] != e.depth)
      return fail("queries {}, keys {} and values {} do not fit", to_string(q), to_string(k), to_string(dims[2]));
    if (e.key_heads == 0 || e.heads % e.key_heads != 0 || e.heads > kMaxHeads)
      return fail("{} query heads do not share {} key heads", e.heads, e.key_heads);
    if (e.depth == 0 || e.keys == 0 || e.queries == 0) return fail("attention over nothing");
    if (has_operand(inputs, 4)) return fail("sink logits are not implemented (MNN's QNN backend refuses them too)");
    return e;
  }

  static Result<Mask> mask_of(std::span<const Operand> inputs, const Extents& e) {
    if (!has_operand(inputs, 3)) {
      if (e.keys < e.queries) return fail("{} queries see {} keys and no mask says which", e.queries, e.keys);
      return Mask::causal;
    }
    const TensorSpec& mask = inputs[3].spec;
    if (mask.type != DType::f32) return fail("a mask of integers is not implemented");
    // A mask of another size covers the last keys alone, and a single value stands for the causal mask: MNN's CPU reads
    // them so, its QNN backend does not.
    if (element_count(mask.dims) != e.queries * e.keys || mask.dims.empty())
      return fail("a mask {} for {} queries and {} keys is not implemented", to_string(mask.dims), e.queries, e.keys);
    return Mask::full;
  }

  float scale_;
  bool kv_cache_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::AttentionParam* main = model.wire_op(node.index).main_as_AttentionParam();
  if (main == nullptr) return std::make_unique<Attention>(0.0F, false);
  if (main->output_c4()) return fail("an attention with a packed output is not implemented");
  if (main->kv_shared_layer_index() >= 0 || (main->kv_shared_layer() != nullptr && main->kv_shared_layer()->size() > 0))
    return fail("an attention that reads another layer's keys is not implemented");
  if (!std::isfinite(main->attnScale())) return fail("its scale is not a number");
  return std::make_unique<Attention>(main->attnScale(), main->kv_cache());
}

const RegisterOp kRegister{"Attention", make};

}  // namespace
}  // namespace qnndbg
