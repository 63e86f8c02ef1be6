// Tile and BroadcastTo: the source of every element of the larger tensor.
#include "oracle.h"

namespace qnndbg::test {
namespace {

constexpr int kLow = std::numeric_limits<int>::min();
constexpr int kHigh = std::numeric_limits<int>::max();

Tensor any_tensor(Rng& rng, const Dims& dims) {
  return coin(rng) ? random_tensor(rng, dims) : random_integers(rng, dims, -99, 99);
}

TEST(Tile, RepeatsTheWhole) {
  Rng rng(230);
  const OneOp model(wire::Kind_Tile, 2);
  for (int n = 0; n < 60; ++n) {
    const Tensor x = any_tensor(rng, random_dims(rng, pick(rng, 1, 4), 1, 3));
    std::vector<std::int32_t> counts;
    Dims out = x.dims();
    for (std::int64_t& extent : out) {
      counts.push_back(pick(rng, n % 10 == 0 ? 0 : 1, 3));
      extent *= counts.back();
    }
    const Tensor operand = Tensor::of(counts);
    expect_moved(model.output({&x, &operand}), x, out, [&](Dims o) {
      for (std::size_t k = 0; k < o.size(); ++k) o[k] %= x.dims()[k];
      return o;
    });
    if (HasFailure()) FAIL() << "case " << n;
  }
  const Tensor nothing = Tensor::f32({0, 2});
  const Tensor twice = Tensor::of({2, 2});
  EXPECT_EQ(to_string(model.output({&nothing, &twice}).dims()), to_string({0, 4}));
}

TEST(Tile, AbsurdCountsAreRefused) {
  Rng rng(231);
  const Tensor x = random_tensor(rng, {2, 3});
  const OneOp model(wire::Kind_Tile, 2);
  for (const std::vector<std::int32_t>& counts :
       std::vector<std::vector<std::int32_t>>{{2}, {1, 1, 1}, {-1, 1}, {1, kLow}, {kHigh, kHigh}, {1, kHigh}}) {
    const Tensor operand = Tensor::of(counts);
    model.expect_error({&x, &operand}, ::testing::PrintToString(counts));
  }
  model.expect_error({&x, &x}, "counts that are not integers");
  model.expect_error({&x}, "no counts");
}

TEST(BroadcastTo, RepeatsAxesOfExtentOne) {
  Rng rng(232);
  const OneOp model(wire::Kind_BroadcastTo, 2);
  for (int n = 0; n < 60; ++n) {
    const Dims out = random_dims(rng, pick(rng, 1, 5), 1, 4);
    Dims in = out;
    for (std::int64_t& extent : in) extent = coin(rng) ? 1 : extent;
    in.erase(in.begin(), in.begin() + pick(rng, 0, static_cast<int>(in.size())));
    const Tensor x = any_tensor(rng, in);
    std::vector<std::int32_t> shape(out.begin(), out.end());
    // A wanted extent of 1 keeps what is there.
    for (std::size_t k = 0; k < shape.size(); ++k) {
      const std::size_t missing = out.size() - in.size();
      if (k >= missing && in[k - missing] == out[k] && coin(rng)) shape[k] = 1;
    }
    const Tensor operand = Tensor::of(shape);
    expect_moved(model.output({&x, &operand}), x, out, [&](const Dims& o) {
      Dims from(o.end() - x.rank(), o.end());
      for (std::size_t k = 0; k < from.size(); ++k) from[k] = in[k] == 1 ? 0 : from[k];
      return from;
    });
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(BroadcastTo, ImpossibleShapesAreRefused) {
  Rng rng(233);
  const Tensor x = random_tensor(rng, {2, 1});
  const OneOp model(wire::Kind_BroadcastTo, 2);
  for (const std::vector<std::int32_t>& shape :
       std::vector<std::vector<std::int32_t>>{{3, 1}, {2, -1}, {kLow}, {kHigh, 2, kHigh}, {kHigh, 2, 1}}) {
    const Tensor operand = Tensor::of(shape);
    model.expect_error({&x, &operand}, ::testing::PrintToString(shape));
  }
  model.expect_error({&x, &x}, "a shape of floats");
  model.expect_error({&x}, "no shape");
  const Tensor shape = Tensor::of({2, 3});
  const auto from_axis = [](int axis) {
    return OneOp(wire::Kind_BroadcastTo, 2, wire::OpParameter_Axis,
                 [axis](Builder& b) { return wire::CreateAxis(b, axis).Union(); });
  };
  EXPECT_EQ(to_string(from_axis(0).output({&x, &shape}).dims()), to_string({2, 3}));
  for (int axis : {1, -1, kLow}) from_axis(axis).expect_error({&x, &shape}, "a broadcast from an axis");
}

}  // namespace
}  // namespace qnndbg::test
