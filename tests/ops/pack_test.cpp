// Pack and Unpack: operands side by side along a new axis, and apart again.
#include "oracle.h"

namespace qnndbg::test {
namespace {

constexpr int kLow = std::numeric_limits<int>::min();
constexpr int kHigh = std::numeric_limits<int>::max();

OneOp pack_model(int axis, int operands) {
  return OneOp(wire::Kind_Pack, operands, wire::OpParameter_PackParam,
               [axis](Builder& b) { return wire::CreatePackParam(b, wire::DType_DT_FLOAT, axis).Union(); });
}

OneOp unpack_model(int axis, int outputs) {
  return OneOp(
      wire::Kind_Unpack, 1, wire::OpParameter_Axis, [axis](Builder& b) { return wire::CreateAxis(b, axis).Union(); },
      outputs);
}

TEST(Pack, StacksAndUnpackTakesApart) {
  Rng rng(220);
  for (int n = 0; n < 60; ++n) {
    const Dims dims = random_dims(rng, pick(rng, 0, 3), 1, 4);
    const int axis = pick(rng, 0, static_cast<int>(dims.size()));
    const int written = coin(rng) ? axis : axis - static_cast<int>(dims.size()) - 1;
    const bool integer = coin(rng);
    std::vector<Tensor> parts;
    for (int k = pick(rng, 1, 4); k > 0; --k)
      parts.push_back(integer ? random_integers(rng, dims, -9, 9) : random_tensor(rng, dims));
    std::vector<const Tensor*> inputs;
    for (const Tensor& part : parts) inputs.push_back(&part);
    const int count = static_cast<int>(parts.size());
    Dims out = dims;
    out.insert(out.begin() + axis, count);
    const Tensor whole = pack_model(written, count).output(inputs);
    expect_tensor(whole, parts[0].type(), out, [&](Dims o) {
      const std::size_t part = u(o[u(axis)]);
      o.erase(o.begin() + axis);
      return Exact{at(parts[part], o), 0};
    });
    auto apart = unpack_model(written, count).run({&whole});
    ASSERT_TRUE(apart) << apart.error().message;
    ASSERT_EQ(apart->size(), parts.size());
    for (std::size_t k = 0; k < parts.size(); ++k) expect_same((*apart)[k], parts[k]);
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(Pack, WhatDoesNotFitIsRefused) {
  Rng rng(221);
  const Tensor a = random_tensor(rng, {2, 3});
  const Tensor b = random_tensor(rng, {3, 2});
  const Tensor i = random_integers(rng, {2, 3}, 0, 9);
  pack_model(0, 2).expect_error({&a, &b}, "shapes");
  pack_model(0, 2).expect_error({&a, &i}, "types");
  pack_model(0, 2).expect_error({&a, nullptr}, "an omitted operand");
  pack_model(0, 2).expect_error({}, "no operands");
  for (int axis : {3, -4, kLow, kHigh}) pack_model(axis, 2).expect_error({&a, &a}, "axis");
  OneOp(wire::Kind_Pack, 2).expect_error({&a, &a}, "no parameters");
}

TEST(Unpack, WhatDoesNotFitIsRefused) {
  Rng rng(222);
  const Tensor x = random_tensor(rng, {2, 3});
  for (int axis : {2, -3, kLow, kHigh}) unpack_model(axis, 2).expect_error({&x}, "axis");
  unpack_model(0, 3).expect_error({&x}, "three outputs of two");
  unpack_model(1, 2).expect_error({&x}, "two outputs of three");
  const Tensor scalar = floats({}, {1});
  unpack_model(0, 1).expect_error({&scalar}, "a scalar");
  OneOp(wire::Kind_Unpack, 1).expect_error({&x}, "no parameters");
}

}  // namespace
}  // namespace qnndbg::test
