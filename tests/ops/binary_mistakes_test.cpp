// Binary operators and Eltwise with a mistake in them, or none.
#include "ops/counterfactual.h"

namespace qnndbg::test {
namespace {

OneOp binary(wire::Bin op, int activation = 0) {
  return OneOp(wire::Kind_BinaryOp, 2, wire::OpParameter_BinaryOp,
               [=](Builder& b) { return wire::CreateBinaryOp(b, op, wire::DType_DT_FLOAT, activation).Union(); });
}

OneOp eltwise(wire::EltKind kind, int operands) {
  return OneOp(wire::Kind_Eltwise, operands, wire::OpParameter_Eltwise,
               [=](Builder& b) { return wire::CreateEltwiseDirect(b, kind, nullptr).Union(); });
}

/// The engine's answer on `right`; `constants` are the operands that are constants of the model.
Found found(const OneOp& right, const std::vector<const Tensor*>& inputs, const Tensor& device,
            const std::set<std::size_t>& constants = {}, const std::vector<const Tensor*>& peers = {}) {
  const std::vector<Stage> stages = stages_of(right, inputs, constants);
  if (stages.size() != 1) {
    ADD_FAILURE() << "one stage was expected";
    return {};
  }
  return cause_of(stages.front(), inputs, device, peers);
}

/// f over two tensors of one shape, as HTP rounds it.
template <class F>
Tensor combined(const Tensor& a, const Tensor& b, F f) {
  EXPECT_EQ(a.dims(), b.dims());
  Tensor y = Tensor::f32(a.dims());
  for (std::size_t i = 0; i < y.f32().size(); ++i) y.f32()[i] = f(a.f32()[i], b.f32()[i]);
  return on_device(std::move(y));
}

/// `values` along axis 1 of `dims`.
Tensor per_channel(const Dims& dims, const std::vector<float>& values) {
  Tensor y = Tensor::f32(dims);
  std::size_t i = 0;
  for (const Dims& index : indices_of(dims)) y.f32()[i++] = values[u(index[1])];
  return y;
}

struct Named {
  wire::Bin op;
  const char* node;
  bool commutative;
};
constexpr Named kOperations[] = {
    {wire::Bin_ADD, "ElementWiseAdd", true},         {wire::Bin_SUB, "ElementWiseSubtract", false},
    {wire::Bin_MUL, "ElementWiseMultiply", true},    {wire::Bin_REALDIV, "ElementWiseDivide", false},
    {wire::Bin_MAXIMUM, "ElementWiseMaximum", true}, {wire::Bin_MINIMUM, "ElementWiseMinimum", true},
    {wire::Bin_POW, "ElementWisePower", false},
};

TEST(BinaryMistakes, EveryOtherOperationIsNamed) {
  Rng rng(1000);
  const Tensor a = half_tensor(rng, {1, 3, 5, 7}, 0.5F, 2);
  const Tensor b = half_tensor(rng, {1, 3, 5, 7}, 0.5F, 2);
  for (const Named& right : kOperations) {
    const OneOp model = binary(right.op);
    for (const Named& wrong : kOperations) {
      const Found answer = found(model, {&a, &b}, on_device(binary(wrong.op), {&a, &b}));
      if (wrong.op == right.op) {
        EXPECT_EQ(answer.cause, "right") << right.node;
        continue;
      }
      EXPECT_EQ(answer.cause, "binary_op_wrong") << right.node << " as " << wrong.node;
      EXPECT_EQ(answer.used, wrong.node);
      EXPECT_EQ(answer.meant, right.node);
    }
  }
}

TEST(BinaryMistakes, AFunctionWithoutValuesProvesNothing) {
  // Negative numbers have no fractional powers: ElementWisePower is NaN everywhere, and cannot be what the device did.
  Rng rng(1015);
  const Tensor a = half_tensor(rng, {1, 3, 5, 7}, -4, -1);
  const Tensor b = half_tensor(rng, {1, 3, 5, 7}, 0.25F, 0.75F);
  const Tensor device = combined(a, b, [](float p, float q) { return p * q + 0.1F * p; });
  EXPECT_EQ(found(binary(wire::Bin_ADD), {&a, &b}, device).cause, "unexplained");
}

TEST(BinaryMistakes, RemaindersAndComparisonsMixedUp) {
  Rng rng(1001);
  const Tensor a = half_tensor(rng, {1, 3, 5, 7}, -9, 9);
  const Tensor b = half_tensor(rng, {1, 3, 5, 7}, 0.5F, 2);
  EXPECT_EQ(found(binary(wire::Bin_MOD), {&a, &b}, on_device(binary(wire::Bin_FLOORMOD), {&a, &b})).used,
            "ElementWiseFmod");
  Tensor greater = on_device(as_float(binary(wire::Bin_GREATER).output({&a, &b})));
  EXPECT_EQ(found(binary(wire::Bin_GREATER), {&a, &b}, greater).cause, "right");
  EXPECT_EQ(found(binary(wire::Bin_LESS), {&a, &b}, greater).used, "ElementWiseGreater");
  for (float& v : greater.f32()) v = 2;
  EXPECT_EQ(found(binary(wire::Bin_LESS), {&a, &b}, greater).cause, "unexplained");
}

TEST(BinaryMistakes, OperandsSwapped) {
  Rng rng(1002);
  const Tensor a = half_tensor(rng, {1, 3, 5, 7}, 0.5F, 2);
  const Tensor b = half_tensor(rng, {3, 1, 7}, 0.5F, 2);
  for (const Named& op : kOperations) {
    const Tensor swapped = on_device(binary(op.op), {&b, &a});
    EXPECT_EQ(found(binary(op.op), {&a, &b}, swapped).cause, op.commutative ? "right" : "operand_order_swapped")
        << op.node;
  }
}

TEST(BinaryMistakes, OneOperandTwice) {
  Rng rng(1003);
  const Tensor a = half_tensor(rng, {1, 3, 5, 7});
  const Tensor b = half_tensor(rng, {1, 3, 5, 7});
  const Tensor gate = half_tensor(rng, {1, 3, 1, 1});
  for (wire::Bin op : {wire::Bin_ADD, wire::Bin_MUL}) {
    const Found first = found(binary(op), {&a, &b}, on_device(binary(op), {&a, &a}));
    EXPECT_EQ(first.cause, "second_input_wrong");
    EXPECT_EQ(first.parameter, "second operand");
    EXPECT_EQ(first.used, "the first operand once more");
    const Found second = found(binary(op), {&a, &b}, on_device(binary(op), {&b, &b}));
    EXPECT_EQ(second.cause, "second_input_wrong");
    EXPECT_EQ(second.parameter, "first operand");
    EXPECT_EQ(found(binary(op), {&a, &gate}, on_device(binary(op), {&a, &a})).cause, "second_input_wrong");
  }
  // x / 0.5 is also x times four times the constant: what needs no fitted number stands alone.
  Tensor half = Tensor::f32({});
  half.f32()[0] = 0.5F;
  const Found plain = found(binary(wire::Bin_MUL), {&a, &half}, on_device(binary(wire::Bin_REALDIV), {&a, &half}), {1});
  EXPECT_EQ(plain.cause, "binary_op_wrong");
  EXPECT_EQ(plain.ties.size(), 1U);
}

TEST(BinaryMistakes, AnOperandLeftOut) {
  Rng rng(1004);
  const Tensor a = half_tensor(rng, {1, 3, 5, 7});
  const Tensor b = half_tensor(rng, {1, 3, 5, 7});
  for (wire::Bin op : {wire::Bin_ADD, wire::Bin_SUB, wire::Bin_MUL, wire::Bin_REALDIV}) {
    const Found passed = found(binary(op), {&a, &b}, on_device(a.clone()));
    EXPECT_EQ(passed.cause, "second_input_wrong") << op;
    EXPECT_EQ(passed.parameter, "second operand");
  }
  Tensor negative = on_device(b.clone());
  for (float& v : negative.f32()) v = -v;
  EXPECT_EQ(found(binary(wire::Bin_SUB), {&a, &b}, negative).parameter, "first operand");
}

TEST(BinaryMistakes, AnotherTensorOfTheRun) {
  Rng rng(1005);
  const Tensor a = half_tensor(rng, {1, 3, 5, 7});
  const Tensor gate = half_tensor(rng, {1, 3, 1, 1});
  const Tensor other_gate = half_tensor(rng, {1, 3, 1, 1});
  const Tensor other = half_tensor(rng, {1, 3, 5, 7});
  const Tensor third = half_tensor(rng, {1, 3, 5, 7});
  const OneOp model = binary(wire::Bin_MUL);
  const std::vector<const Tensor*> peers{&third, &other_gate, &other};
  for (const Tensor* read : {&other_gate, &other}) {
    const Found answer = found(model, {&a, &gate}, on_device(model, {&a, read}), {}, peers);
    EXPECT_EQ(answer.cause, "second_input_wrong");
    EXPECT_EQ(answer.parameter, "second operand");
    EXPECT_EQ(answer.used, "peer");
  }
  EXPECT_EQ(found(model, {&a, &gate}, on_device(model, {&other, &gate}), {}, peers).parameter, "first operand");
  EXPECT_EQ(found(model, {&a, &gate}, on_device(model, {&other, &other_gate}), {}, peers).cause, "unexplained");
}

TEST(BinaryMistakes, FusedRelu) {
  Rng rng(1006);
  const Tensor a = half_tensor(rng, {1, 3, 5, 7}, -6, 6);
  const Tensor b = half_tensor(rng, {1, 3, 5, 7}, -6, 6);
  const OneOp with = binary(wire::Bin_SUB, 1);
  const OneOp without = binary(wire::Bin_SUB);
  EXPECT_EQ(found(with, {&a, &b}, on_device(with, {&a, &b})).cause, "right");
  EXPECT_EQ(found(with, {&a, &b}, on_device(without, {&a, &b})).cause, "activation_dropped");
  EXPECT_EQ(found(without, {&a, &b}, on_device(with, {&a, &b})).cause, "activation_wrong");
  const Tensor clipped = combined(a, b, [](float p, float q) { return std::min(std::max(p - q, 0.0F), 6.0F); });
  EXPECT_EQ(found(with, {&a, &b}, clipped).used, "ReLU6");
  // Another mistake, the ReLU kept or not.
  EXPECT_EQ(found(with, {&a, &b}, on_device(with, {&b, &a})).cause, "operand_order_swapped");
  const Found both = found(with, {&a, &b}, on_device(binary(wire::Bin_ADD), {&a, &b}));
  EXPECT_EQ(both.cause, "binary_op_wrong");
  EXPECT_EQ(both.used, "ElementWiseAdd, and no ReLU");
}

/// A constant [C, 1, 1] with something done to its values.
struct Alteration {
  const char* what;
  void (*apply)(std::vector<float>&);
  const char* added;  // cause where the constant is added
  const char* multiplied;
};

constexpr Alteration kAlterations[] = {
    {"zeros", [](std::vector<float>& v) { std::fill(v.begin(), v.end(), 0.0F); }, "bias_dropped", nullptr},
    {"reversed", [](std::vector<float>& v) { std::reverse(v.begin(), v.end()); }, "bias_misordered",
     "weight_layout_wrong"},
    {"rolled", [](std::vector<float>& v) { std::rotate(v.begin(), v.end() - 3, v.end()); }, "bias_misordered",
     "weight_layout_wrong"},
    {"exchanged", [](std::vector<float>& v) { std::swap(v[2], v[5]); }, "bias_misordered", "weight_layout_wrong"},
    {"interleaved",
     [](std::vector<float>& v) {
       std::vector<float> even;
       std::vector<float> odd;
       for (std::size_t i = 0; i < v.size(); ++i) (i % 2 == 0 ? even : odd).push_back(v[i]);
       std::copy(odd.begin(), odd.end(), std::copy(even.begin(), even.end(), v.begin()));
     },
     "bias_misordered", "weight_layout_wrong"},
    {"scaled",
     [](std::vector<float>& v) {
       for (float& c : v) c *= 1.25F;
     },
     "bias_scale_wrong", "weight_scale_wrong"},
    {"scaled a little",
     [](std::vector<float>& v) {
       for (float& c : v) c *= 0.99F;
     },
     "bias_scale_wrong", "weight_scale_wrong"},
    {"one value off", [](std::vector<float>& v) { v[4] += 0.5F; }, "bias_differs", "weights_differ"},
};

TEST(BinaryMistakes, AlteredConstants) {
  Rng rng(1007);
  const Dims dims{1, 8, 6, 9};
  const Tensor x = half_tensor(rng, dims, 0.25F, 3);
  std::vector<float> values = random_floats(rng, 8, 0.5F, 2);
  round_to_half(values, HalfRounding::toward_zero, HalfKind::htp);
  const Tensor constant = floats({8, 1, 1}, values);
  for (const Alteration& alteration : kAlterations) {
    std::vector<float> altered = values;
    alteration.apply(altered);
    round_to_half(altered, HalfRounding::nearest, HalfKind::htp);
    const Tensor full = per_channel(dims, altered);
    for (const bool first : {false, true}) {
      const auto cause = [&](wire::Bin op) {
        const Tensor device = on_device(
            binary(op), first ? std::vector<const Tensor*>{&full, &x} : std::vector<const Tensor*>{&x, &full});
        return first ? found(binary(op), {&constant, &x}, device, {0}).cause
                     : found(binary(op), {&x, &constant}, device, {1}).cause;
      };
      EXPECT_EQ(cause(wire::Bin_ADD), alteration.added) << alteration.what << " first " << first;
      EXPECT_EQ(cause(wire::Bin_SUB), alteration.added) << alteration.what << " first " << first;
      if (alteration.multiplied == nullptr) continue;
      EXPECT_EQ(cause(wire::Bin_MUL), alteration.multiplied) << alteration.what << " first " << first;
      EXPECT_EQ(cause(wire::Bin_REALDIV), alteration.multiplied) << alteration.what << " first " << first;
    }
  }
}

TEST(BinaryMistakes, ScaledScalar) {
  Rng rng(1008);
  const Tensor x = half_tensor(rng, {1, 4, 6, 9});
  Tensor scalar = Tensor::f32({});
  scalar.f32()[0] = 3;
  Tensor device = on_device(x.clone());
  for (float& v : device.f32()) v = v + 1.5F;
  const Found answer = found(binary(wire::Bin_ADD), {&x, &scalar}, on_device(std::move(device)), {1});
  EXPECT_EQ(answer.cause, "bias_scale_wrong");
  EXPECT_EQ(answer.used, "times 0.5");
}

TEST(BinaryMistakes, OperandLaidAlongAnotherAxis) {
  Rng rng(1009);
  const Dims dims{1, 6, 6, 6};
  const Tensor x = half_tensor(rng, dims);
  const Tensor channel = half_tensor(rng, {1, 6, 1, 1});
  const Tensor image = half_tensor(rng, dims);
  const OneOp add = binary(wire::Bin_ADD);
  const auto device = [&](auto value) {
    Tensor y = Tensor::f32(dims);
    std::size_t i = 0;
    for (const Dims& o : indices_of(dims)) y.f32()[i++] = static_cast<float>(at(x, o) + value(o));
    return on_device(std::move(y));
  };
  const Tensor along_h = device([&](const Dims& o) { return at(channel, {0, o[2], 0, 0}); });
  const Tensor along_w = device([&](const Dims& o) { return at(channel, {0, o[3], 0, 0}); });
  const Tensor turned = device([&](const Dims& o) { return at(image, {0, o[2], o[3], o[1]}); });
  const Tensor squared = device([&](const Dims& o) { return at(channel, {0, o[1], 0, 0}) * at(x, o); });
  for (const Tensor* wrong : {&along_h, &along_w})
    EXPECT_EQ(found(add, {&x, &channel}, *wrong).cause, "flatten_layout_wrong");
  EXPECT_EQ(found(add, {&x, &image}, turned).cause, "flatten_layout_wrong");
  EXPECT_EQ(found(add, {&x, &channel}, squared).cause, "unexplained");
}

TEST(BinaryMistakes, ChannelConstantStepsAlongTheRows) {
  // HTP refuses [1, 10, 1, 1] beside NHWC [1, 9, 11, 10], and computes with its first nine values along H.
  Rng rng(1010);
  const Dims dims{1, 10, 9, 11};
  const Tensor x = half_tensor(rng, dims);
  const Tensor channel = half_tensor(rng, {1, 10, 1, 1});
  Tensor y = Tensor::f32(dims);
  std::size_t i = 0;
  for (const Dims& o : indices_of(dims)) y.f32()[i++] = static_cast<float>(at(x, o) - at(channel, {0, o[2], 0, 0}));
  EXPECT_EQ(found(binary(wire::Bin_SUB), {&x, &channel}, on_device(std::move(y)), {1}).cause, "flatten_layout_wrong");
}

TEST(BinaryMistakes, MemoryReadInTheOtherLayout) {
  Rng rng(1011);
  const Dims dims{1, 4, 3, 5};
  const Tensor x = half_tensor(rng, dims);
  const Tensor image = half_tensor(rng, dims);
  // NCHW memory under NHWC dims: the element at [h, w, c] of [3, 5, 4] in the order of the memory.
  Tensor read = Tensor::f32(dims);
  for (std::int64_t c = 0; c < 4; ++c) {
    for (std::int64_t p = 0; p < 15; ++p) read.f32()[u(c * 15 + p)] = image.f32()[u(p * 4 + c)];
  }
  const Tensor device = combined(x, read, [](float p, float q) { return p * q; });
  EXPECT_EQ(found(binary(wire::Bin_MUL), {&x, &image}, device).cause, "flatten_layout_wrong");
}

TEST(BinaryMistakes, HelperNodesOfAConstant) {
  Rng rng(1014);
  const Tensor x = half_tensor(rng, {1, 6, 5, 4});
  Tensor vector = half_tensor(rng, {6, 1, 1});
  const OneOp add = binary(wire::Bin_ADD);
  const std::vector<Stage> stages = stages_of(add, {&x, &vector}, {1}, {"stage_reshape", "stage_perm"});
  ASSERT_EQ(stages.size(), 3U);
  const auto cause = [&](auto change) {
    Tensor device = Tensor::f32({1, 6, 1, 1});
    std::copy(vector.f32().begin(), vector.f32().end(), device.f32().begin());
    change(device.f32());
    return cause_of(stages[0], {&vector}, device).cause;
  };
  using Span = std::span<float>;
  EXPECT_EQ(cause([](Span) {}), "right");
  EXPECT_EQ(cause([](Span v) { std::fill(v.begin(), v.end(), 0.0F); }), "bias_dropped");
  EXPECT_EQ(cause([](Span v) { std::rotate(v.begin(), v.begin() + 2, v.end()); }), "bias_misordered");
  EXPECT_EQ(cause([](Span v) { v[3] = 9; }), "bias_differs");
  // The node itself: what it reads from the helper is as dumped.
  Tensor permuted = Tensor::f32({1, 6, 1, 1});
  std::copy(vector.f32().begin(), vector.f32().end(), permuted.f32().begin());
  EXPECT_EQ(cause_of(stages[2], {&x, &permuted}, on_device(add, {&x, &permuted})).cause, "right");
  EXPECT_EQ(cause_of(stages[2], {&x, &permuted}, on_device(binary(wire::Bin_MUL), {&x, &permuted})).cause,
            "binary_op_wrong");

  Tensor scalar = Tensor::f32({});
  scalar.f32()[0] = 0.5F;
  const OneOp product = binary(wire::Bin_MUL);
  const std::vector<Stage> tiled = stages_of(product, {&x, &scalar}, {1}, {"stage_0", "stage_1"});
  ASSERT_EQ(tiled.size(), 3U);
  EXPECT_EQ(cause_of(tiled[0], {&scalar}, floats({1, 1, 1, 1}, {0.5F})).cause, "right");
  Tensor full = Tensor::f32(x.dims());
  std::fill(full.f32().begin(), full.f32().end(), 0.5F);
  EXPECT_EQ(cause_of(tiled[2], {&x, &full}, on_device(binary(wire::Bin_ADD), {&x, &full})).cause, "binary_op_wrong");
}

TEST(EltwiseMistakes, TwoOperands) {
  Rng rng(1012);
  const Tensor a = half_tensor(rng, {1, 3, 5, 7});
  const Tensor b = half_tensor(rng, {1, 3, 5, 7});
  const OneOp right = eltwise(wire::EltKind_SUB, 2);
  EXPECT_EQ(found(right, {&a, &b}, on_device(right, {&a, &b})).cause, "right");
  EXPECT_EQ(found(right, {&a, &b}, on_device(right, {&b, &a})).cause, "operand_order_swapped");
  EXPECT_EQ(found(right, {&a, &b}, on_device(eltwise(wire::EltKind_SUM, 2), {&a, &b})).cause, "binary_op_wrong");
  const OneOp sum = eltwise(wire::EltKind_SUM, 2);
  EXPECT_EQ(found(sum, {&a, &b}, on_device(sum, {&a, &a})).cause, "second_input_wrong");
  EXPECT_EQ(found(sum, {&a, &b}, combined(a, b, [](float p, float q) { return p + 0.5F * q; })).cause, "unexplained");
}

TEST(EltwiseMistakes, ThreeOperandsInANodeOfTwo) {
  Rng rng(1013);
  const Tensor a = half_tensor(rng, {1, 3, 5, 7});
  const Tensor b = half_tensor(rng, {1, 3, 5, 7});
  const Tensor c = half_tensor(rng, {1, 3, 5, 7});
  const OneOp right = eltwise(wire::EltKind_SUM, 3);
  const OneOp two = eltwise(wire::EltKind_SUM, 2);
  EXPECT_EQ(found(right, {&a, &b, &c}, on_device(right, {&a, &b, &c})).cause, "right");
  const Found first_two = found(right, {&a, &b, &c}, on_device(two, {&a, &b}));
  EXPECT_EQ(first_two.cause, "second_input_wrong");
  EXPECT_EQ(first_two.used, "the first two");
  EXPECT_EQ(first_two.ties.size(), 1U);
  EXPECT_EQ(found(right, {&a, &b, &c}, on_device(two, {&a, &c})).used, "all but number 1");
  EXPECT_EQ(found(right, {&a, &b, &c}, on_device(eltwise(wire::EltKind_PROD, 3), {&a, &b, &c})).cause,
            "binary_op_wrong");
  EXPECT_EQ(found(right, {&a, &b, &c}, on_device(eltwise(wire::EltKind_PROD, 2), {&a, &b})).cause, "unexplained");
}

}  // namespace
}  // namespace qnndbg::test
