// ArgMax, ArgMin and TopKV2 against a search through the whole row.
#include "ops/counterfactual.h"

namespace qnndbg::test {
namespace {

constexpr int kLow = std::numeric_limits<int>::min();
constexpr int kHigh = std::numeric_limits<int>::max();

OneOp arg_model(int kind, int axis, int values = 0, int top = 0) {
  return OneOp(kind, 1, wire::OpParameter_ArgMax,
               [=](Builder& b) { return wire::CreateArgMax(b, values, top, axis).Union(); });
}

/// Few distinct values, so that rows have equal ones.
Tensor with_ties(Rng& rng, const Dims& dims) {
  Tensor whole = random_integers(rng, dims, -3, 3);
  return coin(rng) ? std::move(whole) : as_float(std::move(whole));
}

/// The row of x through `index`, which lacks the axis or has any position on it.
std::vector<double> row_of(const Tensor& x, Dims index, int axis) {
  std::vector<double> row;
  for (std::int64_t k = 0; k < x.dims()[u(axis)]; ++k) {
    index[u(axis)] = k;
    row.push_back(at(x, index));
  }
  return row;
}

TEST(ArgMax, TheFirstOfTheExtremeValues) {
  Rng rng(210);
  for (int n = 0; n < 80; ++n) {
    const int rank = pick(rng, 1, 4);
    const int axis = pick(rng, 0, rank - 1);
    const Tensor x = with_ties(rng, random_dims(rng, rank, 1, 5));
    const bool largest = coin(rng);
    Dims out = x.dims();
    out.erase(out.begin() + axis);
    const OneOp model =
        arg_model(largest ? wire::Kind_ArgMax : wire::Kind_ArgMin, coin(rng) ? axis : axis - rank, 0, pick(rng, 0, 1));
    expect_tensor(model.output({&x}), DType::i32, out, [&](Dims o) {
      o.insert(o.begin() + axis, 0);
      const std::vector<double> row = row_of(x, o, axis);
      const auto best = largest ? std::max_element(row.begin(), row.end()) : std::min_element(row.begin(), row.end());
      return Exact{static_cast<double>(best - row.begin()), 0};
    });
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(ArgMax, AbsurdParametersAreRefused) {
  Rng rng(211);
  const Tensor x = random_tensor(rng, {2, 3});
  for (int axis : {2, -3, kLow, kHigh}) arg_model(wire::Kind_ArgMax, axis).expect_error({&x}, "axis");
  arg_model(wire::Kind_ArgMax, 0, 1).expect_error({&x}, "values as output");
  arg_model(wire::Kind_ArgMin, 0, 0, 2).expect_error({&x}, "two places");
  const Tensor empty = Tensor::f32({2, 0});
  arg_model(wire::Kind_ArgMax, 1).expect_error({&empty}, "an empty row");
  const Tensor scalar = floats({}, {1});
  arg_model(wire::Kind_ArgMax, 0).expect_error({&scalar}, "a scalar");
  arg_model(wire::Kind_ArgMax, 0).expect_error({}, "no operands");
  OneOp(wire::Kind_ArgMax, 1).expect_error({&x}, "no parameters");
}

TEST(ArgMaxMistakes, AnyOfEqualValuesIsRight) {
  const Tensor x = floats({2, 5}, {0, 3, 1, 3, 3, 7, 0, 0, 0, 0});
  const OneOp model = arg_model(wire::Kind_ArgMax, 1);
  for (int place : {1, 3, 4}) EXPECT_EQ(cause_of(model, {&x}, integers({2}, {place, 0})).cause, "right") << place;
  EXPECT_EQ(cause_of(model, {&x}, integers({2}, {1, 1})).cause, "unexplained");  // 0 where 7 is the largest
}

TEST(ArgMaxMistakes, AxisAndDirectionAreNamed) {
  Rng rng(212);
  const Tensor x = half_tensor(rng, {6, 6, 2});
  const OneOp right = arg_model(wire::Kind_ArgMax, 1);
  const Found axis = cause_of(right, {&x}, arg_model(wire::Kind_ArgMax, 0).output({&x}));
  EXPECT_EQ(axis.cause, "argmax_axis_wrong");
  EXPECT_EQ(axis.used, "0");
  EXPECT_EQ(axis.meant, "1");
  const Found direction = cause_of(right, {&x}, arg_model(wire::Kind_ArgMin, 1).output({&x}));
  EXPECT_EQ(direction.cause, "reduce_op_wrong");
  EXPECT_EQ(direction.used, "Argmin");
}

// ---- TopKV2

OneOp top_model(bool largest, int operands) {
  return OneOp(
      wire::Kind_TopKV2, operands, wire::OpParameter_TopKV2,
      [=](Builder& b) { return wire::CreateTopKV2(b, wire::DType_DT_FLOAT, false, largest).Union(); }, 2);
}

TEST(TopKV2, SortedValuesAndTheirPlaces) {
  Rng rng(213);
  for (int n = 0; n < 80; ++n) {
    const int rank = pick(rng, 1, 4);
    const bool by_operand = coin(rng);
    const int axis = by_operand ? pick(rng, 0, rank - 1) : rank - 1;
    const Tensor x = with_ties(rng, random_dims(rng, rank, 1, 5));
    const int k = pick(rng, 0, static_cast<int>(x.dims()[u(axis)]));
    const bool largest = coin(rng);
    const Tensor count = coin(rng) ? integers({}, {k}) : integers({1}, {k});
    const Tensor along = Tensor::of({coin(rng) ? axis : axis - rank});
    std::vector<const Tensor*> inputs{&x, &count};
    if (by_operand) inputs.push_back(&along);
    auto result = top_model(largest, by_operand ? 3 : 2).run(inputs);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->size(), 2U);
    Dims out = x.dims();
    out[u(axis)] = k;
    const auto ranked = [&](const Dims& o) {
      std::vector<std::pair<double, std::int64_t>> order;
      for (double v : row_of(x, o, axis)) order.push_back({largest ? -v : v, static_cast<std::int64_t>(order.size())});
      std::sort(order.begin(), order.end());
      return order[u(o[u(axis)])];
    };
    expect_tensor((*result)[0], x.type(), out,
                  [&](const Dims& o) { return Exact{largest ? -ranked(o).first : ranked(o).first, 0}; });
    expect_tensor((*result)[1], DType::i32, out,
                  [&](const Dims& o) { return Exact{static_cast<double>(ranked(o).second), 0}; });
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(TopKV2, PlacesOfEqualValuesHaveRoom) {
  const Tensor x = floats({6}, {2, 5, 2, 5, 9, 2});
  const Tensor count = Tensor::of({4});
  const std::vector<const Tensor*> inputs{&x};
  const std::vector<Stage> stages = top_model(true, 2).stages({&x, &count});
  ASSERT_EQ(stages.size(), 2U);
  auto places = stages[1].compute({.inputs = inputs, .want_magnitude = true});
  ASSERT_TRUE(places) << places.error().message;
  expect_same(places->value, integers({4}, {4, 1, 3, 0}));
  expect_same(places->magnitude, floats({4}, {0, 2, 2, 5}));
}

TEST(TopKV2Mistakes, AxisAndDirectionAreNamed) {
  Rng rng(215);
  const Tensor x = half_tensor(rng, {6, 6});
  const Tensor count = Tensor::of({2});
  const Tensor first = Tensor::of({0});
  const Tensor last = Tensor::of({1});
  const auto model = [](bool largest) {
    return OneOp(wire::Kind_TopKV2, 3, wire::OpParameter_TopKV2,
                 [=](Builder& b) { return wire::CreateTopKV2(b, wire::DType_DT_FLOAT, false, largest).Union(); });
  };
  const std::vector<const Tensor*> inputs{&x, &count, &first};
  for (std::size_t output : {0U, 1U}) {
    const Stage stage = model(true).stages(inputs).at(output);
    const std::vector<const Tensor*> from{&x};
    auto bounds = Bounds::load("v75", 1);
    ASSERT_TRUE(bounds) << bounds.error().message;
    const auto cause = [&](const OneOp& used, const Tensor& axis) {
      auto device = used.run({&x, &count, &axis});
      if (!device) return device.error().message;
      const Tensor seen = as_float(std::move((*device)[output]));
      const RunContext context{.inputs = from};
      const Evidence evidence{.context = context, .device = seen, .reference = seen};
      const std::vector<Attempt> attempts = try_hypotheses(stage, evidence, bounds->of(stage.bound), *bounds);
      return attempts.empty() || !attempts[0].decisive ? std::string("unexplained") : attempts[0].hypothesis.cause;
    };
    EXPECT_EQ(cause(model(true), last), "argmax_axis_wrong");
    EXPECT_EQ(cause(model(false), first), "reduce_op_wrong");
    EXPECT_EQ(cause(model(false), last), "unexplained");
  }
}

TEST(TopKV2, NotANumberEndsTheSearchNevertheless) {
  const Tensor x = floats({4}, {NAN, 1, NAN, 2});
  const Tensor count = Tensor::of({4});
  auto result = top_model(true, 2).run({&x, &count});
  ASSERT_TRUE(result) << result.error().message;
  for (std::int32_t place : (*result)[1].i32()) EXPECT_TRUE(place >= 0 && place < 4) << place;
}

TEST(TopKV2, AbsurdParametersAreRefused) {
  Rng rng(214);
  const Tensor x = random_tensor(rng, {2, 3});
  const Tensor two = Tensor::of({2});
  for (int k : {4, -1, kLow, kHigh}) {
    const Tensor count = Tensor::of({k});
    top_model(true, 2).expect_error({&x, &count}, "k = " + std::to_string(k));
  }
  for (int axis : {2, -3, kLow, kHigh}) {
    const Tensor along = Tensor::of({axis});
    top_model(true, 3).expect_error({&x, &two, &along}, "axis " + std::to_string(axis));
  }
  const Tensor pair = Tensor::of({1, 2});
  top_model(true, 2).expect_error({&x, &pair}, "two counts");
  top_model(true, 3).expect_error({&x, &two, &pair}, "two axes");
  top_model(true, 2).expect_error({&x}, "no count");
  top_model(true, 2).expect_error({&x, &x}, "a count that is no integer");
}

}  // namespace
}  // namespace qnndbg::test
