// Pooling and Pooling3D against the window written out.
#include "oracle.h"

namespace qnndbg::test {
namespace {

struct Axis {
  int in = 1, kernel = 1, stride = 1, before = 0, after = 0;
};

struct Pool {
  bool average = false;
  wire::PoolPad pad = wire::PoolPad_CAFFE;
  wire::AvgCount count = wire::AvgCount_DEFAULT;
  bool ceil = false, global = false, listed = false;
  Axis h = {}, w = {};
};

OneOp model_of(const Pool& p) {
  return OneOp(wire::Kind_Pooling, 1, wire::OpParameter_Pool, [p](Builder& b) {
    const auto pads = b.CreateVector(std::vector<int>{p.h.before, p.w.before, p.h.after, p.w.after});
    wire::PoolBuilder pool(b);
    pool.add_type(p.average ? wire::PoolKind_AVEPOOL : wire::PoolKind_MAXPOOL);
    pool.add_padType(p.pad);
    pool.add_countType(p.count);
    pool.add_ceilModel(p.ceil);
    pool.add_isGlobal(p.global);
    pool.add_kernelX(p.w.kernel);
    pool.add_kernelY(p.h.kernel);
    pool.add_strideX(p.w.stride);
    pool.add_strideY(p.h.stride);
    if (p.listed) {
      pool.add_pads(pads);
    } else {
      pool.add_padX(p.w.before);
      pool.add_padY(p.h.before);
    }
    return pool.Finish().Union();
  });
}

/// Where the windows of one axis lie: count, first position, length, and the end of what counts as padding (the input's
/// end plus the begin-side padding, as MNN's CPU counts).
struct Windows {
  int count = 0, begin = 0, kernel = 1, padded_end = 0;
};

Windows windows_of(const Pool& p, const Axis& a) {
  if (p.global) return {1, 0, a.in, a.in};
  const int padded = a.in + a.before + a.after;
  const int kernel = std::min(a.kernel, padded);
  const double span = padded - kernel;
  if (p.pad == wire::PoolPad_SAME) {
    const int count = static_cast<int>(std::ceil(static_cast<double>(padded) / a.stride));
    const int total = std::max(0, (count - 1) * a.stride + kernel - a.in);
    return {count, total / 2, kernel, a.in + total / 2};
  }
  if (p.pad == wire::PoolPad_VALID) return {static_cast<int>(std::ceil((span + 1) / a.stride)), a.before, kernel, a.in};
  const double steps = span / a.stride;
  return {static_cast<int>(p.ceil ? std::ceil(steps) : std::floor(steps)) + 1, a.before, kernel, a.in + a.before};
}

void expect_pool(const Tensor& y, const Pool& p, const Tensor& x) {
  const Windows h = windows_of(p, p.h);
  const Windows w = windows_of(p, p.w);
  const bool include = p.count == wire::AvgCount_INCLUDE_PADDING ||
                       (p.count == wire::AvgCount_DEFAULT && p.pad == wire::PoolPad_CAFFE && !p.listed);
  expect_tensor(y, DType::f32, {x.dims()[0], x.dims()[1], h.count, w.count}, [&](const Dims& o) {
    double sum = 0;
    double best = -HUGE_VAL;
    int inside = 0;
    int counted = 0;
    for (int i = 0; i < h.kernel; ++i) {
      for (int j = 0; j < w.kernel; ++j) {
        const std::int64_t row = o[2] * (p.global ? 1 : p.h.stride) - h.begin + i;
        const std::int64_t column = o[3] * (p.global ? 1 : p.w.stride) - w.begin + j;
        if (row < h.padded_end && column < w.padded_end) ++counted;
        if (row < 0 || row >= p.h.in || column < 0 || column >= p.w.in) continue;
        ++inside;
        const double v = at(x, {o[0], o[1], row, column});
        sum += v;
        best = std::max(best, v);
      }
    }
    if (inside == 0) return Exact{};
    return p.average ? Exact{sum / (include && !p.global ? counted : inside), 1e-5} : Exact{best, 0};
  });
}

Axis random_axis(Rng& rng, const Pool& p) {
  Axis a{.in = pick(rng, 1, 9), .kernel = pick(rng, 1, 4), .stride = pick(rng, 1, 3)};
  if (p.pad != wire::PoolPad_CAFFE) return a;
  // Padding stays below the kernel, or windows would lie in it entirely.
  a.before = pick(rng, 0, std::min(2, a.kernel - 1));
  a.after = p.listed ? pick(rng, 0, std::min(2, a.kernel - 1)) : a.before;
  return a;
}

Pool random_pool(Rng& rng) {
  Pool p{.average = coin(rng),
         .pad = static_cast<wire::PoolPad>(pick(rng, 0, 2)),
         .count = static_cast<wire::AvgCount>(pick(rng, 0, 2)),
         .ceil = coin(rng),
         .global = pick(rng, 0, 7) == 0,
         .listed = coin(rng)};
  p.h = random_axis(rng, p);
  p.w = random_axis(rng, p);
  return p;
}

TEST(Pooling, MatchesTheDefinition) {
  Rng rng(20);
  for (int n = 0; n < 150; ++n) {
    const Pool p = random_pool(rng);
    const Tensor x = random_tensor(rng, {pick(rng, 1, 2), pick(rng, 1, 3), p.h.in, p.w.in});
    expect_pool(model_of(p).output({&x}), p, x);
    if (HasFatalFailure()) FAIL() << "case " << n;
  }
}

TEST(Pooling, AverageLiesWithinItsMagnitude) {
  Rng rng(21);
  for (int n = 0; n < 20; ++n) {
    Pool p = random_pool(rng);
    p.average = true;
    const Tensor x = random_tensor(rng, {1, 2, p.h.in, p.w.in});
    expect_pool(model_of(p).chained({&x}, {}).at(0), p, x);
  }
}

TEST(Pooling, AbsurdParametersAreRefused) {
  Rng rng(22);
  const Tensor x = random_tensor(rng, {1, 2, 4, 4});
  const auto refused = [&](const char* what, auto change) {
    Pool p{.h = {.in = 4}, .w = {.in = 4}};
    change(p);
    model_of(p).expect_error({&x}, what);
  };
  for (int v : {0, -1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    refused("stride", [v](Pool& p) { p.h.stride = v; });
    refused("kernel", [v](Pool& p) { p.w.kernel = v; });
  }
  refused("padding", [](Pool& p) { p.h.before = std::numeric_limits<int>::min(); });
  const OneOp good = model_of({.h = {.in = 4}, .w = {.in = 4}});
  const Tensor rank = random_tensor(rng, {4, 4});
  good.expect_error({&rank}, "rank");
  const Tensor ints = random_integers(rng, {1, 2, 4, 4}, 0, 3);
  good.expect_error({&ints}, "integers");
  good.expect_error({}, "no operands");
  OneOp(wire::Kind_Pooling, 1).expect_error({&x}, "no parameters");
}

OneOp global_model(bool average, bool global = true) {
  return OneOp(wire::Kind_Pooling3D, 1, wire::OpParameter_Pool3D, [=](Builder& b) {
    wire::Pool3DBuilder pool(b);
    pool.add_type(average ? wire::PoolKind_AVEPOOL : wire::PoolKind_MAXPOOL);
    pool.add_isGlobal(global);
    return pool.Finish().Union();
  });
}

TEST(Pooling3D, GlobalMeanAndMaximum) {
  Rng rng(23);
  for (int n = 0; n < 30; ++n) {
    const Dims dims = random_dims(rng, 4, 1, 6);
    const Tensor x = random_tensor(rng, dims);
    const Pool p{.average = coin(rng),
                 .global = true,
                 .h = {.in = static_cast<int>(dims[2])},
                 .w = {.in = static_cast<int>(dims[3])}};
    expect_pool(global_model(p.average).output({&x}), p, x);
    if (HasFatalFailure()) FAIL() << "case " << n;
  }
}

TEST(Pooling3D, AnyNumberOfSpatialAxes) {
  Rng rng(25);
  for (int rank : {3, 5}) {
    const Tensor x = random_tensor(rng, random_dims(rng, rank, 2, 4));
    Dims out(u(rank), 1);
    out[0] = x.dims()[0];
    out[1] = x.dims()[1];
    const Dims spatial(x.dims().begin() + 2, x.dims().end());
    for (bool average : {false, true}) {
      expect_tensor(global_model(average).output({&x}), DType::f32, out, [&](const Dims& o) {
        double sum = 0;
        double largest = -HUGE_VAL;
        for (const Dims& place : indices_of(spatial)) {
          Dims from{o[0], o[1]};
          from.insert(from.end(), place.begin(), place.end());
          sum += at(x, from);
          largest = std::max(largest, at(x, from));
        }
        return average ? Exact{sum / static_cast<double>(element_count(spatial)), 1e-6} : Exact{largest, 0};
      });
    }
  }
}

TEST(Pooling3D, WindowsAndOtherRanksAreRefused) {
  Rng rng(24);
  const Tensor x = random_tensor(rng, {1, 2, 4, 4});
  global_model(true, false).expect_error({&x}, "windows");
  const Tensor flat = random_tensor(rng, {2, 2});
  global_model(true).expect_error({&flat}, "rank 2");
  OneOp(wire::Kind_Pooling3D, 1).expect_error({&x}, "no parameters");
}

}  // namespace
}  // namespace qnndbg::test
