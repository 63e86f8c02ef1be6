// Pooling nodes with another kind, divisor, padding, stride, or with their last windows wrong.
#include "ops/counterfactual.h"

namespace qnndbg::test {
namespace {

struct Pool {
  bool average = true;
  wire::AvgCount count = wire::AvgCount_EXCLUDE_PADDING;
  bool ceil = false;
  int kernel_h = 3, kernel_w = 3, stride_h = 1, stride_w = 1;
  std::vector<int> pads = {1, 1, 1, 1};  // top, left, bottom, right
};

OneOp model_of(const Pool& p) {
  return OneOp(wire::Kind_Pooling, 1, wire::OpParameter_Pool, [p](Builder& b) {
    const auto pads = b.CreateVector(p.pads);
    wire::PoolBuilder pool(b);
    pool.add_type(p.average ? wire::PoolKind_AVEPOOL : wire::PoolKind_MAXPOOL);
    pool.add_countType(p.count);
    pool.add_ceilModel(p.ceil);
    pool.add_kernelX(p.kernel_w);
    pool.add_kernelY(p.kernel_h);
    pool.add_strideX(p.stride_w);
    pool.add_strideY(p.stride_h);
    pool.add_pads(pads);
    return pool.Finish().Union();
  });
}

OneOp global(bool average) {
  return OneOp(wire::Kind_Pooling3D, 1, wire::OpParameter_Pool3D, [=](Builder& b) {
    wire::Pool3DBuilder pool(b);
    pool.add_type(average ? wire::PoolKind_AVEPOOL : wire::PoolKind_MAXPOOL);
    pool.add_isGlobal(true);
    return pool.Finish().Union();
  });
}

/// Whether the window of an output sticks out beyond the padded input.
bool sticks_out(const Pool& p, const Dims& in, const Dims& index) {
  return index[2] * p.stride_h - p.pads[0] + p.kernel_h > in[2] + p.pads[2] ||
         index[3] * p.stride_w - p.pads[1] + p.kernel_w > in[3] + p.pads[3];
}

/// The right output, with f(value, index) in place of the outputs of windows that stick out.
template <class F>
Tensor at_the_end(const Pool& p, const Tensor& x, F f) {
  Tensor y = model_of(p).output({&x});
  std::size_t i = 0;
  for (const Dims& index : indices_of(y.dims())) {
    if (sticks_out(p, x.dims(), index)) y.f32()[i] = f(y.f32()[i], index);
    ++i;
  }
  return on_device(std::move(y));
}

TEST(PoolingMistakes, AverageAndMaximumExchanged) {
  Rng rng(1);
  for (int n = 0; n < 20; ++n) {
    Pool p{.average = coin(rng), .kernel_h = pick(rng, 2, 4), .kernel_w = pick(rng, 2, 4)};
    p.stride_h = p.stride_w = pick(rng, 1, 2);
    const Tensor x = half_tensor(rng, {1, pick(rng, 1, 3), pick(rng, 6, 11), pick(rng, 6, 11)});
    Pool other = p;
    other.average = !p.average;
    other.count = coin(rng) ? wire::AvgCount_INCLUDE_PADDING : wire::AvgCount_EXCLUDE_PADDING;
    const Found found = cause_of(model_of(p), {&x}, on_device(model_of(other), {&x}));
    EXPECT_EQ(found.cause, "pool_type_wrong");
    EXPECT_EQ(found.used, p.average ? "PoolMax2d" : "PoolAvg2d");
    EXPECT_EQ(found.ties.size(), 1u);
  }
}

TEST(PoolingMistakes, GlobalPoolsExchanged) {
  Rng rng(2);
  for (bool average : {false, true}) {
    const Tensor x = half_tensor(rng, {2, 8, 5, 7});
    EXPECT_EQ(cause_of(global(average), {&x}, on_device(global(!average), {&x})).cause, "pool_type_wrong");
    EXPECT_EQ(cause_of(global(average), {&x}, on_device(global(average), {&x})).cause, "right");
    const Tensor noise = half_tensor(rng, {2, 8, 1, 1});
    EXPECT_EQ(cause_of(global(average), {&x}, noise).cause, "unexplained");
  }
}

TEST(PoolingMistakes, ImpreciseGlobalMeanIsNoMistakeOfAParameter) {
  // Beyond the bound of a mean over the plane, but within that of a windowed average.
  Rng rng(12);
  const Tensor x = half_tensor(rng, {1, 8, 5, 7}, 1, 2);
  Tensor y = on_device(global(true), {&x});
  for (float& v : y.f32()) v *= 1 + 3 * 0x1p-11F;
  EXPECT_EQ(cause_of(global(true), {&x}, y).cause, "unexplained");
}

TEST(PoolingMistakes, DivisorCountsPaddingOrIgnoresIt) {
  Rng rng(3);
  for (int n = 0; n < 20; ++n) {
    const bool include = coin(rng);
    Pool p{.count = include ? wire::AvgCount_INCLUDE_PADDING : wire::AvgCount_EXCLUDE_PADDING,
           .ceil = coin(rng),
           .stride_h = pick(rng, 1, 2),
           .stride_w = pick(rng, 1, 2)};
    const Tensor x = half_tensor(rng, {1, 3, pick(rng, 5, 11), pick(rng, 5, 11)});
    Pool other = p;
    other.count = include ? wire::AvgCount_EXCLUDE_PADDING : wire::AvgCount_INCLUDE_PADDING;
    const Found found = cause_of(model_of(p), {&x}, on_device(model_of(other), {&x}));
    EXPECT_EQ(found.cause, "avgpool_count_pad_wrong");
    EXPECT_EQ(found.used, include ? "cells inside the input" : "cells inside the padded input");
  }
}

TEST(PoolingMistakes, LastWindowsOfCeilMode) {
  Rng rng(4);
  for (int n = 0; n < 30; ++n) {
    Pool p{.ceil = true, .kernel_h = pick(rng, 2, 3), .kernel_w = pick(rng, 2, 3), .stride_h = 2, .stride_w = 2};
    if (coin(rng)) p.pads = {0, 0, 0, 0};
    const Tensor x = half_tensor(rng, {1, 4, pick(rng, 9, 14), pick(rng, 9, 14)});
    bool any = false;
    const Tensor zero = at_the_end(p, x, [&](float v, const Dims&) {
      any = any || v != 0;  // a window that lies in the padding alone is 0 anyway
      return 0.0F;
    });
    if (!any) continue;
    Found found = cause_of(model_of(p), {&x}, zero);
    EXPECT_EQ(found.cause, "avgpool_ceil_edge_row_zero");
    EXPECT_EQ(found.used.substr(0, 9), "0 in the ");

    // The right sum, divided by all cells of the window: those inside the input are counted here.
    const Tensor fraction = at_the_end(p, x, [&](float v, const Dims& o) {
      const auto cells = [](std::int64_t begin, int kernel, std::int64_t in) {
        return std::min<std::int64_t>(in, begin + kernel) - std::max<std::int64_t>(0, begin);
      };
      const std::int64_t inside =
          cells(o[2] * 2 - p.pads[0], p.kernel_h, x.dims()[2]) * cells(o[3] * 2 - p.pads[1], p.kernel_w, x.dims()[3]);
      return v * static_cast<float>(inside) / static_cast<float>(p.kernel_h * p.kernel_w);
    });
    if (p.pads[0] == 0) {
      found = cause_of(model_of(p), {&x}, fraction);
      EXPECT_EQ(found.cause, "avgpool_ceil_edge_row_zero");
      EXPECT_EQ(found.used, "divided by the number of cells of the window, all of them");
    }

    const Tensor garbage =
        at_the_end(p, x, [&](float, const Dims&) { return std::uniform_real_distribution<float>(-9, 9)(rng); });
    found = cause_of(model_of(p), {&x}, garbage);
    EXPECT_EQ(found.cause, "avgpool_ceil_edge_row_zero");
    EXPECT_EQ(found.used.substr(0, 29), "values unrelated to the input");
  }
}

TEST(PoolingMistakes, OneEdgeOnly) {
  Rng rng(11);
  const Pool p{.ceil = true, .kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2, .pads = {0, 0, 0, 0}};
  const Tensor x = half_tensor(rng, {1, 4, 9, 11});
  const auto edge = [&](bool rows, bool zero) {
    const Tensor y = at_the_end(p, x, [&](float v, const Dims& o) {
      if (rows ? o[2] != 4 : o[3] != 5) return v;
      return zero ? 0.0F : std::uniform_real_distribution<float>(-9, 9)(rng);
    });
    return cause_of(model_of(p), {&x}, y).used;
  };
  EXPECT_EQ(edge(true, true), "0 in the last row");
  EXPECT_EQ(edge(false, true), "0 in the last column");
  EXPECT_EQ(edge(true, false), "values unrelated to the input in the last row");
  EXPECT_EQ(edge(false, false), "values unrelated to the input in the last column");
}

TEST(PoolingMistakes, LastWindowsSpoilTheirTiles) {
  Rng rng(10);
  const Pool p{.ceil = true, .kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2, .pads = {0, 0, 0, 0}};
  const Tensor x = half_tensor(rng, {1, 4, 33, 41});
  Tensor y = on_device(model_of(p), {&x});
  std::size_t i = 0;
  for (const Dims& o : indices_of(y.dims())) {
    // The last of 17 rows and the last of 21 columns are tiles of their own.
    if (o[2] == 16 || o[3] >= 20) y.f32()[i] = std::uniform_real_distribution<float>(-9, 9)(rng);
    ++i;
  }
  EXPECT_EQ(cause_of(model_of(p), {&x}, y).used, "values unrelated to the input in the last row and column");
  const Tensor narrow = half_tensor(rng, {1, 4, 32, 37});
  Tensor tiles = on_device(model_of(p), {&narrow});
  i = 0;
  for (const Dims& o : indices_of(tiles.dims())) {
    if (o[3] >= 16) tiles.f32()[i] = std::uniform_real_distribution<float>(-9, 9)(rng);
    ++i;
  }
  const Found found = cause_of(model_of(p), {&narrow}, tiles);
  EXPECT_EQ(found.cause, "avgpool_ceil_edge_row_zero");
  EXPECT_EQ(found.used, "values unrelated to the input in tiles of 8 x 4 outputs at the end");
}

TEST(PoolingMistakes, WrongElsewhereIsNotTheLastWindow) {
  Rng rng(5);
  Pool p{.ceil = true, .stride_h = 2, .stride_w = 2, .pads = {0, 0, 0, 0}};
  const Tensor x = half_tensor(rng, {1, 4, 10, 12});
  Tensor y = at_the_end(p, x, [](float, const Dims&) { return 0.0F; });
  y.f32()[0] += 1;
  EXPECT_EQ(cause_of(model_of(p), {&x}, y).cause, "unexplained");
  // One wrong element among right ones at the end says nothing about the end.
  Tensor one = on_device(model_of(p), {&x});
  one.f32().back() += 1;
  EXPECT_EQ(cause_of(model_of(p), {&x}, one).cause, "unexplained");
}

TEST(PoolingMistakes, PaddingOnAnotherSide) {
  Rng rng(6);
  const std::vector<std::vector<int>> splits{{0, 0, 2, 2}, {2, 2, 0, 0}, {1, 2, 1, 0}, {0, 1, 2, 1}, {2, 0, 0, 2}};
  for (bool average : {false, true}) {
    for (const std::vector<int>& split : splits) {
      const Pool p{.average = average};
      Pool other = p;
      other.pads = split;
      const Tensor x = half_tensor(rng, {1, 3, 9, 8});
      const Found found = cause_of(model_of(p), {&x}, on_device(model_of(other), {&x}));
      EXPECT_EQ(found.cause, "padding_side_wrong");
      EXPECT_EQ(found.used,
                fmt::format("top {}, bottom {}, left {}, right {}", split[0], split[2], split[1], split[3]));
      EXPECT_EQ(found.meant, "top 1, bottom 1, left 1, right 1");
    }
  }
}

TEST(PoolingMistakes, PaddingOfHeightAndWidthExchanged) {
  Rng rng(7);
  const Pool p{.average = false, .kernel_h = 5, .kernel_w = 5, .pads = {2, 1, 2, 3}};
  const Tensor x = half_tensor(rng, {1, 3, 9, 9});
  Pool other = p;
  other.pads = {1, 2, 3, 2};
  EXPECT_EQ(cause_of(model_of(p), {&x}, on_device(model_of(other), {&x})).cause, "padding_side_wrong");
}

TEST(PoolingMistakes, AnotherStride) {
  Rng rng(8);
  for (bool average : {false, true}) {
    // 8 windows at stride 1 in a plane of 8 become 4; the device's buffer keeps the model's extents.
    const Pool p{.average = average, .kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2, .pads = {0, 0, 0, 0}};
    const Tensor x = half_tensor(rng, {1, 3, 8, 8});
    Pool dense = p;
    dense.stride_h = dense.stride_w = 1;
    const Tensor all = model_of(dense).output({&x});
    Tensor y = Tensor::f32({1, 3, 4, 4});
    std::size_t i = 0;
    for (const Dims& o : indices_of(y.dims())) y.f32()[i++] = static_cast<float>(at(all, o));
    const Found found = cause_of(model_of(p), {&x}, on_device(std::move(y)));
    EXPECT_EQ(found.cause, "stride_wrong");
    EXPECT_EQ(found.used, "1 x 1");
  }
}

TEST(PoolingMistakes, RightOrUnexplained) {
  Rng rng(9);
  for (int n = 0; n < 20; ++n) {
    const Pool p{.average = coin(rng),
                 .count = static_cast<wire::AvgCount>(pick(rng, 0, 2)),
                 .ceil = coin(rng),
                 .kernel_h = pick(rng, 2, 4),
                 .kernel_w = pick(rng, 2, 4),
                 .stride_h = pick(rng, 1, 2),
                 .stride_w = pick(rng, 1, 2)};
    const Tensor x = half_tensor(rng, {1, 3, pick(rng, 6, 11), pick(rng, 6, 11)});
    Tensor y = on_device(model_of(p), {&x});
    EXPECT_EQ(cause_of(model_of(p), {&x}, y).cause, "right");
    std::reverse(y.f32().begin(), y.f32().end());
    EXPECT_EQ(cause_of(model_of(p), {&x}, y).cause, "unexplained");
  }
}

}  // namespace
}  // namespace qnndbg::test
