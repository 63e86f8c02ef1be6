// LayerNorm and Softmax against their formulas.
#include "ops/layer_norm_model.h"

namespace qnndbg::test {
namespace {

/// y at one element from all elements that share its statistics, in the order of gamma.
Exact normalized(const std::vector<double>& run, std::size_t place, const Norm& n) {
  double mean = 0;
  for (double v : run) mean += n.rms ? 0 : v / static_cast<double>(run.size());
  double variance = 0;
  for (double v : run) variance += (v - mean) * (v - mean) / static_cast<double>(run.size());
  const double y = (run[place] - mean) / std::sqrt(variance + n.epsilon);
  const double gamma = n.gamma.empty() ? 1 : n.gamma[place];
  const double beta = n.beta.empty() ? 0 : n.beta[place];
  return {y * gamma + beta, 2e-6 * (std::abs(y * gamma) + std::abs(beta) + 1)};
}

void expect_norm(const Tensor& y, const Norm& n, const Tensor& x, const std::vector<std::size_t>& axes) {
  Dims run_dims;
  for (std::size_t axis : axes) run_dims.push_back(x.dims()[axis]);
  const std::vector<Dims> places = indices_of(run_dims);
  expect_tensor(y, DType::f32, x.dims(), [&](const Dims& o) {
    std::vector<double> run;
    std::size_t own = 0;
    for (std::size_t p = 0; p < places.size(); ++p) {
      Dims index = o;
      for (std::size_t k = 0; k < axes.size(); ++k) index[axes[k]] = places[p][k];
      if (index == o) own = p;
      run.push_back(at(x, index));
    }
    return normalized(run, own, n);
  });
}

TEST(LayerNorm, EveryRunOfAxes) {
  Rng rng(40);
  for (int rank = 1; rank <= 4; ++rank) {
    for (int first = 0; first < rank; ++first) {
      for (int last = first; last < rank; ++last) {
        for (int variant = 0; variant < 4; ++variant) {
          const Tensor x = random_tensor(rng, random_dims(rng, rank));
          Norm n{.rms = (variant & 1) != 0};
          std::vector<std::size_t> axes;
          std::int64_t extent = 1;
          for (int axis = first; axis <= last; ++axis) {
            axes.push_back(u(axis));
            extent *= x.dims()[u(axis)];
            n.axes.push_back(coin(rng) ? axis : axis - rank);
          }
          std::shuffle(n.axes.begin(), n.axes.end(), rng);
          if ((variant & 2) != 0) n.gamma = random_floats(rng, extent), n.beta = random_floats(rng, extent);
          const OneOp model = model_of(n);
          const Tensor y = model.output({&x});
          expect_norm(y, n, x, axes);
          if (axes.size() == 1) {
            // With gamma, the swapped axis is the run itself: the stages must give the same.
            expect_same(model.chained({&x}, {"tempInput", "tempOutput"}).at(0), y, 1e-6);
          }
          if (HasFailure()) FAIL() << "rank " << rank << ", axes " << first << " to " << last;
        }
      }
    }
  }
}

TEST(LayerNorm, GroupsNormaliseTheirShareOfTheRest) {
  Rng rng(41);
  for (int n = 0; n < 30; ++n) {
    Norm norm{.group = pick(rng, 1, 3), .rms = coin(rng)};
    const std::int64_t share = pick(rng, 1, 3);
    const Tensor x = random_tensor(rng, {pick(rng, 1, 3), norm.group * share, pick(rng, 1, 4), pick(rng, 1, 4)});
    const std::int64_t rest = share * x.dims()[2] * x.dims()[3];
    if (coin(rng)) norm.gamma = random_floats(rng, rest), norm.beta = random_floats(rng, rest);
    Tensor grouped = x.clone();
    grouped.reshape({x.dims()[0], norm.group, rest});
    Tensor y = model_of(norm).output({&x});
    ASSERT_EQ(y.dims(), x.dims());
    y.reshape(grouped.dims());
    expect_norm(y, norm, grouped, {2});
  }
}

TEST(LayerNorm, AbsurdParametersAreRefused) {
  Rng rng(42);
  const Tensor x = random_tensor(rng, {2, 3, 4});
  model_of({.axes = {3}}).expect_error({&x}, "axis out of range");
  model_of({.axes = {-4}}).expect_error({&x}, "axis out of range");
  model_of({.axes = {0, 2}}).expect_error({&x}, "axes apart");
  model_of({.axes = {2}, .group = 0}).expect_error({&x}, "no group");
  model_of({.axes = {2}, .gamma = {1, 2, 3}, .beta = {1, 2, 3}}).expect_error({&x}, "gamma");
  model_of({.axes = {2}}).expect_error({}, "no operands");
  const Tensor ints = random_integers(rng, {2, 3}, 0, 3);
  model_of({.axes = {1}}).expect_error({&ints}, "integers");
  OneOp(wire::Kind_LayerNorm, 1).expect_error({&x}, "no parameters");
}

OneOp softmax_model(int axis) {
  return OneOp(wire::Kind_Softmax, 1, wire::OpParameter_Axis,
               [axis](Builder& b) { return wire::CreateAxis(b, axis).Union(); });
}

TEST(Softmax, EveryAxis) {
  Rng rng(43);
  for (int rank = 1; rank <= 4; ++rank) {
    for (int axis = 0; axis < rank; ++axis) {
      for (int n = 0; n < 4; ++n) {
        // Large logits: only the difference to the maximum may enter the exponential.
        const float reach = n % 2 == 0 ? 3.0F : 300.0F;
        const Tensor x = random_tensor(rng, random_dims(rng, rank, 1, 6), -reach, reach);
        const OneOp model = softmax_model(coin(rng) ? axis : axis - rank);
        const Tensor y = model.output({&x});
        expect_tensor(y, DType::f32, x.dims(), [&](const Dims& o) {
          double sum = 0;
          for (std::int64_t k = 0; k < x.dims()[u(axis)]; ++k) {
            Dims other = o;
            other[u(axis)] = k;
            sum += std::exp(at(x, other) - at(x, o));
          }
          return Exact{1 / sum, 5e-6};
        });
        expect_same(model.chained({&x}, {"stageInput", "stageOutput"}).at(0), y);
        if (HasFailure()) FAIL() << "rank " << rank << ", axis " << axis;
      }
    }
  }
}

TEST(Softmax, AxesThatDoNotExistAreRefused) {
  Rng rng(44);
  const Tensor x = random_tensor(rng, {2, 3});
  for (int axis : {2, -3, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()})
    softmax_model(axis).expect_error({&x}, "axis " + std::to_string(axis));
  const Tensor scalar = random_tensor(rng, {});
  softmax_model(0).expect_error({&scalar}, "scalar");
  const Tensor ints = random_integers(rng, {2, 3}, 0, 3);
  softmax_model(0).expect_error({&ints}, "integers");
  OneOp(wire::Kind_Softmax, 1).expect_error({&x}, "no parameters");
}

}  // namespace
}  // namespace qnndbg::test
