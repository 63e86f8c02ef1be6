// DepthToSpace and SpaceToDepth: the channel and pixel that ONNX's definition names.
#include "oracle.h"

namespace qnndbg::test {
namespace {

constexpr int kLow = std::numeric_limits<int>::min();
constexpr int kHigh = std::numeric_limits<int>::max();

OneOp model_of(int kind, int block, wire::D2SMode mode = wire::D2SMode_DCR) {
  return OneOp(kind, 1, wire::OpParameter_DepthSpaceParam,
               [=](Builder& b) { return wire::CreateDepthSpaceParam(b, block, mode).Union(); });
}

TEST(DepthToSpace, BothModes) {
  Rng rng(240);
  for (int n = 0; n < 40; ++n) {
    const std::int64_t block = pick(rng, 1, 3);
    const std::int64_t channels = pick(rng, 1, 3);
    const Dims dims{pick(rng, 1, 2), channels * block * block, pick(rng, 1, 3), pick(rng, 1, 3)};
    const Tensor x = coin(rng) ? random_tensor(rng, dims) : random_integers(rng, dims, -99, 99);
    for (wire::D2SMode mode : {wire::D2SMode_DCR, wire::D2SMode_CRD}) {
      expect_moved(model_of(wire::Kind_DepthToSpace, static_cast<int>(block), mode).output({&x}), x,
                   {dims[0], channels, dims[2] * block, dims[3] * block}, [&](const Dims& o) {
                     const std::int64_t place = o[2] % block * block + o[3] % block;
                     const std::int64_t channel =
                         mode == wire::D2SMode_DCR ? place * channels + o[1] : o[1] * block * block + place;
                     return Dims{o[0], channel, o[2] / block, o[3] / block};
                   });
    }
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(SpaceToDepth, BlocksBecomeChannels) {
  Rng rng(241);
  for (int n = 0; n < 40; ++n) {
    const std::int64_t block = pick(rng, 1, 3);
    const Dims dims{pick(rng, 1, 2), pick(rng, 1, 3), pick(rng, 1, 3) * block, pick(rng, 1, 3) * block};
    const Tensor x = random_tensor(rng, dims);
    const Tensor y = model_of(wire::Kind_SpaceToDepth, static_cast<int>(block)).output({&x});
    expect_moved(y, x, {dims[0], dims[1] * block * block, dims[2] / block, dims[3] / block}, [&](const Dims& o) {
      const std::int64_t place = o[1] / dims[1];
      return Dims{o[0], o[1] % dims[1], o[2] * block + place / block, o[3] * block + place % block};
    });
    expect_same(model_of(wire::Kind_DepthToSpace, static_cast<int>(block)).output({&y}), x);
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(DepthToSpace, AbsurdParametersAreRefused) {
  Rng rng(242);
  const Tensor x = random_tensor(rng, {1, 6, 3, 4});
  const Tensor flat = random_tensor(rng, {4, 4, 4});
  for (int kind : {wire::Kind_DepthToSpace, wire::Kind_SpaceToDepth}) {
    for (int block : {0, -1, kLow, kHigh, 1 << 16, 2}) model_of(kind, block).expect_error({&x}, "a block");
    model_of(kind, 2).expect_error({&flat}, "rank 3");
    model_of(kind, 2).expect_error({}, "no operands");
    OneOp(kind, 1).expect_error({&x}, "no parameters");
  }
}

}  // namespace
}  // namespace qnndbg::test
