// Softmax, Reduction and Cast with a mistake in them, or none.
#include "ops/counterfactual.h"
#include "ops/support/activation.h"
#include "ops/support/data_movement.h"

namespace qnndbg::test {
namespace {

OneOp softmax(int axis) {
  return OneOp(wire::Kind_Softmax, 1, wire::OpParameter_Axis,
               [axis](Builder& b) { return wire::CreateAxis(b, axis).Union(); });
}

OneOp reduction(wire::Red kind, const std::vector<int>& axes, bool keep = true) {
  return OneOp(wire::Kind_Reduction, 1, wire::OpParameter_ReductionParam,
               [=](Builder& b) { return wire::CreateReductionParamDirect(b, kind, &axes, 0, keep).Union(); });
}

OneOp cast(wire::DType to) {
  return OneOp(wire::Kind_Cast, 1, wire::OpParameter_CastParam,
               [to](Builder& b) { return wire::CreateCastParam(b, wire::DType_DT_INVALID, to).Union(); });
}

TEST(SoftmaxMistakes, AnotherAxis) {
  Rng rng(1400);
  const Tensor x = half_tensor(rng, {2, 3, 4, 5}, -4, 4);
  for (int right = 0; right < 4; ++right) {
    for (int wrong = 0; wrong < 4; ++wrong) {
      const Found answer = cause_of(softmax(right), {&x}, on_device(softmax(wrong), {&x}));
      EXPECT_EQ(answer.cause, right == wrong ? "right" : "softmax_axis_wrong");
      EXPECT_EQ(answer.used, right == wrong ? "" : std::to_string(wrong));
    }
  }
  // Axes 1 to 3 as one.
  const Tensor flat = reshaped(x, {2, 60});
  const Tensor device = reshaped(on_device(softmax(1), {&flat}), x.dims());
  EXPECT_EQ(cause_of(softmax(3), {&x}, device).used, "all from 1 on, as one");
}

TEST(SoftmaxMistakes, MissingOrAnotherFunction) {
  Rng rng(1401);
  const Tensor x = half_tensor(rng, {2, 3, 4, 5}, -4, 4);
  const OneOp model = softmax(3);
  const auto answer = [&](auto f) {
    Tensor device = x.clone();
    for (float& v : device.f32()) v = f(v);
    return cause_of(model, {&x}, on_device(std::move(device)));
  };
  EXPECT_EQ(answer([](float v) { return v; }).cause, "activation_dropped");
  EXPECT_EQ(answer(sigmoid).used, "Sigmoid");
  EXPECT_EQ(answer([](float v) { return v * v / 16; }).cause, "unexplained");
  Tensor log = model.output({&x});
  for (float& v : log.f32()) v = std::log(v);
  EXPECT_EQ(cause_of(model, {&x}, on_device(std::move(log))).used, "LogSoftmax");
}

TEST(SoftmaxMistakes, Beta) {
  Rng rng(1402);
  const Tensor x = half_tensor(rng, {2, 3, 4, 5}, -2, 2);
  const auto scaled = [&](float beta) {
    Tensor t = x.clone();
    for (float& v : t.f32()) v *= beta;
    return on_device(softmax(1), {&t});
  };
  for (const float beta : {0.5F, 2.0F, 4.0F}) {
    const Found answer = cause_of(softmax(1), {&x}, scaled(beta));
    EXPECT_EQ(answer.cause, "activation_slope_wrong");
    EXPECT_EQ(answer.parameter, "beta");
    EXPECT_EQ(answer.used, fmt::format("{:g}", beta));
  }
}

TEST(SoftmaxMistakes, NodeBetweenTransposes) {
  Rng rng(1403);
  const Tensor x = half_tensor(rng, {2, 3, 4, 5}, -4, 4);
  const OneOp model = softmax(1);
  const std::vector<Stage> stages = stages_of(model, {&x}, {}, {"stageInput", "stageOutput"});
  ASSERT_EQ(stages.size(), 3U);
  const Tensor swapped = permute(x, {0, 3, 2, 1});
  EXPECT_EQ(cause_of(stages[1], {&swapped}, on_device(softmax(3), {&swapped})).cause, "right");
  EXPECT_EQ(cause_of(stages[1], {&swapped}, on_device(softmax(1), {&swapped})).cause, "softmax_axis_wrong");
}

struct Kind {
  wire::Red kind;
  const char* node;
};
constexpr Kind kKinds[] = {{wire::Red_SUM, "ReduceSum"},
                           {wire::Red_MEAN, "ReduceMean"},
                           {wire::Red_MAXIMUM, "ReduceMax"},
                           {wire::Red_MINIMUM, "ReduceMin"},
                           {wire::Red_PROD, "ReduceProd"}};

TEST(ReductionMistakes, EveryOtherKindIsNamed) {
  Rng rng(1404);
  const Tensor x = half_tensor(rng, {2, 3, 4, 5}, 0.5F, 1.5F);
  for (const std::vector<int>& axes : {std::vector<int>{1}, {3}, {2, 3}}) {
    for (const bool keep : {false, true}) {
      for (const Kind& right : kKinds) {
        for (const Kind& wrong : kKinds) {
          const Found answer =
              cause_of(reduction(right.kind, axes, keep), {&x}, on_device(reduction(wrong.kind, axes, keep), {&x}));
          EXPECT_EQ(answer.cause, right.kind == wrong.kind ? "right" : "reduce_op_wrong") << right.node << wrong.node;
          EXPECT_EQ(answer.used, right.kind == wrong.kind ? "" : wrong.node);
        }
      }
    }
  }
}

TEST(ReductionMistakes, OtherAxes) {
  Rng rng(1405);
  const Tensor x = half_tensor(rng, {1, 4, 4, 4});
  for (const Kind& kind : kKinds) {
    for (int wrong = 1; wrong < 4; ++wrong) {
      const Tensor device = reshaped(on_device(reduction(kind.kind, {wrong}), {&x}), {1, 4, 1, 4});
      const Found answer = cause_of(reduction(kind.kind, {2}), {&x}, device);
      EXPECT_EQ(answer.cause, wrong == 2 ? "right" : "reduce_axis_wrong") << kind.node;
      EXPECT_EQ(answer.used, wrong == 2 ? "" : fmt::format("{{{}}}", wrong));
    }
  }
  const Tensor pairs = reshaped(on_device(reduction(wire::Red_MEAN, {1, 2}), {&x}), {1, 4, 1, 1});
  EXPECT_EQ(cause_of(reduction(wire::Red_MEAN, {2, 3}), {&x}, pairs).used, "{1, 2}");
  Tensor other = on_device(reduction(wire::Red_MEAN, {2}), {&x});
  for (float& v : other.f32()) v *= 1.5F;
  EXPECT_EQ(cause_of(reduction(wire::Red_MEAN, {2}), {&x}, other).cause, "unexplained");
}

TEST(ReductionMistakes, ModelAxesOnChannelLastMemory) {
  // Mean over axis 1 of [1, 4, 4, 4], taken over axis 1 of the NHWC tensor: over H, stored as [W, C].
  Rng rng(1406);
  const Tensor x = half_tensor(rng, {1, 4, 4, 4});
  Tensor read = Tensor::f32({1, 1, 4, 4});
  for (std::int64_t w = 0; w < 4; ++w) {
    for (std::int64_t c = 0; c < 4; ++c) {
      double sum = 0;
      for (std::int64_t h = 0; h < 4; ++h) sum += at(x, {0, c, h, w});
      read.f32()[u(w * 4 + c)] = static_cast<float>(sum / 4);
    }
  }
  const OneOp model = reduction(wire::Red_MEAN, {1});
  const std::vector<Stage> stages = stages_of(model, {&x}, {}, {}, Layout::channel_last);
  ASSERT_EQ(stages.size(), 1U);
  const Found answer = cause_of(stages[0], {&x}, on_device(std::move(read)));
  EXPECT_EQ(answer.cause, "reduce_axis_wrong");
  EXPECT_EQ(answer.used, "{1} of the channel-last tensor");
  EXPECT_EQ(cause_of(stages[0], {&x}, on_device(model, {&x})).cause, "right");
}

TEST(CastMistakes, FloatToInteger) {
  Rng rng(1407);
  Tensor x = half_tensor(rng, {1, 3, 9, 7}, -300, 300);
  x.f32()[0] = 2.5F;  // to the even neighbour or away from zero
  const OneOp model = cast(wire::DType_DT_INT32);
  const auto used = [&](float (*f)(float)) {
    Tensor device = x.clone();
    for (float& v : device.f32()) v = f(v);
    const Found answer = cause_of(model, {&x}, device);
    EXPECT_TRUE(answer.cause == "cast_wrong" || answer.used.empty());
    return answer.cause == "cast_wrong" ? answer.used : answer.cause;
  };
  EXPECT_EQ(used([](float v) { return std::trunc(v); }), "right");
  EXPECT_EQ(used([](float v) { return v; }), "the value as it is");
  EXPECT_EQ(used([](float v) { return std::nearbyint(v); }), "to nearest");
  EXPECT_EQ(used([](float v) { return std::round(v); }), "to nearest, halves away from zero");
  EXPECT_EQ(used([](float v) { return std::floor(v); }), "down");
  EXPECT_EQ(used([](float v) { return std::min(127.0F, std::max(-128.0F, std::trunc(v))); }), "saturated to int8");
  EXPECT_EQ(used([](float v) { return std::min(255.0F, std::max(0.0F, std::trunc(v))); }), "saturated to uint8");
  EXPECT_EQ(used([](float v) { return v == 0 ? 0.0F : 1.0F; }), "as a truth value");
  EXPECT_EQ(used([](float v) { return std::trunc(v / 2); }), "unexplained");
}

TEST(CastMistakes, TruthValuesLeftAsNumbers) {
  Rng rng(1408);
  const Tensor x = half_tensor(rng, {1, 3, 9, 7}, -4, 4);
  const OneOp model = cast(wire::DType_DT_BOOL);
  EXPECT_EQ(cause_of(model, {&x}, cast(wire::DType_DT_INT32).output({&x})).used, "toward zero");
  EXPECT_EQ(cause_of(model, {&x}, model.output({&x})).cause, "right");
}

TEST(CastMistakes, FractionThatSurvivesTwoCasts) {
  Rng rng(1409);
  const Tensor source = half_tensor(rng, {1, 3, 9, 7}, -4, 4);
  const Tensor other = half_tensor(rng, {1, 3, 9, 7}, -4, 4);
  const Tensor integers = cast(wire::DType_DT_INT32).output({&source});
  const OneOp back = cast(wire::DType_DT_FLOAT);
  const Found answer = cause_of(back, {&integers}, source, {&other, &source});
  EXPECT_EQ(answer.cause, "cast_wrong");
  EXPECT_EQ(answer.used, "peer, its fraction kept");
  EXPECT_EQ(cause_of(back, {&integers}, other, {&other, &source}).cause, "unexplained");
  EXPECT_EQ(cause_of(back, {&integers}, back.output({&integers}), {&source}).cause, "right");
}

}  // namespace
}  // namespace qnndbg::test
