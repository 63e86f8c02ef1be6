// Mistakes with Pack and Unpack.
#include "ops/counterfactual.h"

namespace qnndbg::test {
namespace {

OneOp pack(int axis, int inputs) {
  return OneOp(wire::Kind_Pack, inputs, wire::OpParameter_PackParam, [axis](Builder& b) {
    wire::PackParamBuilder op(b);
    op.add_axis(axis);
    return op.Finish().Union();
  });
}

OneOp unpack(int axis, int outputs) {
  return OneOp(
      wire::Kind_Unpack, 1, wire::OpParameter_Axis,
      [axis](Builder& b) {
        wire::AxisBuilder op(b);
        op.add_axis(axis);
        return op.Finish().Union();
      },
      outputs);
}

TEST(PackMistakes, OrderRepetitionAndAxis) {
  Rng rng(1200);
  for (int axis = 0; axis < 3; ++axis) {
    const Tensor a = half_tensor(rng, {4, 5});
    const Tensor b = half_tensor(rng, {4, 5});
    const Tensor c = half_tensor(rng, {4, 5});
    const OneOp right = pack(axis, 3);
    const auto found = [&](Tensor device) { return cause_of(right, {&a, &b, &c}, on_device(std::move(device))); };
    EXPECT_EQ(found(right.output({&a, &b, &c})).cause, "right");
    EXPECT_EQ(found(right.output({&c, &b, &a})).cause, "operand_order_swapped");
    EXPECT_EQ(found(right.output({&a, &a, &c})).cause, "second_input_wrong");
    const Found other = found(pack((axis + 1) % 3, 3).output({&a, &b, &c}));
    EXPECT_EQ(other.cause, "concat_axis_wrong");
    EXPECT_EQ(other.used, std::to_string((axis + 1) % 3));
    EXPECT_EQ(found(right.output({&b, &c, &a})).cause, "unexplained");
  }
}

TEST(UnpackMistakes, OtherPartsAndAxes) {
  Rng rng(1201);
  const Tensor x = half_tensor(rng, {3, 4, 3});
  const OneOp right = unpack(0, 3);
  const std::vector<Stage> stages = right.stages({&x});
  ASSERT_EQ(stages.size(), 3U);
  auto parts = right.run({&x});
  auto columns = unpack(2, 3).run({&x});
  ASSERT_TRUE(parts && columns);
  EXPECT_EQ(cause_of(stages[1], {&x}, (*parts)[1]).cause, "right");
  EXPECT_EQ(cause_of(stages[1], {&x}, (*parts)[2]).cause, "slice_begin_wrong");
  EXPECT_EQ(cause_of(stages[1], {&x}, (*columns)[1]).parameter, "axis");
  Tensor mixed = (*parts)[1].clone();
  std::reverse(mixed.f32().begin(), mixed.f32().end());
  EXPECT_EQ(cause_of(stages[1], {&x}, mixed).cause, "unexplained");
}

}  // namespace
}  // namespace qnndbg::test
