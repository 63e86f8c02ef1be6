// InnerProduct against the sum over a row.
#include "oracle.h"

namespace qnndbg::test {
namespace {

constexpr int kLow = std::numeric_limits<int>::min();
constexpr int kHigh = std::numeric_limits<int>::max();

OneOp model_of(int axis, int outputs, const std::vector<float>& weight, const std::vector<float>& bias = {},
               bool transpose = false) {
  return OneOp(wire::Kind_InnerProduct, 1, wire::OpParameter_InnerProduct, [=](Builder& b) {
    return wire::CreateInnerProductDirect(b, outputs, bias.empty() ? 0 : 1, static_cast<int>(weight.size()), &weight,
                                          bias.empty() ? nullptr : &bias, axis, transpose)
        .Union();
  });
}

TEST(InnerProduct, MatchesTheDefinition) {
  Rng rng(270);
  for (int n = 0; n < 40; ++n) {
    const int rank = pick(rng, 1, 4);
    const int axis = pick(rng, 0, rank - 1);
    const Tensor x = random_tensor(rng, random_dims(rng, rank, 1, 4));
    const Dims inner(x.dims().begin() + axis, x.dims().end());
    const std::int64_t columns = element_count(inner);
    const int outputs = pick(rng, 1, 5);
    const std::vector<float> weight = random_floats(rng, outputs * columns);
    const std::vector<float> bias = coin(rng) ? random_floats(rng, outputs) : std::vector<float>{};
    Dims out(x.dims().begin(), x.dims().begin() + axis);
    out.push_back(outputs);
    const OneOp model = model_of(coin(rng) ? axis : axis - rank, outputs, weight, bias);
    // chained() holds exact() and the magnitude against the value as well.
    expect_tensor(model.chained({&x}, {}).at(0), DType::f32, out, [&](const Dims& o) {
      double sum = bias.empty() ? 0 : bias[u(o.back())];
      double absolute = std::abs(sum);
      std::int64_t column = 0;
      for (const Dims& i : indices_of(inner)) {
        Dims from(o.begin(), o.end() - 1);
        from.insert(from.end(), i.begin(), i.end());
        const double term = at(x, from) * static_cast<double>(weight[u(o.back() * columns + column++)]);
        sum += term;
        absolute += std::abs(term);
      }
      return Exact{sum, 1e-5 * absolute};
    });
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(InnerProduct, ConstantsAreRoundedAsTheDeviceHasThem) {
  const Tensor x = floats({1, 2}, {1, 1});
  const OneOp model = model_of(1, 1, {1.0009F, 2}, {0.33333F});
  const std::vector<const Tensor*> inputs{&x};
  auto device = run_reference(model.op(), OneOp::operands(inputs), inputs, HalfRounding::toward_zero);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->front().f32()[0], 1.0F + 2.0F + 0.333251953125F);
}

TEST(InnerProduct, WhatDoesNotFitIsRefused) {
  Rng rng(271);
  const Tensor x = random_tensor(rng, {2, 3});
  const std::vector<float> six(6, 1.0F);
  for (int axis : {2, -3, kLow, kHigh}) model_of(axis, 2, six).expect_error({&x}, "axis");
  model_of(0, 2, six).expect_error({&x}, "rows of six for columns of three");
  for (int outputs : {0, -1, 4, kLow, kHigh}) model_of(1, outputs, six).expect_error({&x}, "outputs");
  model_of(1, 2, six, {1}).expect_error({&x}, "one bias of two");
  model_of(1, 2, {}).expect_error({&x}, "no weights");
  model_of(1, 2, six, {}, true).expect_error({&x}, "transposed weights");
  const Tensor i = random_integers(rng, {2, 3}, 0, 3);
  model_of(1, 2, six).expect_error({&i}, "integers");
  OneOp(wire::Kind_InnerProduct, 1).expect_error({&x}, "no parameters");
}

}  // namespace
}  // namespace qnndbg::test
