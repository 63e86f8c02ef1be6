// Concatenations with a mistake in them, or none.
#include "ops/counterfactual.h"
#include "ops/support/data_movement.h"
#include "tensor/layout.h"

namespace qnndbg::test {
namespace {

OneOp concat(int axis, int operands) {
  return OneOp(wire::Kind_Concat, operands, wire::OpParameter_Axis,
               [axis](Builder& b) { return wire::CreateAxis(b, axis).Union(); });
}

Found found(const OneOp& right, const std::vector<const Tensor*>& inputs, const Tensor& device,
            const std::vector<const Tensor*>& peers = {}, Layout layout = Layout::logical) {
  const std::vector<Stage> stages = stages_of(right, inputs, {}, {}, layout);
  if (stages.size() != 1) {
    ADD_FAILURE() << "one stage was expected";
    return {};
  }
  return cause_of(stages.front(), inputs, device, peers);
}

TEST(ConcatMistakes, InputsInAnotherOrder) {
  Rng rng(1100);
  for (int axis = 0; axis < 4; ++axis) {
    std::vector<Tensor> parts;
    for (std::int64_t extent : {2, 3, 3, 5}) {
      Dims dims{2, 3, 4, 5};
      dims[u(axis)] = extent;
      parts.push_back(half_tensor(rng, dims));
    }
    const std::vector<const Tensor*> inputs{&parts[0], &parts[1], &parts[2], &parts[3]};
    const OneOp model = concat(axis, 4);
    const auto in_order = [&](std::vector<std::size_t> order) {
      std::vector<const Tensor*> other;
      for (std::size_t k : order) other.push_back(inputs[k]);
      return found(model, inputs, model.output(other));
    };
    EXPECT_EQ(in_order({0, 1, 2, 3}).cause, "right");
    EXPECT_EQ(in_order({1, 0, 2, 3}).cause, "operand_order_swapped");
    EXPECT_EQ(in_order({1, 0, 2, 3}).used, "inputs 0 and 1 exchanged");
    EXPECT_EQ(in_order({3, 1, 2, 0}).used, "inputs 0 and 3 exchanged");
    EXPECT_EQ(in_order({1, 2, 3, 0}).used, "the first input last");
    EXPECT_EQ(in_order({3, 0, 1, 2}).used, "the last input first");
    EXPECT_EQ(in_order({3, 2, 1, 0}).used, "reversed");
  }
}

TEST(ConcatMistakes, AnInputReplaced) {
  Rng rng(1101);
  const Tensor a = half_tensor(rng, {1, 3, 4, 5});
  const Tensor b = half_tensor(rng, {1, 3, 4, 5});
  const Tensor other = half_tensor(rng, {1, 3, 4, 5});
  const Tensor zeros = floats({1, 3, 4, 5}, std::vector<float>(60, 0.0F));
  const OneOp model = concat(1, 2);
  const Found twice = found(model, {&a, &b}, model.output({&a, &a}));
  EXPECT_EQ(twice.cause, "second_input_wrong");
  EXPECT_EQ(twice.parameter, "input 1");
  EXPECT_EQ(twice.used, "input 0 once more");
  EXPECT_EQ(found(model, {&a, &b}, model.output({&b, &b})).parameter, "input 0");
  EXPECT_EQ(found(model, {&a, &b}, model.output({&a, &zeros})).used, "zeros");
  const Found peer = found(model, {&a, &b}, model.output({&a, &other}), {&other});
  EXPECT_EQ(peer.cause, "second_input_wrong");
  EXPECT_EQ(peer.used, "peer");
  EXPECT_EQ(found(model, {&a, &b}, model.output({&a, &other})).cause, "unexplained");
}

TEST(ConcatMistakes, AnotherAxis) {
  Rng rng(1102);
  const Tensor a = half_tensor(rng, {1, 3, 4, 5});
  const Tensor b = half_tensor(rng, {1, 3, 4, 5});
  const OneOp model = concat(1, 2);
  // Along W, the memory read under the dims of a concatenation along C.
  const Tensor along_w = reshaped(concat(3, 2).output({&a, &b}), {1, 6, 4, 5});
  EXPECT_EQ(found(model, {&a, &b}, along_w).cause, "concat_axis_wrong");
  EXPECT_EQ(found(model, {&a, &b}, along_w).used, "3 of the device's tensor");
  // The model's axis number on NHWC memory: along H.
  Tensor stored = Tensor::f32({1, 8, 5, 3});
  for (const Dims& o : indices_of({1, 8, 5, 3}))
    stored.f32()[u((o[1] * 5 + o[2]) * 3 + o[3])] = static_cast<float>(at(o[1] < 4 ? a : b, {0, o[3], o[1] % 4, o[2]}));
  Tensor read = Tensor::f32({1, 6, 4, 5});
  to_logical_order(stored.f32(), {1, 6, 4, 5}, Layout::channel_last, read.f32());
  EXPECT_EQ(found(model, {&a, &b}, read, {}, Layout::channel_last).cause, "concat_axis_wrong");
  EXPECT_EQ(found(model, {&a, &b}, model.output({&a, &b}), {}, Layout::channel_last).cause, "right");
}

TEST(ConcatMistakes, LayoutsMixedUp) {
  Rng rng(1103);
  const Tensor a = half_tensor(rng, {1, 3, 4, 5});
  const Tensor b = half_tensor(rng, {1, 3, 4, 5});
  const OneOp model = concat(2, 2);
  const auto misread = [](const Tensor& t) {
    Tensor read = Tensor::f32(t.dims());
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t p = 0; p < 20; ++p) read.f32()[u(c * 20 + p)] = t.f32()[u(p * 3 + c)];
    }
    return read;
  };
  const Tensor wrong_a = misread(a);
  const Tensor wrong_b = misread(b);
  const Found one = found(model, {&a, &b}, model.output({&a, &wrong_b}));
  EXPECT_EQ(one.cause, "flatten_layout_wrong");
  EXPECT_EQ(one.parameter, "layout of input 1");
  EXPECT_EQ(found(model, {&a, &b}, model.output({&wrong_a, &wrong_b})).parameter, "layout of the inputs");
  EXPECT_EQ(found(model, {&a, &b}, model.output({&wrong_b, &wrong_a})).cause, "unexplained");
}

}  // namespace
}  // namespace qnndbg::test
