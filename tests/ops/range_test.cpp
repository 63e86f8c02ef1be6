// Range against counting.
#include "ops/oracle.h"

namespace qnndbg::test {
namespace {

OneOp range() { return OneOp(wire::Kind_Range, 3); }

TEST(Range, CountsFromStartToLimit) {
  Rng rng(1300);
  for (int n = 0; n < 60; ++n) {
    const int start = pick(rng, -20, 20);
    const int limit = pick(rng, -20, 20);
    const int step = coin(rng) ? pick(rng, 1, 5) : pick(rng, -5, -1);
    std::vector<std::int32_t> expected;
    for (int v = start; step > 0 ? v < limit : v > limit; v += step) expected.push_back(v);
    const Tensor a = integers({}, {start});
    const Tensor b = integers({}, {limit});
    const Tensor c = integers({}, {step});
    const Tensor y = range().output({&a, &b, &c});
    ASSERT_EQ(y.type(), DType::i32);
    EXPECT_EQ(std::vector<std::int32_t>(y.i32().begin(), y.i32().end()), expected)
        << start << " " << limit << " " << step;
  }
}

TEST(Range, FloatsAndNonsense) {
  const Tensor zero = floats({}, {0});
  const Tensor one = floats({}, {1});
  const Tensor quarter = floats({}, {0.25F});
  expect_same(range().output({&zero, &one, &quarter}), floats({4}, {0, 0.25F, 0.5F, 0.75F}));
  range().expect_error({&zero, &one, &zero}, "step 0");
  const Tensor tiny = floats({}, {1e-30F});
  range().expect_error({&zero, &one, &tiny}, "absurdly many");
  range().expect_error({&zero, &one}, "no step");
  const Tensor two = floats({2}, {1, 2});
  range().expect_error({&zero, &two, &one}, "two limits");
}

}  // namespace
}  // namespace qnndbg::test
