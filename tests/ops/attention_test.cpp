// Attention against the sums written out, whole and stage by stage.
#include "ops/counterfactual.h"

namespace qnndbg::test {
namespace {

struct Parameters {
  float scale = 0;
  bool packed = false;
  int shared_layer = -1;
};

OneOp model_of(const Parameters& p = {}, int operands = 4) {
  return OneOp(wire::Kind_Attention, operands, wire::OpParameter_AttentionParam, [p](Builder& b) {
    wire::AttentionParamBuilder attention(b);
    attention.add_attnScale(p.scale);
    attention.add_output_c4(p.packed);
    attention.add_kv_shared_layer_index(p.shared_layer);
    return attention.Finish().Union();
  });
}

struct Case {
  Tensor q, k, v, mask;
  bool masked = false;
  Parameters parameters = {};

  std::vector<const Tensor*> inputs() const {
    std::vector<const Tensor*> all{&q, &k, &v};
    if (masked) all.push_back(&mask);
    return all;
  }
  std::int64_t key_heads() const { return k.dims()[2]; }
  std::int64_t heads() const { return q.dims()[2]; }
};

Case random_case(Rng& rng) {
  const std::int64_t batch = pick(rng, 1, 2);
  const std::int64_t queries = pick(rng, 1, 4);
  const std::int64_t keys = queries + pick(rng, 0, 3);
  const std::int64_t key_heads = pick(rng, 1, 3);
  const std::int64_t heads = key_heads * pick(rng, 1, 3);
  const std::int64_t depth = pick(rng, 1, 5);
  Case c{.q = random_tensor(rng, {batch, queries, heads, depth}),
         .k = random_tensor(rng, {batch, keys, key_heads, depth}),
         .v = random_tensor(rng, {batch, keys, key_heads, depth}),
         .mask = random_tensor(rng, {1, 1, queries, keys}),
         .masked = coin(rng)};
  if (coin(rng)) c.parameters.scale = 0.7F;
  return c;
}

/// Scaled scores of one query against every key, after the mask; -infinity hides a key.
std::vector<double> scores_of(const Case& c, std::int64_t batch, std::int64_t query, std::int64_t head) {
  const std::int64_t depth = c.q.dims()[3];
  const double scale = c.parameters.scale > 0 ? static_cast<double>(c.parameters.scale) : 1 / std::sqrt(depth);
  const std::int64_t key_head = head / (c.heads() / c.key_heads());
  const std::int64_t behind = c.k.dims()[1] - c.q.dims()[1];
  std::vector<double> scores;
  for (std::int64_t key = 0; key < c.k.dims()[1]; ++key) {
    double sum = 0;
    for (std::int64_t d = 0; d < depth; ++d)
      sum += at(c.q, {batch, query, head, d}) * at(c.k, {batch, key, key_head, d});
    sum *= scale;
    if (c.masked) sum += at(c.mask, {0, 0, query, key});
    scores.push_back(!c.masked && key > query + behind ? -HUGE_VAL : sum);
  }
  return scores;
}

void expect_attention(const Tensor& y, const Case& c) {
  const std::int64_t depth = c.q.dims()[3];
  expect_tensor(y, DType::f32, {c.q.dims()[0], c.q.dims()[1], c.heads() * depth}, [&](const Dims& o) {
    const std::int64_t head = o[2] / depth;
    const std::vector<double> scores = scores_of(c, o[0], o[1], head);
    double sum = 0;
    double weights = 0;
    for (std::size_t key = 0; key < scores.size(); ++key) {
      const double weight = std::exp(scores[key]);
      weights += weight;
      sum += weight * at(c.v, {o[0], static_cast<std::int64_t>(key), head / (c.heads() / c.key_heads()), o[2] % depth});
    }
    return Exact{sum / weights, 1e-5};
  });
}

TEST(Attention, WithAndWithoutMask) {
  Rng rng(290);
  for (int n = 0; n < 60; ++n) {
    const Case c = random_case(rng);
    expect_attention(model_of(c.parameters, static_cast<int>(c.inputs().size())).output(c.inputs()), c);
    if (HasFailure()) FAIL() << "case " << n;
  }
}

std::set<std::string> stage_names(const Case& c) {
  std::set<std::string> names{"Query_perm", "Key_perm", "Value_perm", "ScaleQ", "QK", "Softmax", "QKV", "Transpose"};
  if (c.masked) names.insert({"tempMask", "maskResult"});
  if (c.heads() != c.key_heads()) {
    names.insert({"RepeatedKey", "RepeatedValue"});
    for (std::int64_t k = 0; k < c.key_heads(); ++k) {
      names.insert("SplitK_Temp" + std::to_string(k));
      names.insert("SplitV_Temp" + std::to_string(k));
    }
  }
  return names;
}

TEST(AttentionStages, LeadToTheSameResult) {
  Rng rng(291);
  for (int n = 0; n < 60; ++n) {
    const Case c = random_case(rng);
    const OneOp model = model_of(c.parameters, static_cast<int>(c.inputs().size()));
    expect_attention(model.chained(c.inputs(), stage_names(c)).at(0), c);
    if (HasFailure()) FAIL() << "case " << n;
  }
}

/// The stage of that name, given the values that it reads.
StageResult run_stage(const std::vector<Stage>& stages, const std::string& name,
                      const std::vector<const Tensor*>& from) {
  const auto stage = std::find_if(stages.begin(), stages.end(), [&](const Stage& s) { return s.name == name; });
  if (stage == stages.end()) {
    ADD_FAILURE() << "no stage " << name;
    return {};
  }
  auto result = stage->compute({.inputs = from, .constants = HalfRounding::toward_zero});
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  return std::move(*result);
}

TEST(AttentionStages, SharedKeyHeadsAreRepeatedInTheirPlace) {
  Rng rng(292);
  const Tensor q = random_tensor(rng, {1, 2, 4, 3});
  const Tensor k = random_tensor(rng, {1, 5, 2, 3});
  Case c{.q = q.clone(), .k = k.clone(), .v = k.clone(), .mask = {}};
  const std::vector<Stage> stages = model_of({}, 3).stages(c.inputs(), stage_names(c));
  const Tensor keys = run_stage(stages, "Key_perm", {&k}).value;
  expect_moved(keys, k, {1, 2, 5, 3}, [](const Dims& o) { return Dims{o[0], o[2], o[1], o[3]}; });
  const Tensor first = run_stage(stages, "SplitK_Temp0", {&keys}).value;
  const Tensor second = run_stage(stages, "SplitK_Temp1", {&keys}).value;
  expect_moved(second, keys, {1, 1, 5, 3}, [](const Dims& o) { return Dims{o[0], 1, o[2], o[3]}; });
  const Tensor repeated = run_stage(stages, "RepeatedKey", {&first, &first, &second, &second}).value;
  expect_moved(repeated, keys, {1, 4, 5, 3}, [](const Dims& o) { return Dims{o[0], o[1] / 2, o[2], o[3]}; });
}

/// What the engine makes of `device` as the output of the stage of that name; "right" within the bound.
std::string cause_at(const std::vector<Stage>& stages, const std::string& name, const std::vector<const Tensor*>& from,
                     const Tensor& device) {
  const auto stage = std::find_if(stages.begin(), stages.end(), [&](const Stage& s) { return s.name == name; });
  auto bounds = Bounds::load("v75", 1);
  if (stage == stages.end() || !bounds) {
    ADD_FAILURE() << name;
    return {};
  }
  const RunContext context{.inputs = from, .constants = HalfRounding::toward_zero};
  auto reference = stage->compute(context);
  if (!reference) {
    ADD_FAILURE() << reference.error().message;
    return {};
  }
  const Bound bound = bounds->of(stage->bound);
  if (judge(device.f32(), reference->value.f32(), {}, bound, HalfKind::htp, {}).right()) return "right";
  const Evidence evidence{.context = context, .device = device, .reference = reference->value};
  for (const Attempt& attempt : try_hypotheses(*stage, evidence, bound, *bounds)) {
    if (attempt.decisive) return attempt.hypothesis.cause;
  }
  return "unexplained";
}

TEST(AttentionMistakes, ScaleAndMaskAreNamed) {
  Rng rng(295);
  const Tensor q = half_tensor(rng, {1, 4, 2, 8});
  const Case c{.q = q.clone(), .k = q.clone(), .v = q.clone(), .mask = {}, .parameters = {.scale = 0.7F}};
  const std::vector<Stage> own = model_of(c.parameters, 3).stages(c.inputs(), stage_names(c));
  const std::vector<Stage> plain = model_of({}, 3).stages(c.inputs(), stage_names(c));

  const Tensor queries = half_tensor(rng, {1, 2, 4, 8});
  EXPECT_EQ(cause_at(own, "ScaleQ", {&queries}, on_device(run_stage(own, "ScaleQ", {&queries}).value)), "right");
  // One over the root of 8 as a half, by which the backend scales whatever the model says.
  Tensor scaled = queries.clone();
  for (float& v : scaled.f32()) v *= 0.353515625F;
  scaled = on_device(std::move(scaled));
  EXPECT_EQ(cause_at(own, "ScaleQ", {&queries}, scaled), "attention_scale_wrong");
  EXPECT_EQ(cause_at(plain, "ScaleQ", {&queries}, scaled), "right");
  EXPECT_EQ(cause_at(plain, "ScaleQ", {&queries}, queries), "unexplained");

  const Tensor scores = half_tensor(rng, {1, 2, 4, 4});
  EXPECT_EQ(cause_at(plain, "Softmax", {&scores}, on_device(run_stage(plain, "Softmax", {&scores}).value)), "right");
  Tensor open = Tensor::f32(scores.dims());
  for (const Dims& o : indices_of(scores.dims())) {
    double sum = 0;
    for (std::int64_t key = 0; key < 4; ++key) sum += std::exp(at(scores, {o[0], o[1], o[2], key}) - at(scores, o));
    open.f32()[u(((o[0] * 2 + o[1]) * 4 + o[2]) * 4 + o[3])] = static_cast<float>(1 / sum);
  }
  EXPECT_EQ(cause_at(plain, "Softmax", {&scores}, on_device(std::move(open))), "attention_mask_dropped");
}

TEST(AttentionStages, PastKeysAreNotInTheDump) {
  Rng rng(293);
  Case c = random_case(rng);
  std::vector<Operand> outputs{{.present = true, .spec = {DType::f32, {1}}}};
  const OneOp model = model_of({}, 3);
  const std::vector<Operand> inputs = OneOp::operands({&c.q, &c.k, &c.v});
  const auto stages = model.op().lower(
      {.inputs = inputs, .outputs = outputs, .dumped = [](std::string_view name) { return name == "QKPast"; }});
  EXPECT_FALSE(stages);
}

TEST(Attention, WhatIsNotComputedIsRefused) {
  Rng rng(294);
  const Tensor q = random_tensor(rng, {1, 2, 4, 3});
  const Tensor k = random_tensor(rng, {1, 5, 2, 3});
  const auto refused = [&](const std::vector<const Tensor*>& inputs, const std::string& what) {
    model_of({}, static_cast<int>(inputs.size())).expect_error(inputs, what);
  };
  const Tensor flat = random_tensor(rng, {1, 2, 12});
  refused({&flat, &k, &k}, "queries of rank 3");
  const Tensor odd = random_tensor(rng, {1, 5, 3, 3});
  refused({&q, &odd, &odd}, "four query heads on three key heads");
  const Tensor deep = random_tensor(rng, {1, 5, 2, 4});
  refused({&q, &deep, &deep}, "depths");
  const Tensor longer = random_tensor(rng, {1, 6, 2, 3});
  refused({&q, &k, &longer}, "keys and values");
  const Tensor none = Tensor::f32({1, 5, 0, 3});
  refused({&q, &none, &none}, "no key heads");
  const Tensor empty = Tensor::f32({1, 0, 2, 3});
  refused({&q, &empty, &empty}, "no keys");
  const Tensor ints = random_integers(rng, {1, 2, 4, 3}, 0, 3);
  refused({&ints, &k, &k}, "integers");
  refused({&q, &k}, "no values");
  const Tensor many = Tensor::f32({1, 1, 1 << 14, 1});
  const Tensor half_of_them = Tensor::f32({1, 1, 1 << 13, 1});
  refused({&many, &half_of_them, &half_of_them}, "heads beyond reason");
  const Tensor one_key = random_tensor(rng, {1, 1, 2, 3});
  refused({&q, &one_key, &one_key}, "a causal mask over fewer keys than queries");
  const Tensor wrong = random_tensor(rng, {2, 2});
  refused({&q, &k, &k, &wrong}, "a mask of the queries alone");
  const Tensor scalar = floats({}, {0});
  refused({&q, &k, &k, &scalar}, "a single value as mask");
  const Tensor mask_of_integers = random_integers(rng, {2, 5}, 0, 1);
  refused({&q, &k, &k, &mask_of_integers}, "a mask of integers");
  const Tensor mask = random_tensor(rng, {2, 5});
  refused({&q, &k, &k, &mask, &mask}, "sink logits");
  model_of({.packed = true}, 3).expect_error({&q, &k, &k}, "a packed output");
  model_of({.shared_layer = 2}, 3).expect_error({&q, &k, &k}, "another layer's keys");
  model_of({.scale = NAN}, 3).expect_error({&q, &k, &k}, "a scale that is no number");
}

}  // namespace
}  // namespace qnndbg::test
