// FloatToInt8 and Int8ToFloat: the identity on real values.
#include "oracle.h"

namespace qnndbg::test {
namespace {

TEST(Boundary, KeepsRealValues) {
  Rng rng(280);
  const Tensor x = random_tensor(rng, {1, 3, 4, 5});
  for (int kind : {wire::Kind_FloatToInt8, wire::Kind_Int8ToFloat}) {
    const OneOp model(kind, 1);
    expect_same(model.output({&x}), x);
    EXPECT_EQ(model.op().output_layout({}), Layout::channel_last);
    const std::vector<Stage> stages = model.stages({&x});
    ASSERT_EQ(stages.size(), 1U);
    EXPECT_EQ(stages[0].bound, kind == wire::Kind_FloatToInt8 ? "Quantize" : "Dequantize");
    const Tensor i = random_integers(rng, {3}, 0, 9);
    model.expect_error({&i}, "integers");
    model.expect_error({}, "no operands");
  }
}

TEST(Boundary, QuantizingThroughACast) {
  Rng rng(281);
  const Tensor x = random_tensor(rng, {1, 3, 4, 5});
  const OneOp model(wire::Kind_FloatToInt8, 1);
  expect_same(model.chained({&x}, {"Cast"}).at(0), x);
  EXPECT_EQ(model.stages({&x}, {"Cast"}).at(0).qnn_type, "Cast");
}

}  // namespace
}  // namespace qnndbg::test
