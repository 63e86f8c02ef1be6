// Reduction against a walk over the reduced elements.
#include "oracle.h"

namespace qnndbg::test {
namespace {

OneOp model_of(wire::Red kind, const std::vector<int>& axes, bool keep, int operands = 1) {
  return OneOp(wire::Kind_Reduction, operands, wire::OpParameter_ReductionParam, [=](Builder& b) {
    return wire::CreateReductionParamDirect(b, kind, axes.empty() ? nullptr : &axes, 0, keep).Union();
  });
}

constexpr wire::Red kKinds[] = {wire::Red_SUM, wire::Red_MEAN, wire::Red_MAXIMUM, wire::Red_MINIMUM, wire::Red_PROD};

/// Dims of the result, with or without the reduced ones.
Dims reduced_dims(const Dims& in, const std::set<int>& axes, bool keep) {
  Dims out;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (axes.count(static_cast<int>(k)) == 0) {
      out.push_back(in[k]);
    } else if (keep) {
      out.push_back(1);
    }
  }
  return out;
}

void expect_reduced(const Tensor& y, wire::Red kind, const Tensor& x, const std::set<int>& axes, bool keep) {
  const bool integer = x.type() == DType::i32;
  expect_tensor(y, x.type(), reduced_dims(x.dims(), axes, keep), [&](const Dims& o) {
    std::vector<double> values;
    for (const Dims& i : indices_of(x.dims())) {
      Dims to = i;
      for (int axis : axes) to[u(axis)] = 0;
      Dims kept;
      for (std::size_t k = 0; k < to.size(); ++k) {
        if (keep || axes.count(static_cast<int>(k)) == 0) kept.push_back(to[k]);
      }
      if (kept == o) values.push_back(at(x, i));
    }
    double sum = 0;
    double absolute = 0;
    double product = 1;
    for (double v : values) sum += v, absolute += std::abs(v), product *= v;
    switch (kind) {
      case wire::Red_SUM: return Exact{sum, integer ? 0 : 1e-6 * absolute};
      case wire::Red_MEAN: {
        const double mean = sum / static_cast<double>(values.size());
        return integer ? Exact{std::trunc(mean), 0} : Exact{mean, 1e-6 * absolute};
      }
      case wire::Red_MAXIMUM: return Exact{*std::max_element(values.begin(), values.end()), 0};
      case wire::Red_MINIMUM: return Exact{*std::min_element(values.begin(), values.end()), 0};
      default: return Exact{product, integer ? 0 : 1e-6 * std::abs(product)};
    }
  });
}

TEST(Reduction, EveryKindOverRandomAxes) {
  Rng rng(50);
  for (wire::Red kind : kKinds) {
    for (int n = 0; n < 40; ++n) {
      const int rank = pick(rng, 1, 4);
      std::set<int> axes;
      std::vector<int> listed;
      for (int axis = 0; axis < rank; ++axis) {
        if (!coin(rng)) continue;
        axes.insert(axis);
        listed.push_back(coin(rng) ? axis : axis - rank);
      }
      std::shuffle(listed.begin(), listed.end(), rng);
      // The order of integer means over several axes is told apart below.
      const bool integer = coin(rng) && !(kind == wire::Red_MEAN && listed.size() != 1);
      const Dims dims = random_dims(rng, rank, 1, 4);
      Tensor x = integer ? random_integers(rng, dims, -9, 9) : random_tensor(rng, dims);
      if (integer && kind == wire::Red_PROD) x = random_integers(rng, dims, -1, 1);
      const bool keep = coin(rng);
      const bool by_operand = coin(rng) && !listed.empty();
      const Tensor operand = Tensor::of({listed.begin(), listed.end()});
      std::vector<const Tensor*> inputs{&x};
      if (by_operand) inputs.push_back(&operand);
      const OneOp model = model_of(kind, by_operand ? std::vector<int>{} : listed, keep, by_operand ? 2 : 1);
      if (axes.empty()) {
        for (int axis = 0; axis < rank; ++axis) axes.insert(axis);  // no axes mean all of them
      }
      const Tensor y = model.output(inputs);
      expect_reduced(y, kind, x, axes, keep);
      if (axes.size() == 1 && rank >= 2 && *axes.begin() == rank - 1) {
        expect_same(model.chained(inputs, {"reduce_tin", "reduce_tout"}).at(0), y, 1e-6);
      }
      if (HasFailure()) FAIL() << "kind " << kind << ", case " << n;
    }
  }
}

TEST(Reduction, IntegerMeanDividesAxisByAxis) {
  const Tensor x = integers({2, 2}, {1, 2, 2, 2});  // columns: 3 / 2 = 1 and 4 / 2 = 2, then 3 / 2 = 1
  expect_tensor(model_of(wire::Red_MEAN, {0, 1}, false).output({&x}), DType::i32, {},
                [](const Dims&) { return Exact{1, 0}; });
  const Tensor negative = integers({2}, {-1, -2});
  expect_tensor(model_of(wire::Red_MEAN, {0}, false).output({&negative}), DType::i32, {},
                [](const Dims&) { return Exact{-1, 0}; });
}

TEST(Reduction, IntegersWrap) {
  constexpr int kHigh = std::numeric_limits<int>::max();
  constexpr int kLow = std::numeric_limits<int>::min();
  const Tensor x = Tensor::of({kHigh, 1, 1});
  expect_same(model_of(wire::Red_SUM, {0}, true).output({&x}), Tensor::of({kLow + 1}));
  const Tensor factors = Tensor::of({1 << 16, 1 << 15, 3});
  expect_same(model_of(wire::Red_PROD, {0}, true).output({&factors}), Tensor::of({kLow}));
  const Tensor ends = Tensor::of({kHigh, kLow, 0});
  expect_same(model_of(wire::Red_MAXIMUM, {0}, true).output({&ends}), Tensor::of({kHigh}));
  expect_same(model_of(wire::Red_MINIMUM, {0}, true).output({&ends}), Tensor::of({kLow}));
}

TEST(Reduction, AnyAndAllOfIntegers) {
  const Tensor x = integers({4, 2}, {0, 0, 3, 0, 0, -1, 2, 5});
  expect_same(model_of(wire::Red_ANY, {1}, false).output({&x}), Tensor::of({0, 1, 1, 1}));
  expect_same(model_of(wire::Red_ALL, {1}, false).output({&x}), Tensor::of({0, 0, 0, 1}));
  expect_same(model_of(wire::Red_ANY, {0, 1}, false).output({&x}), integers({}, {1}));
  expect_same(model_of(wire::Red_ALL, {0, 1}, false).output({&x}), integers({}, {0}));
}

TEST(Reduction, AxesNamedTwiceCountOnce) {
  Rng rng(51);
  const Tensor x = random_tensor(rng, {2, 3, 4});
  expect_reduced(model_of(wire::Red_SUM, {1, -2, 1}, true).output({&x}), wire::Red_SUM, x, {1}, true);
}

TEST(Reduction, AbsurdParametersAreRefused) {
  Rng rng(52);
  const Tensor x = random_tensor(rng, {2, 3});
  for (int axis : {2, -3, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()})
    model_of(wire::Red_SUM, {axis}, true).expect_error({&x}, "axis " + std::to_string(axis));
  for (int kind : {1, 2, 7, 8, 100})  // ASUM, SUMSQ, ANY and ALL of floats, and none at all
    model_of(static_cast<wire::Red>(kind), {0}, true).expect_error({&x}, "kind " + std::to_string(kind));
  const Tensor empty = Tensor::f32({2, 0});
  model_of(wire::Red_MEAN, {1}, true).expect_error({&empty}, "an empty axis");
  const Tensor axes = random_tensor(rng, {1});
  model_of(wire::Red_SUM, {}, true).expect_error({&x, &axes}, "axes that are not integers");
  OneOp(wire::Kind_Reduction, 1).expect_error({&x}, "no parameters");
}

}  // namespace
}  // namespace qnndbg::test
