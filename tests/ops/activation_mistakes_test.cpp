// Activation functions exchanged, dropped, or right.
#include "ops/counterfactual.h"
#include "ops/support/activation.h"

namespace qnndbg::test {
namespace {

OneOp unary(wire::Un type) {
  return OneOp(wire::Kind_UnaryOp, 1, wire::OpParameter_UnaryOp, [type](Builder& b) {
    wire::UnaryOpBuilder op(b);
    op.add_opType(type);
    return op.Finish().Union();
  });
}

OneOp relu() {
  return OneOp(wire::Kind_ReLU, 1, wire::OpParameter_Relu, [](Builder& b) {
    wire::ReluBuilder op(b);
    return op.Finish().Union();
  });
}

OneOp leaky(float slope) {
  return OneOp(wire::Kind_ReLU, 1, wire::OpParameter_Relu, [slope](Builder& b) {
    wire::ReluBuilder op(b);
    op.add_slope(slope);
    return op.Finish().Union();
  });
}

OneOp clip(float low, float high) {
  return OneOp(wire::Kind_ReLU6, 1, wire::OpParameter_Relu6, [low, high](Builder& b) {
    wire::Relu6Builder op(b);
    op.add_minValue(low);
    op.add_maxValue(high);
    return op.Finish().Union();
  });
}

OneOp elu(float alpha) {
  return OneOp(wire::Kind_ELU, 1, wire::OpParameter_ELU, [alpha](Builder& b) {
    wire::ELUBuilder op(b);
    op.add_alpha(alpha);
    return op.Finish().Union();
  });
}

OneOp prelu(const std::vector<float>& slopes) {
  return OneOp(wire::Kind_PReLU, 1, wire::OpParameter_PRelu, [slopes](Builder& b) {
    const auto values = b.CreateVector(slopes);
    wire::PReluBuilder op(b);
    op.add_slope(values);
    return op.Finish().Union();
  });
}

TEST(ActivationMistakes, EveryOtherFunctionIsNamed) {
  Rng rng(900);
  const Tensor x = half_tensor(rng, {1, 3, 9, 7}, -8, 8);
  const OneOp right = unary(wire::Un_HARDSWISH);
  EXPECT_EQ(cause_of(right, {&x}, on_device(right, {&x})).cause, "right");
  for (const Activation& other : known_activations()) {
    if (other.name == "HardSwish") continue;
    Tensor device = x.clone();
    for (float& v : device.f32()) v = other.f(v);
    const Found found = cause_of(right, {&x}, on_device(std::move(device)));
    EXPECT_EQ(found.cause, other.name == "none" ? "activation_dropped" : "activation_wrong") << other.name;
    EXPECT_EQ(found.used, other.name);
    EXPECT_EQ(found.meant, "HardSwish");
  }
}

TEST(ActivationMistakes, AnUnknownFunctionStaysUnexplained) {
  Rng rng(901);
  const Tensor x = half_tensor(rng, {1, 3, 9, 7}, -8, 8);
  Tensor device = x.clone();
  for (float& v : device.f32()) v = v * v * v / 64;
  const Tensor rounded = on_device(std::move(device));
  EXPECT_EQ(cause_of(unary(wire::Un_HARDSWISH), {&x}, rounded).cause, "unexplained");
  EXPECT_EQ(cause_of(relu(), {&x}, rounded).cause, "unexplained");
}

TEST(ActivationMistakes, ReluReplacedByItsNeighbours) {
  Rng rng(902);
  const Tensor x = half_tensor(rng, {1, 3, 9, 7}, -9, 9);
  EXPECT_EQ(cause_of(relu(), {&x}, on_device(relu(), {&x})).cause, "right");
  EXPECT_EQ(cause_of(relu(), {&x}, x).cause, "activation_dropped");
  EXPECT_EQ(cause_of(relu(), {&x}, on_device(unary(wire::Un_SIGMOID), {&x})).used, "Sigmoid");
}

TEST(ActivationMistakes, OperatorsOfTheirOwn) {
  Rng rng(906);
  const Tensor x = half_tensor(rng, {1, 3, 9, 7}, -4, 4);
  const Tensor tanh = on_device(unary(wire::Un_TANH), {&x});
  for (int kind : {wire::Kind_Sigmoid, wire::Kind_AbsVal}) {
    const OneOp right(kind, 1);
    EXPECT_EQ(cause_of(right, {&x}, on_device(right, {&x})).cause, "right");
    EXPECT_EQ(cause_of(right, {&x}, tanh).used, "Tanh");
    EXPECT_EQ(cause_of(right, {&x}, x).cause, "activation_dropped");
  }
  const OneOp selu(wire::Kind_Selu, 1, wire::OpParameter_Selu, [](Builder& b) {
    wire::SeluBuilder op(b);
    op.add_scale(1.0507F);
    op.add_alpha(1.6733F);
    return op.Finish().Union();
  });
  EXPECT_EQ(cause_of(selu, {&x}, on_device(selu, {&x})).cause, "right");
  EXPECT_EQ(cause_of(selu, {&x}, tanh).used, "Tanh");
}

TEST(ActivationMistakes, SlopesBelowZero) {
  Rng rng(903);
  const Tensor x = half_tensor(rng, {1, 3, 9, 7}, -6, 6);
  for (float meant : {0.0F, 0.1F, 0.25F}) {
    for (float used : {0.01F, 0.1F, 0.2F, 0.3F}) {
      const Found found = cause_of(leaky(meant), {&x}, on_device(leaky(used), {&x}));
      EXPECT_EQ(found.cause, meant == used ? "right" : "activation_slope_wrong") << meant << " " << used;
    }
  }
  EXPECT_EQ(cause_of(leaky(0.1F), {&x}, on_device(relu(), {&x})).used, "ReLU");
  for (float used : {0.5F, 1.0F, 1.5F}) {
    const Found found = cause_of(elu(1), {&x}, on_device(elu(used), {&x}));
    EXPECT_EQ(found.cause, used == 1 ? "right" : "activation_slope_wrong") << used;
  }
}

TEST(ActivationMistakes, ClipLimits) {
  Rng rng(904);
  const Tensor x = half_tensor(rng, {1, 3, 9, 7}, -9, 9);
  EXPECT_EQ(cause_of(clip(0, 6), {&x}, on_device(clip(0, 6), {&x})).cause, "right");
  EXPECT_EQ(cause_of(clip(0, 6), {&x}, on_device(clip(0, 0.5F), {&x})).cause, "clip_range_wrong");
  EXPECT_EQ(cause_of(clip(0, 6), {&x}, on_device(clip(-1, 6), {&x})).used, "-1");
  EXPECT_EQ(cause_of(clip(0, 6), {&x}, on_device(clip(-1, 1), {&x})).used, "-1 and 1");
  EXPECT_EQ(cause_of(clip(0, 6), {&x}, on_device(relu(), {&x})).cause, "activation_wrong");
  EXPECT_EQ(cause_of(clip(0, 6), {&x}, x).cause, "activation_dropped");
}

TEST(ActivationMistakes, SlopesPerChannel) {
  Rng rng(905);
  const Tensor x = half_tensor(rng, {1, 4, 9, 7}, -6, 6);
  const std::vector<float> slopes{0.1F, 0.25F, 0.6F, -0.3F};
  const auto cause = [&](std::vector<float> used) {
    return cause_of(prelu(slopes), {&x}, on_device(prelu(used), {&x}));
  };
  EXPECT_EQ(cause(slopes).cause, "right");
  EXPECT_EQ(cause({0.25F, 0.6F, -0.3F, 0.1F}).used, "rolled by -1");
  EXPECT_EQ(cause({0.1F, 0.1F, 0.1F, 0.1F}).used, "the first slope everywhere");
  EXPECT_EQ(cause({0.2F, 0.5F, 1.2F, -0.6F}).used, "x 2");
  EXPECT_EQ(cause({0.1F, 0.25F, 0.7F, -0.3F}).cause, "activation_slope_wrong");
  EXPECT_EQ(cause({0, 0, 0, 0}).used, "ReLU");
}

}  // namespace
}  // namespace qnndbg::test
