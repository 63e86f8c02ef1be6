// Padding: every cell traced back to its source, and the mistakes that its output betrays.
#include "ops/counterfactual.h"

namespace qnndbg::test {
namespace {

constexpr int kLow = std::numeric_limits<int>::min();
constexpr int kHigh = std::numeric_limits<int>::max();

OneOp model_of(int mode, int operands = 2) {
  return OneOp(wire::Kind_Padding, operands, wire::OpParameter_PadParam,
               [mode](Builder& b) { return wire::CreatePadParam(b, static_cast<wire::PadKind>(mode)).Union(); });
}

/// Walks from the data outwards: the cell `steps` beyond an edge. -1: the fill value.
std::int64_t source(wire::PadKind mode, std::int64_t at, std::int64_t extent) {
  while (at < 0 || at >= extent) {
    if (mode == wire::PadKind_CONSTANT) return -1;
    const std::int64_t edge = at < 0 ? 0 : extent - 1;
    if (mode == wire::PadKind_EDGE) return edge;
    // A mirror stands on the edge cell (reflect) or on its outer side (symmetric).
    at = 2 * edge - at + (mode == wire::PadKind_SYMMETRIC ? (at < 0 ? -1 : 1) : 0);
  }
  return at;
}

void expect_padded(const Tensor& y, wire::PadKind mode, const Tensor& x, const Tensor& pads, double fill) {
  Dims out = x.dims();
  for (std::int64_t k = 0; k < x.rank(); ++k) out[u(k)] += pads.i32()[u(2 * k)] + pads.i32()[u(2 * k + 1)];
  expect_tensor(y, x.type(), out, [&](const Dims& o) {
    Dims from;
    for (std::size_t k = 0; k < o.size(); ++k) {
      from.push_back(source(mode, o[k] - pads.i32()[2 * k], x.dims()[k]));
      if (from.back() < 0) return Exact{fill, 0};
    }
    return Exact{at(x, from), 0};
  });
}

constexpr wire::PadKind kModes[] = {wire::PadKind_CONSTANT, wire::PadKind_REFLECT, wire::PadKind_SYMMETRIC,
                                    wire::PadKind_EDGE};

TEST(Padding, EveryModeOnRandomShapes) {
  Rng rng(200);
  for (wire::PadKind mode : kModes) {
    for (int n = 0; n < 40; ++n) {
      const Dims dims = random_dims(rng, pick(rng, 1, 4), 1, 4);
      const Tensor x = coin(rng) ? random_tensor(rng, dims) : random_integers(rng, dims, -99, 99);
      std::vector<std::int32_t> amounts;
      for (std::int64_t extent : dims) {
        const int most = mode == wire::PadKind_REFLECT     ? static_cast<int>(extent) - 1
                         : mode == wire::PadKind_SYMMETRIC ? static_cast<int>(extent)
                                                           : 5;
        for (int side = 0; side < 2; ++side) amounts.push_back(pick(rng, 0, most));
      }
      const Tensor pads = Tensor::of({amounts.begin(), amounts.end()});
      expect_padded(model_of(mode).output({&x, &pads}), mode, x, pads, 0);
      const Tensor fill = x.type() == DType::f32 ? floats({1}, {1.5F}) : integers({1}, {7});
      expect_padded(model_of(mode, 3).output({&x, &pads, &fill}), mode, x, pads, at(fill, {0}));
      if (HasFailure()) FAIL() << "mode " << mode << ", case " << n;
    }
  }
}

TEST(Padding, EmptyDataTakesAConstantAlone) {
  const Tensor x = Tensor::f32({0, 2});
  const Tensor pads = Tensor::of({1, 1, 0, 0});
  expect_padded(model_of(wire::PadKind_CONSTANT).output({&x, &pads}), wire::PadKind_CONSTANT, x, pads, 0);
  for (wire::PadKind mode : {wire::PadKind_REFLECT, wire::PadKind_SYMMETRIC, wire::PadKind_EDGE})
    model_of(mode).expect_error({&x, &pads}, "nothing to copy from");
}

TEST(Padding, AbsurdAmountsAreRefused) {
  Rng rng(201);
  const Tensor x = random_tensor(rng, {3, 4});
  for (int amount : {-1, kLow, kHigh}) {
    const Tensor pads = Tensor::of({0, amount, 0, 0});
    for (wire::PadKind mode : kModes) model_of(mode).expect_error({&x, &pads}, "amount " + std::to_string(amount));
  }
  const Tensor three = Tensor::of({0, 3, 0, 0});
  model_of(wire::PadKind_REFLECT).expect_error({&x, &three}, "a mirror beyond the data");
  const Tensor four = Tensor::of({4, 0, 0, 0});
  model_of(wire::PadKind_SYMMETRIC).expect_error({&x, &four}, "a mirror beyond the data");
  const Tensor few = Tensor::of({1, 1});
  model_of(wire::PadKind_CONSTANT).expect_error({&x, &few}, "one axis of two");
  model_of(wire::PadKind_CONSTANT).expect_error({&x}, "no amounts");
  model_of(wire::PadKind_CONSTANT).expect_error({&x, &x}, "amounts that are not integers");
  model_of(wire::PadKind_CONSTANT, 3).expect_error({&x, &three, &x}, "twelve fill values");
  for (int mode : {4, -1, 100}) model_of(mode).expect_error({&x, &three}, "mode " + std::to_string(mode));
}

// ---- What a device may have done instead

struct Case {
  Tensor x, pads, fill;

  std::vector<const Tensor*> inputs() const { return {&x, &pads, &fill}; }
};

Case some_case() {
  Rng rng(202);
  return {half_tensor(rng, {1, 3, 5, 6}), Tensor::of({0, 0, 0, 0, 1, 3, 2, 0}), floats({1}, {1.5F})};
}

TEST(PaddingMistakes, AnotherModeIsNamed) {
  const Case c = some_case();
  for (wire::PadKind meant : kModes) {
    for (wire::PadKind used : kModes) {
      const Tensor device = model_of(used, 2).output({&c.x, &c.pads});
      const Found found = cause_of(model_of(meant, 2), {&c.x, &c.pads}, device);
      EXPECT_EQ(found.cause, meant == used ? "right" : "pad_mode_wrong") << meant << " as " << used;
    }
  }
}

TEST(PaddingMistakes, TheFillValueIsNamed) {
  const Case c = some_case();
  const Found zero = cause_of(model_of(wire::PadKind_CONSTANT, 3), c.inputs(),
                              model_of(wire::PadKind_CONSTANT, 2).output({&c.x, &c.pads}));
  EXPECT_EQ(zero.cause, "pad_value_wrong");
  EXPECT_EQ(zero.used, "0");
  EXPECT_EQ(zero.meant, "1.5");
  const Tensor other = floats({1}, {-3});
  const Found minus = cause_of(model_of(wire::PadKind_CONSTANT, 3), c.inputs(),
                               model_of(wire::PadKind_CONSTANT, 3).output({&c.x, &c.pads, &other}));
  EXPECT_EQ(minus.cause, "pad_value_wrong");
  EXPECT_EQ(minus.used, "-3");
}

TEST(PaddingMistakes, TheOtherSideIsNamed) {
  const Case c = some_case();
  for (const std::vector<std::int32_t>& amounts : std::vector<std::vector<std::int32_t>>{
           {0, 0, 0, 0, 3, 1, 0, 2}, {0, 0, 0, 0, 4, 0, 2, 0}, {0, 0, 0, 0, 0, 4, 0, 2}, {0, 0, 0, 0, 2, 2, 1, 1}}) {
    const Tensor pads = Tensor::of(amounts);
    const Tensor device = model_of(wire::PadKind_CONSTANT, 3).output({&c.x, &pads, &c.fill});
    EXPECT_EQ(cause_of(model_of(wire::PadKind_CONSTANT, 3), c.inputs(), device).cause, "padding_side_wrong");
  }
}

TEST(PaddingMistakes, NoiseStaysUnexplained) {
  Rng rng(203);
  const Case c = some_case();
  const Tensor right = model_of(wire::PadKind_CONSTANT, 3).output(c.inputs());
  EXPECT_EQ(cause_of(model_of(wire::PadKind_CONSTANT, 3), c.inputs(), half_tensor(rng, right.dims())).cause,
            "unexplained");
}

}  // namespace
}  // namespace qnndbg::test
