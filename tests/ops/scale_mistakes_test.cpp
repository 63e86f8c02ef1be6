// Scale (two nodes: a product and a sum) with a mistake in it, or none.
#include "ops/counterfactual.h"

namespace qnndbg::test {
namespace {

using Values = std::vector<float>;

OneOp scale(const Values& factors, const Values& bias) {
  return OneOp(wire::Kind_Scale, 1, wire::OpParameter_Scale, [=](Builder& b) {
    return wire::CreateScaleDirect(b, static_cast<int>(factors.size()), &factors, &bias).Union();
  });
}

struct Change {
  const char* what;
  void (*apply)(Values&);
  const char* of_scale;
  const char* of_bias;
};

constexpr Change kChanges[] = {
    {"reversed", [](Values& v) { std::reverse(v.begin(), v.end()); }, "weight_layout_wrong", "bias_misordered"},
    {"rolled", [](Values& v) { std::rotate(v.begin(), v.end() - 1, v.end()); }, "weight_layout_wrong",
     "bias_misordered"},
    {"exchanged", [](Values& v) { std::swap(v[0], v[4]); }, "weight_layout_wrong", "bias_misordered"},
    {"scaled",
     [](Values& v) {
       for (float& c : v) c *= 1.25F;
     },
     "weight_scale_wrong", "bias_scale_wrong"},
    {"one value off", [](Values& v) { v[3] += 0.75F; }, "weights_differ", "bias_differs"},
};

class ScaleMistakes : public ::testing::Test {
 protected:
  Rng rng{1200};
  Tensor x = half_tensor(rng, {2, 6, 5, 4});
  Values factors = random_floats(rng, 6, 0.5F, 2);
  Values bias = random_floats(rng, 6, -2, 2);
  OneOp model = scale(factors, bias);

  static Tensor product(const Tensor& x, Values factors) {
    round_to_half(factors, HalfRounding::toward_zero, HalfKind::htp);
    Tensor y = x.clone();
    for (std::size_t i = 0; i < y.f32().size(); ++i) y.f32()[i] *= factors[i / 20 % 6];
    return on_device(std::move(y));
  }
  static Tensor sum(const Tensor& x, Values bias) {
    round_to_half(bias, HalfRounding::toward_zero, HalfKind::htp);
    Tensor y = x.clone();
    for (std::size_t i = 0; i < y.f32().size(); ++i) y.f32()[i] += bias[i / 20 % 6];
    return on_device(std::move(y));
  }

  /// The answer on one of the two nodes, both dumped.
  Found of_node(std::size_t node, const Tensor& from, const Tensor& device) {
    const std::vector<Stage> stages = stages_of(model, {&x}, {}, {"Stage"});
    EXPECT_EQ(stages.size(), 2U);
    return cause_of(stages[node], {&from}, device);
  }
  /// The answer where only the sum is dumped.
  Found of_both(const Tensor& device) { return cause_of(model, {&x}, device); }
};

TEST_F(ScaleMistakes, NothingIsClaimedOfASoundRun) {
  const Tensor scaled = product(x, factors);
  EXPECT_EQ(of_node(0, x, scaled).cause, "right");
  EXPECT_EQ(of_node(1, scaled, sum(scaled, bias)).cause, "right");
  EXPECT_EQ(of_both(sum(scaled, bias)).cause, "right");
}

TEST_F(ScaleMistakes, ConstantsAltered) {
  const Tensor scaled = product(x, factors);
  for (const Change& change : kChanges) {
    Values other_factors = factors;
    change.apply(other_factors);
    Values other_bias = bias;
    change.apply(other_bias);
    const Tensor wrong_product = product(x, other_factors);
    EXPECT_EQ(of_node(0, x, wrong_product).cause, change.of_scale) << change.what;
    EXPECT_EQ(of_both(sum(wrong_product, bias)).cause, change.of_scale) << change.what;
    EXPECT_EQ(of_node(1, scaled, sum(scaled, other_bias)).cause, change.of_bias) << change.what;
    EXPECT_EQ(of_both(sum(scaled, other_bias)).cause, change.of_bias) << change.what;
  }
  EXPECT_EQ(of_node(1, scaled, scaled).cause, "bias_dropped");
  EXPECT_EQ(of_both(scaled).cause, "bias_dropped");
}

TEST_F(ScaleMistakes, NodesOfAnotherType) {
  const Tensor scaled = product(x, factors);
  const Found sum_for_product = of_node(0, x, sum(x, factors));
  EXPECT_EQ(sum_for_product.cause, "binary_op_wrong");
  EXPECT_EQ(sum_for_product.used, "ElementWiseAdd");
  EXPECT_EQ(of_node(1, scaled, product(scaled, bias)).cause, "binary_op_wrong");
  EXPECT_EQ(of_both(sum(sum(x, factors), bias)).cause, "binary_op_wrong");
  EXPECT_EQ(of_both(product(scaled, bias)).cause, "binary_op_wrong");
}

TEST_F(ScaleMistakes, ConstantAlongTheRows) {
  // NHWC is what the node expects: a tensor in the model's order is scaled along W.
  const Tensor square = half_tensor(rng, {1, 6, 5, 6});
  Values rounded = factors;
  round_to_half(rounded, HalfRounding::toward_zero, HalfKind::htp);
  Tensor device = square.clone();
  for (std::size_t i = 0; i < device.f32().size(); ++i) device.f32()[i] *= rounded[i % 6];
  const std::vector<Stage> stages = stages_of(model, {&square}, {}, {"Stage"});
  EXPECT_EQ(cause_of(stages[0], {&square}, on_device(std::move(device))).cause, "flatten_layout_wrong");
}

}  // namespace
}  // namespace qnndbg::test
