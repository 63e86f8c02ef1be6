// CumSum against the sum written out for every element.
#include "oracle.h"

namespace qnndbg::test {
namespace {

constexpr int kLow = std::numeric_limits<int>::min();
constexpr int kHigh = std::numeric_limits<int>::max();

OneOp model_of(bool exclusive, bool reverse) {
  return OneOp(wire::Kind_CumSum, 2, wire::OpParameter_CumSum,
               [=](Builder& b) { return wire::CreateCumSum(b, exclusive, reverse).Union(); });
}

TEST(CumSum, EveryForm) {
  Rng rng(260);
  for (int n = 0; n < 60; ++n) {
    const int rank = pick(rng, 1, 4);
    const int axis = pick(rng, 0, rank - 1);
    const Dims dims = random_dims(rng, rank, 1, 5);
    const Tensor x = coin(rng) ? random_tensor(rng, dims) : random_integers(rng, dims, -99, 99);
    const bool exclusive = coin(rng);
    const bool reverse = coin(rng);
    const Tensor along = Tensor::of({coin(rng) ? axis : axis - rank});
    expect_tensor(model_of(exclusive, reverse).output({&x, &along}), x.type(), dims, [&](Dims o) {
      const std::int64_t own = o[u(axis)];
      double sum = 0;
      double absolute = 0;
      for (std::int64_t k = 0; k < dims[u(axis)]; ++k) {
        if (reverse ? k < own : k > own) continue;
        if (exclusive && k == own) continue;
        o[u(axis)] = k;
        sum += at(x, o);
        absolute += std::abs(at(x, o));
      }
      return Exact{sum, x.type() == DType::f32 ? 1e-6 * absolute : 0};
    });
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(CumSum, IntegersWrap) {
  const Tensor x = Tensor::of({kHigh, 1, 1});
  const Tensor zero = Tensor::of({0});
  expect_same(model_of(false, false).output({&x, &zero}), Tensor::of({kHigh, kLow, kLow + 1}));
}

TEST(CumSum, AxesThatDoNotExistAreRefused) {
  Rng rng(261);
  const Tensor x = random_tensor(rng, {2, 3});
  for (int axis : {2, -3, kLow, kHigh}) {
    const Tensor along = Tensor::of({axis});
    model_of(false, false).expect_error({&x, &along}, "axis " + std::to_string(axis));
  }
  const Tensor scalar = floats({}, {1});
  const Tensor zero = Tensor::of({0});
  model_of(false, false).expect_error({&scalar, &zero}, "a scalar");
  model_of(false, false).expect_error({&x, &x}, "an axis that is no integer");
}

}  // namespace
}  // namespace qnndbg::test
