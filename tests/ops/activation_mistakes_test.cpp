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

}  // namespace
}  // namespace qnndbg::test
