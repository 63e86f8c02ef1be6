// GatherElements, OneHot and Select: operators that choose, against their definitions.
#include "ops/counterfactual.h"

namespace qnndbg::test {
namespace {

constexpr int kLow = std::numeric_limits<int>::min();
constexpr int kHigh = std::numeric_limits<int>::max();

Tensor any_tensor(Rng& rng, const Dims& dims) {
  return coin(rng) ? random_tensor(rng, dims) : random_integers(rng, dims, -99, 99);
}

TEST(GatherElements, TakesElementByElement) {
  Rng rng(250);
  const OneOp model(wire::Kind_GatherElements, 3);
  for (int n = 0; n < 60; ++n) {
    const int rank = pick(rng, 1, 4);
    const int axis = pick(rng, 0, rank - 1);
    const Tensor x = any_tensor(rng, random_dims(rng, rank, 1, 4));
    const int extent = static_cast<int>(x.dims()[u(axis)]);
    Dims dims;
    for (std::int64_t most : x.dims()) dims.push_back(pick(rng, 1, static_cast<int>(most)));
    dims[u(axis)] = pick(rng, 1, 5);
    const Tensor indices = random_integers(rng, dims, -extent, extent - 1);
    const auto from = [&](Dims o) {
      const auto index = static_cast<std::int64_t>(at(indices, o));
      o[u(axis)] = index < 0 ? index + extent : index;
      return o;
    };
    const int written = coin(rng) ? axis : axis - rank;
    const Tensor operand = Tensor::of({written});
    expect_moved(model.output({&x, &indices, &operand}), x, dims, from);
    const OneOp by_parameter(wire::Kind_GatherElements, 2, wire::OpParameter_Axis,
                             [=](Builder& b) { return wire::CreateAxis(b, written).Union(); });
    expect_moved(by_parameter.output({&x, &indices}), x, dims, from);
    if (axis == 0) expect_moved(OneOp(wire::Kind_GatherElements, 2).output({&x, &indices}), x, dims, from);
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(GatherElements, WhatLiesOutsideIsRefused) {
  Rng rng(251);
  const OneOp model(wire::Kind_GatherElements, 3);
  const Tensor x = random_tensor(rng, {2, 3});
  const Tensor one = Tensor::of({1});
  const Tensor good = random_integers(rng, {2, 2}, 0, 2);
  for (int index : {3, -4, kLow, kHigh}) {
    const Tensor bad = integers({1, 1}, {index});
    model.expect_error({&x, &bad, &one}, "index");
  }
  for (int axis : {2, -3, kLow, kHigh}) {
    const Tensor operand = Tensor::of({axis});
    model.expect_error({&x, &good, &operand}, "axis");
  }
  const Tensor wide = random_integers(rng, {3, 2}, 0, 1);
  model.expect_error({&x, &wide, &one}, "more rows than the data");
  const Tensor flat = Tensor::of({0});
  model.expect_error({&x, &flat, &one}, "ranks");
  model.expect_error({&x, &x, &one}, "indices that are not integers");
  model.expect_error({&x}, "no indices");
}

TEST(GatherElements, TheAxisIsNamed) {
  Rng rng(252);
  const Tensor x = half_tensor(rng, {4, 4});
  const Tensor indices = random_integers(rng, {4, 4}, 0, 3);
  const Tensor zero = Tensor::of({0});
  const Tensor one = Tensor::of({1});
  const OneOp model(wire::Kind_GatherElements, 3);
  const Found found = cause_of(model, {&x, &indices, &one}, model.output({&x, &indices, &zero}));
  EXPECT_EQ(found.cause, "gather_axis_wrong");
  EXPECT_EQ(found.used, "0");
}

OneOp one_hot_model(int axis) {
  return OneOp(wire::Kind_OneHot, 4, wire::OpParameter_OneHotParam,
               [axis](Builder& b) { return wire::CreateOneHotParam(b, wire::DType_DT_FLOAT, axis).Union(); });
}

TEST(OneHot, OnAtTheIndexOffElsewhere) {
  Rng rng(253);
  for (int n = 0; n < 40; ++n) {
    const Dims dims = random_dims(rng, pick(rng, 0, 3), 1, 4);
    const int depth = pick(rng, 0, 4);
    const int axis = pick(rng, 0, static_cast<int>(dims.size()));
    const Tensor indices = random_integers(rng, dims, 0, 5);
    const Tensor count = integers({}, {depth});
    const bool integer = coin(rng);
    const Tensor on = integer ? integers({}, {3}) : floats({}, {2.5F});
    const Tensor off = integer ? integers({1}, {-1}) : floats({1}, {0.25F});
    Dims out = dims;
    out.insert(out.begin() + axis, depth);
    const int written = coin(rng) ? axis : axis - static_cast<int>(out.size());
    expect_tensor(one_hot_model(written).output({&indices, &count, &on, &off}), on.type(), out, [&](Dims o) {
      const auto place = static_cast<double>(o[u(axis)]);
      o.erase(o.begin() + axis);
      return Exact{at(indices, o) == place ? at(on, {}) : at(off, {0}), 0};
    });
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(OneHot, AbsurdParametersAreRefused) {
  const Tensor indices = Tensor::of({0, 1});
  const Tensor depth = Tensor::of({3});
  const Tensor on = floats({1}, {1});
  const Tensor off = floats({1}, {0});
  for (int axis : {2, -3, kLow, kHigh}) one_hot_model(axis).expect_error({&indices, &depth, &on, &off}, "axis");
  for (int count : {-1, kLow, kHigh}) {
    const Tensor wrong = Tensor::of({count});
    one_hot_model(-1).expect_error({&indices, &wrong, &on, &off}, "depth " + std::to_string(count));
  }
  const Tensor negative = Tensor::of({-1});
  one_hot_model(-1).expect_error({&negative, &depth, &on, &off}, "a negative index");
  one_hot_model(-1).expect_error({&on, &depth, &on, &off}, "indices that are not integers");
  one_hot_model(-1).expect_error({&indices, &depth, &on, &depth}, "values of two types");
  one_hot_model(-1).expect_error({&indices, &depth, &on}, "no value");
  const Tensor pair = floats({2}, {1, 0});
  one_hot_model(-1).expect_error({&indices, &depth, &pair, &off}, "two values");
}

TEST(Select, ChoosesUnderBroadcasting) {
  Rng rng(254);
  const OneOp model(wire::Kind_Select, 3);
  const auto broadcast_at = [](const Tensor& t, const Dims& o) {
    Dims index(o.end() - t.rank(), o.end());
    for (std::size_t k = 0; k < index.size(); ++k) index[k] = t.dims()[k] == 1 ? 0 : index[k];
    return at(t, index);
  };
  for (int n = 0; n < 60; ++n) {
    const Dims out = random_dims(rng, pick(rng, 1, 4), 1, 4);
    const auto some = [&](bool whole) {
      Dims dims = out;
      if (whole) return dims;
      for (std::int64_t& extent : dims) extent = coin(rng) ? 1 : extent;
      dims.erase(dims.begin(), dims.begin() + pick(rng, 0, static_cast<int>(dims.size())));
      return dims;
    };
    const int full = pick(rng, 0, 2);
    const Tensor condition = random_integers(rng, some(full == 0), -1, 1);
    const bool integer = coin(rng);
    const auto value = [&](bool whole) {
      return integer ? random_integers(rng, some(whole), -99, 99) : random_tensor(rng, some(whole));
    };
    const Tensor a = value(full == 1);
    const Tensor b = value(full == 2);
    const auto expected = [&](const Dims& o) {
      return Exact{broadcast_at(condition, o) != 0 ? broadcast_at(a, o) : broadcast_at(b, o), 0};
    };
    expect_tensor(model.output({&condition, &a, &b}), a.type(), out, expected);
    const Tensor real = as_float(condition.clone());
    expect_tensor(model.output({&real, &a, &b}), a.type(), out, expected);
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(Select, WhatDoesNotFitIsRefused) {
  Rng rng(255);
  const OneOp model(wire::Kind_Select, 3);
  const Tensor condition = Tensor::of({0, 1});
  const Tensor a = random_tensor(rng, {2});
  const Tensor three = random_tensor(rng, {3});
  model.expect_error({&condition, &a, &three}, "shapes");
  model.expect_error({&condition, &three, &three}, "a condition of another shape");
  model.expect_error({&condition, &a, &condition}, "floats or integers");
  model.expect_error({&condition, &a}, "one alternative");
}

}  // namespace
}  // namespace qnndbg::test
