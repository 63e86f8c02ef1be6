// BinaryOp and Eltwise against their formulas, with NumPy broadcasting.
#include "oracle.h"

namespace qnndbg::test {
namespace {

constexpr int kIntMin = std::numeric_limits<int>::min();

OneOp model_of(int op, int activation = 0) {
  return OneOp(wire::Kind_BinaryOp, 2, wire::OpParameter_BinaryOp, [=](Builder& b) {
    return wire::CreateBinaryOp(b, static_cast<wire::Bin>(op), wire::DType_DT_FLOAT, activation).Union();
  });
}

struct Function {
  wire::Bin op;
  double (*f)(double, double);
  bool comparison = false;
};

constexpr Function kComparisons[] = {
    {wire::Bin_GREATER, [](double x, double y) { return x > y ? 1.0 : 0.0; }, true},
    {wire::Bin_GREATER_EQUAL, [](double x, double y) { return x >= y ? 1.0 : 0.0; }, true},
    {wire::Bin_LESS, [](double x, double y) { return x < y ? 1.0 : 0.0; }, true},
    {wire::Bin_LESS_EQUAL, [](double x, double y) { return x <= y ? 1.0 : 0.0; }, true},
    {wire::Bin_EQUAL, [](double x, double y) { return x == y ? 1.0 : 0.0; }, true},
    {wire::Bin_NOTEQUAL, [](double x, double y) { return x == y ? 0.0 : 1.0; }, true},
};

constexpr Function kFloats[] = {
    {wire::Bin_ADD, [](double x, double y) { return x + y; }},
    {wire::Bin_SUB, [](double x, double y) { return x - y; }},
    {wire::Bin_MUL, [](double x, double y) { return x * y; }},
    {wire::Bin_DIV, [](double x, double y) { return x / y; }},
    {wire::Bin_REALDIV, [](double x, double y) { return x / y; }},
    {wire::Bin_POW, [](double x, double y) { return std::pow(x, y); }},
    {wire::Bin_MIN_TEMP, [](double x, double y) { return x < y ? x : y; }},
    {wire::Bin_MINIMUM, [](double x, double y) { return x < y ? x : y; }},
    {wire::Bin_MAX_TEMP, [](double x, double y) { return x > y ? x : y; }},
    {wire::Bin_MAXIMUM, [](double x, double y) { return x > y ? x : y; }},
    {wire::Bin_FLOORDIV, [](double x, double y) { return std::floor(x / y); }},
    {wire::Bin_FLOORMOD, [](double x, double y) { return x - std::floor(x / y) * y; }},
    {wire::Bin_MOD, [](double x, double y) { return std::fmod(x, y); }},
    {wire::Bin_SquaredDifference, [](double x, double y) { return (x - y) * (x - y); }},
    {wire::Bin_ATAN2, [](double x, double y) { return std::atan2(x, y); }},
    {wire::Bin_MUL_SILU, [](double x, double y) { return x * y / (1 + std::exp(-y)); }},
};

constexpr Function kIntegers[] = {
    {wire::Bin_ADD, [](double x, double y) { return x + y; }},
    {wire::Bin_SUB, [](double x, double y) { return x - y; }},
    {wire::Bin_MUL, [](double x, double y) { return x * y; }},
    {wire::Bin_REALDIV, [](double x, double y) { return std::trunc(x / y); }},
    {wire::Bin_POW, [](double x, double y) { return std::trunc(std::pow(x, y)); }},
    {wire::Bin_MIN_TEMP, [](double x, double y) { return x < y ? x : y; }},
    {wire::Bin_MINIMUM, [](double x, double y) { return x < y ? x : y; }},
    {wire::Bin_MAX_TEMP, [](double x, double y) { return x > y ? x : y; }},
    {wire::Bin_MAXIMUM, [](double x, double y) { return x > y ? x : y; }},
    {wire::Bin_FLOORDIV, [](double x, double y) { return std::floor(x / y); }},
    // MNN's integer remainders: FLOORMOD has the sign of x, MOD the sign of y.
    {wire::Bin_FLOORMOD, [](double x, double y) { return x - std::trunc(x / y) * y; }},
    {wire::Bin_MOD, [](double x, double y) { return x - std::floor(x / y) * y; }},
    {wire::Bin_SquaredDifference, [](double x, double y) { return (x - y) * (x - y); }},
    {wire::Bin_LOGICALOR, [](double x, double y) { return x != 0 || y != 0 ? 1.0 : 0.0; }, true},
    {wire::Bin_LOGICALXOR, [](double x, double y) { return (x != 0) != (y != 0) ? 1.0 : 0.0; }, true},
    {wire::Bin_BITWISE_AND, [](double x, double y) { return static_cast<double>(lround(x) & lround(y)); }},
    {wire::Bin_BITWISE_OR, [](double x, double y) { return static_cast<double>(lround(x) | lround(y)); }},
    {wire::Bin_BITWISE_XOR, [](double x, double y) { return static_cast<double>(lround(x) ^ lround(y)); }},
};

/// Two shapes that broadcast to `out`.
std::pair<Dims, Dims> shapes_for(Rng& rng, const Dims& out) {
  const auto shrink = [&](Dims dims, bool may_drop) {
    for (std::int64_t& extent : dims) extent = pick(rng, 0, 2) == 0 ? 1 : extent;
    if (may_drop) dims.erase(dims.begin(), dims.begin() + pick(rng, 0, static_cast<int>(dims.size())));
    return dims;
  };
  std::pair<Dims, Dims> shapes{out, shrink(out, true)};
  switch (pick(rng, 0, 2)) {
    case 0: break;
    case 1: std::swap(shapes.first, shapes.second); break;
    default: {
      // Both sides broadcast: an axis of extent 1 on one side has its full extent on the other.
      for (std::size_t k = 0; k < out.size(); ++k) {
        const std::size_t missing = out.size() - shapes.second.size();
        if (k >= missing && shapes.second[k - missing] == out[k] && coin(rng)) shapes.first[k] = 1;
      }
    }
  }
  return shapes;
}

double broadcast_at(const Tensor& t, const Dims& o) {
  Dims index(o.end() - t.rank(), o.end());
  for (std::size_t k = 0; k < index.size(); ++k) index[k] = t.dims()[k] == 1 ? 0 : index[k];
  return at(t, index);
}

void expect_applied(const Tensor& y, const Function& function, const Tensor& a, const Tensor& b, const Dims& out,
                    bool relu, DType type) {
  expect_tensor(y, type, out, [&](const Dims& o) {
    const double p = broadcast_at(a, o);
    const double q = broadcast_at(b, o);
    const double v = function.f(p, q);
    // A quotient is as exact as its floor only away from whole numbers, and a remainder is as large as its operands.
    const double tolerance = type == DType::i32 ? 0 : 3e-6 * (std::abs(v) + std::abs(p) + std::abs(q));
    return Exact{relu ? std::max(v, 0.0) : v, tolerance};
  });
}

TEST(BinaryOp, FloatsUnderBroadcasting) {
  Rng rng(60);
  const auto check = [&](const Function& function) {
    for (int n = 0; n < 40; ++n) {
      const Dims out = random_dims(rng, pick(rng, 0, 4), 1, 4);
      const auto [da, db] = shapes_for(rng, out);
      Tensor a = random_tensor(rng, da, function.op == wire::Bin_POW ? 0.1F : -3.0F, 3);
      const Tensor b = random_tensor(rng, db, -3, 3);
      if (function.comparison && !a.empty() && !b.empty()) a.f32()[0] = b.f32()[0];  // ties
      const bool relu = !function.comparison && coin(rng);
      const Tensor y = model_of(function.op, relu ? 1 : 0).output({&a, &b});
      expect_applied(y, function, a, b, out, relu, function.comparison ? DType::i32 : DType::f32);
      if (HasFailure()) FAIL() << function.op << " of " << to_string(da) << " and " << to_string(db);
    }
  };
  for (const Function& function : kFloats) check(function);
  for (const Function& function : kComparisons) check(function);
}

TEST(BinaryOp, IntegersUnderBroadcasting) {
  Rng rng(61);
  const auto check = [&](const Function& function) {
    for (int n = 0; n < 40; ++n) {
      const Dims out = random_dims(rng, pick(rng, 0, 4), 1, 4);
      const auto [da, db] = shapes_for(rng, out);
      const Tensor a = random_integers(rng, da, -9, 9);
      Tensor b = random_integers(rng, db, -4, 4);
      for (std::int32_t& v : b.i32()) v = v == 0 && function.op != wire::Bin_LOGICALOR ? 1 : v;
      const bool relu = !function.comparison && coin(rng);
      Tensor nonzero = a.clone();
      if (function.op == wire::Bin_POW) {
        for (std::int32_t& v : nonzero.i32()) v = v == 0 ? 1 : v;
      }
      const Tensor y = model_of(function.op, relu ? 1 : 0).output({&nonzero, &b});
      expect_applied(y, function, nonzero, b, out, relu, DType::i32);
      if (HasFailure()) FAIL() << function.op << " of " << to_string(da) << " and " << to_string(db);
    }
  };
  for (const Function& function : kIntegers) check(function);
  for (const Function& function : kComparisons) check(function);
}

TEST(BinaryOp, IntegersWrapAround) {
  const auto result = [](wire::Bin op, int x, int y) {
    const Tensor a = integers({1}, {x});
    const Tensor b = integers({1}, {y});
    return at(model_of(op).output({&a, &b}), {0});
  };
  EXPECT_EQ(result(wire::Bin_ADD, std::numeric_limits<int>::max(), 1), kIntMin);
  EXPECT_EQ(result(wire::Bin_SUB, kIntMin, 1), std::numeric_limits<int>::max());
  EXPECT_EQ(result(wire::Bin_MUL, 1 << 20, 1 << 12), 0);
  EXPECT_EQ(result(wire::Bin_REALDIV, kIntMin, -1), kIntMin);
  EXPECT_EQ(result(wire::Bin_FLOORDIV, kIntMin, -1), kIntMin);
  EXPECT_EQ(result(wire::Bin_SquaredDifference, std::numeric_limits<int>::max(), kIntMin), 1);
  EXPECT_EQ(result(wire::Bin_POW, 10, 20), std::numeric_limits<int>::max());
  EXPECT_NO_FATAL_FAILURE(result(wire::Bin_POW, 0, -1));
}

TEST(BinaryOp, MixedTypesBecomeFloat) {
  const Tensor a = floats({2}, {0.5F, -1});
  const Tensor b = integers({2}, {2, 3});
  const Tensor y = model_of(wire::Bin_ADD).output({&a, &b});
  expect_same(y, floats({2}, {2.5F, 2}));
}

TEST(BinaryOpStages, ScalarThroughReshapeAndTile) {
  Rng rng(62);
  const Tensor x = random_tensor(rng, {2, 3, 4});
  const Tensor scalar = random_tensor(rng, {});
  const OneOp model = model_of(wire::Bin_SUB, 1);
  expect_same(model.chained({&x, &scalar}, {"stage_0", "stage_1"}).at(0), model.output({&x, &scalar}));
  expect_same(model.chained({&scalar, &x}, {"stage_0", "stage_1"}).at(0), model.output({&scalar, &x}));
}

TEST(BinaryOpStages, VectorThroughReshapeAndTranspose) {
  Rng rng(63);
  const Tensor x = random_tensor(rng, {2, 3, 4});
  const Tensor vector = random_tensor(rng, {4});
  const OneOp model = model_of(wire::Bin_SUB);
  expect_same(model.chained({&x, &vector}, {"stage_reshape", "stage_perm"}).at(0), model.output({&x, &vector}));
  expect_same(model.chained({&vector, &x}, {"stage_reshape", "stage_perm"}).at(0), model.output({&vector, &x}));
}

TEST(BinaryOp, WhatCannotBeComputedIsRefused) {
  const Tensor a = integers({2}, {1, 2});
  const Tensor zero = integers({2}, {1, 0});
  for (wire::Bin op : {wire::Bin_REALDIV, wire::Bin_FLOORDIV, wire::Bin_FLOORMOD, wire::Bin_MOD})
    model_of(op).expect_error({&a, &zero}, "division by zero");
  for (wire::Bin op : {wire::Bin_DIV, wire::Bin_ATAN2, wire::Bin_MUL_SILU})
    model_of(op).expect_error({&a, &zero}, "not for integers");
  const Tensor real = floats({2}, {1, 2});
  for (wire::Bin op : {wire::Bin_BITWISE_AND, wire::Bin_BITWISE_OR, wire::Bin_BITWISE_XOR})
    model_of(op).expect_error({&a, &real}, "bits of floats");
  for (int op : {18, 27, 28, 30, -1, kIntMin}) model_of(op).expect_error({&a, &a}, "unknown operation");
  for (int activation : {2, -1, kIntMin}) model_of(wire::Bin_ADD, activation).expect_error({&a, &a}, "activation");
  const Tensor three = integers({3}, {1, 2, 3});
  model_of(wire::Bin_ADD).expect_error({&a, &three}, "shapes that do not broadcast");
  model_of(wire::Bin_ADD).expect_error({&a}, "one operand");
  model_of(wire::Bin_ADD).expect_error({&a, nullptr}, "one operand");
  OneOp(wire::Kind_BinaryOp, 2).expect_error({&a, &a}, "no parameters");
}

OneOp eltwise_model(int kind, int operands, const std::vector<float>& coefficients = {}) {
  return OneOp(wire::Kind_Eltwise, operands, wire::OpParameter_Eltwise, [=](Builder& b) {
    return wire::CreateEltwiseDirect(b, static_cast<wire::EltKind>(kind),
                                     coefficients.empty() ? nullptr : &coefficients)
        .Union();
  });
}

TEST(Eltwise, EveryKindOfSeveralOperands) {
  Rng rng(64);
  for (wire::EltKind kind : {wire::EltKind_PROD, wire::EltKind_SUM, wire::EltKind_MAXIMUM, wire::EltKind_SUB}) {
    for (int n = 0; n < 20; ++n) {
      const Dims dims = random_dims(rng, pick(rng, 0, 4), 1, 4);
      const int operands = pick(rng, 1, 4);
      std::vector<Tensor> held;
      for (int k = 0; k < operands; ++k) held.push_back(random_tensor(rng, dims));
      std::vector<const Tensor*> inputs;
      for (const Tensor& t : held) inputs.push_back(&t);
      expect_tensor(eltwise_model(kind, operands).output(inputs), DType::f32, dims, [&](const Dims& o) {
        double v = at(held[0], o);
        double absolute = std::abs(v);
        for (std::size_t k = 1; k < held.size(); ++k) {
          const double x = at(held[k], o);
          absolute += std::abs(x);
          if (kind == wire::EltKind_PROD) v *= x;
          if (kind == wire::EltKind_SUM) v += x;
          if (kind == wire::EltKind_SUB) v -= x;
          if (kind == wire::EltKind_MAXIMUM) v = std::max(v, x);
        }
        return Exact{v, kind == wire::EltKind_MAXIMUM ? 0 : 1e-6 * (absolute + std::abs(v))};
      });
      if (HasFatalFailure()) FAIL() << "kind " << kind << ", case " << n;
    }
  }
}

TEST(Eltwise, IntegersWrap) {
  constexpr int kIntMax = std::numeric_limits<int>::max();
  const Tensor a = Tensor::of({kIntMax, 1 << 16, -5});
  const Tensor b = Tensor::of({1, 1 << 16, 7});
  expect_same(eltwise_model(wire::EltKind_SUM, 2).output({&a, &b}), Tensor::of({kIntMin, 1 << 17, 2}));
  expect_same(eltwise_model(wire::EltKind_SUB, 2).output({&a, &b}), Tensor::of({kIntMax - 1, 0, -12}));
  expect_same(eltwise_model(wire::EltKind_PROD, 2).output({&a, &b}), Tensor::of({kIntMax, 0, -35}));
  expect_same(eltwise_model(wire::EltKind_MAXIMUM, 2).output({&a, &b}), Tensor::of({kIntMax, 1 << 16, 7}));
}

TEST(Eltwise, WhatCannotBeComputedIsRefused) {
  Rng rng(65);
  const Tensor a = random_tensor(rng, {2, 2});
  const Tensor b = random_tensor(rng, {2});
  const Tensor i = random_integers(rng, {2, 2}, 0, 3);
  eltwise_model(wire::EltKind_SUM, 2).expect_error({&a, &b}, "shapes");
  eltwise_model(wire::EltKind_SUM, 2, {1, -1}).expect_error({&a, &a}, "coefficients");
  eltwise_model(7, 2).expect_error({&a, &a}, "kind");
  eltwise_model(wire::EltKind_SUM, 2).expect_error({&a, &i}, "an integer operand");
  eltwise_model(wire::EltKind_SUM, 2).expect_error({&i, &a}, "an integer operand");
  eltwise_model(wire::EltKind_SUM, 2).expect_error({}, "no operands");
  OneOp(wire::Kind_Eltwise, 2).expect_error({&a, &a}, "no parameters");
}

}  // namespace
}  // namespace qnndbg::test
