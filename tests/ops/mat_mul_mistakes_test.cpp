// Matrix products with a mistake in them, or none.
#include "ops/counterfactual.h"
#include "ops/support/data_movement.h"

namespace qnndbg::test {
namespace {

OneOp product(bool transpose_a, bool transpose_b, int operands = 2) {
  return OneOp(wire::Kind_MatMul, operands, wire::OpParameter_MatMul, [=](Builder& b) {
    return wire::CreateMatMul(b, wire::DType_DT_FLOAT, transpose_a, transpose_b).Union();
  });
}

Found found(const OneOp& right, const std::vector<const Tensor*>& inputs, const Tensor& device,
            const std::set<std::size_t>& constants = {}, const std::vector<const Tensor*>& peers = {}) {
  const std::vector<Stage> stages = stages_of(right, inputs, constants);
  if (stages.size() != 1) {
    ADD_FAILURE() << "one stage was expected";
    return {};
  }
  return cause_of(stages.front(), inputs, device, peers);
}

TEST(MatMulMistakes, TransposesOfSquareMatrices) {
  Rng rng(1300);
  const Tensor a = half_tensor(rng, {2, 6, 6});
  const Tensor b = half_tensor(rng, {2, 6, 6});
  for (int right = 0; right < 4; ++right) {
    const OneOp model = product((right & 2) != 0, (right & 1) != 0);
    for (int wrong = 0; wrong < 4; ++wrong) {
      const Found answer = found(model, {&a, &b}, on_device(product((wrong & 2) != 0, (wrong & 1) != 0), {&a, &b}));
      EXPECT_EQ(answer.cause, right == wrong ? "right" : "matmul_transpose_wrong");
      if (right == wrong) continue;
      EXPECT_EQ(answer.used, fmt::format("{}, {}", (wrong & 2) != 0, (wrong & 1) != 0));
    }
  }
}

TEST(MatMulMistakes, DataLeftAsItLies) {
  // The dims were set to the transposed ones, the data was not moved.
  Rng rng(1301);
  const Tensor a = half_tensor(rng, {2, 5, 4});
  const Tensor b = half_tensor(rng, {2, 7, 4});
  const OneOp model = product(false, true);
  const Tensor unmoved = reshaped(b, {2, 4, 7});
  const Found answer = found(model, {&a, &b}, on_device(product(false, false), {&a, &unmoved}));
  EXPECT_EQ(answer.cause, "matmul_transpose_wrong");
  EXPECT_EQ(answer.parameter, "transpose_in1");
  const Tensor unmoved_a = reshaped(a, {2, 4, 5});
  EXPECT_EQ(found(model, {&a, &b}, on_device(product(true, true), {&unmoved_a, &b})).parameter, "transpose_in0");
}

TEST(MatMulMistakes, OperandsExchangedOrTwice) {
  Rng rng(1302);
  const Tensor a = half_tensor(rng, {3, 6, 6});
  const Tensor b = half_tensor(rng, {3, 6, 6});
  const Tensor other = half_tensor(rng, {3, 6, 6});
  for (const bool transpose_b : {false, true}) {
    const OneOp model = product(false, transpose_b);
    EXPECT_EQ(found(model, {&a, &b}, on_device(model, {&b, &a})).cause, "operand_order_swapped");
    const Found first = found(model, {&a, &b}, on_device(model, {&a, &a}));
    EXPECT_EQ(first.cause, "second_input_wrong");
    EXPECT_EQ(first.parameter, "second operand");
    EXPECT_EQ(found(model, {&a, &b}, on_device(model, {&b, &b})).parameter, "first operand");
    EXPECT_EQ(found(model, {&a, &b}, on_device(model, {&a, &other}), {}, {&other}).used, "peer");
    EXPECT_EQ(found(model, {&a, &b}, on_device(model, {&a, &other})).cause, "unexplained");
  }
  EXPECT_EQ(found(product(false, true), {&a, &b}, on_device(product(true, false), {&b, &a})).parameter,
            "order of the operands and their flags");
}

TEST(MatMulMistakes, BiasAltered) {
  Rng rng(1303);
  const Tensor a = half_tensor(rng, {9, 5});
  const Tensor b = half_tensor(rng, {5, 8});
  Tensor bias = half_tensor(rng, {8});
  const OneOp model = product(false, false, 3);
  const auto cause = [&](auto change) {
    Tensor other = bias.clone();
    change(other.f32());
    return found(model, {&a, &b, &bias}, on_device(model, {&a, &b, &other}), {1, 2}).cause;
  };
  using Span = std::span<float>;
  EXPECT_EQ(cause([](Span) {}), "right");
  EXPECT_EQ(cause([](Span v) { std::fill(v.begin(), v.end(), 0.0F); }), "bias_dropped");
  EXPECT_EQ(cause([](Span v) { std::reverse(v.begin(), v.end()); }), "bias_misordered");
  EXPECT_EQ(cause([](Span v) { std::rotate(v.begin(), v.begin() + 3, v.end()); }), "bias_misordered");
  EXPECT_EQ(cause([](Span v) { std::swap(v[1], v[6]); }), "bias_misordered");
  EXPECT_EQ(cause([](Span v) {
              for (float& c : v) c *= 0.5F;
            }),
            "bias_scale_wrong");
  EXPECT_EQ(cause([](Span v) { v[2] += 0.25F; }), "bias_differs");
}

TEST(MatMulMistakes, ConstantWeightsAltered) {
  Rng rng(1304);
  const Tensor a = half_tensor(rng, {9, 5});
  const Tensor b = half_tensor(rng, {5, 8});
  const Tensor bias = half_tensor(rng, {8});
  const OneOp model = product(false, false, 3);
  const auto cause = [&](const std::set<std::size_t>& constants, auto change) {
    Tensor other = b.clone();
    change(other.f32());
    return found(model, {&a, &b, &bias}, on_device(model, {&a, &other, &bias}), constants).cause;
  };
  using Span = std::span<float>;
  const auto reverse = [](Span v) { std::reverse(v.begin(), v.end()); };
  const auto halve = [](Span v) {
    for (float& c : v) c *= 0.5F;
  };
  EXPECT_EQ(cause({1, 2}, reverse), "weight_layout_wrong");
  EXPECT_EQ(cause({1, 2}, [](Span v) { std::rotate(v.begin(), v.end() - 1, v.end()); }), "weight_layout_wrong");
  EXPECT_EQ(cause({1, 2}, halve), "weight_scale_wrong");
  EXPECT_EQ(cause({2}, reverse), "unexplained") << "a tensor of the device has no weights to mix up";
  EXPECT_EQ(cause({1, 2}, [](Span v) { v[7] += 1; }), "unexplained");
}

}  // namespace
}  // namespace qnndbg::test
