// Element-wise functions of one operand: UnaryOp, the activations, AbsVal, Cast, Scale, PReLU.
#include "oracle.h"

namespace qnndbg::test {
namespace {

OneOp unary_model(int op) {
  return OneOp(wire::Kind_UnaryOp, 1, wire::OpParameter_UnaryOp,
               [op](Builder& b) { return wire::CreateUnaryOp(b, static_cast<wire::Un>(op)).Union(); });
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double tanh_gelu(double x) {
  // tanh as the continued fraction cut at x^2/13, which is MNN's quotient of polynomials.
  const double t = std::min(5.0, std::max(-5.0, 0.79788458 * (x + 0.044715 * x * x * x)));
  double fraction = 13;
  for (int odd = 11; odd >= 1; odd -= 2) fraction = odd + t * t / fraction;
  return 0.5 * x * (1 + t / fraction);
}

struct Function {
  wire::Un op;
  double (*f)(double);
  float low = -4, high = 4;
};

constexpr Function kFunctions[] = {
    {wire::Un_ABS, [](double x) { return x < 0 ? -x : x; }},
    {wire::Un_NEG, [](double x) { return -x; }},
    {wire::Un_FLOOR, [](double x) { return std::floor(x); }},
    {wire::Un_CEIL, [](double x) { return std::ceil(x); }},
    {wire::Un_SQUARE, [](double x) { return x * x; }},
    {wire::Un_SQRT, [](double x) { return std::sqrt(x); }, 0, 9},
    {wire::Un_RSQRT, [](double x) { return 1 / std::sqrt(x); }, 0.01F, 9},
    {wire::Un_EXP, [](double x) { return std::exp(x); }},
    {wire::Un_LOG, [](double x) { return std::log(x); }, 0.01F, 9},
    {wire::Un_SIN, [](double x) { return std::sin(x); }},
    {wire::Un_COS, [](double x) { return std::cos(x); }},
    {wire::Un_TAN, [](double x) { return std::tan(x); }, -1.4F, 1.4F},
    {wire::Un_ASIN, [](double x) { return std::asin(x); }, -1, 1},
    {wire::Un_ACOS, [](double x) { return std::acos(x); }, -1, 1},
    {wire::Un_ATAN, [](double x) { return std::atan(x); }},
    {wire::Un_RECIPROCAL, [](double x) { return 1 / x; }, 0.1F, 4},
    {wire::Un_LOG1P, [](double x) { return std::log1p(x); }, -0.9F, 9},
    {wire::Un_BNLL, [](double x) { return std::log(1 + std::exp(x)); }, -20, 80},
    {wire::Un_ACOSH, [](double x) { return std::acosh(x); }, 1, 9},
    {wire::Un_SINH, [](double x) { return (std::exp(x) - std::exp(-x)) / 2; }},
    {wire::Un_ASINH, [](double x) { return std::asinh(x); }},
    {wire::Un_ATANH, [](double x) { return std::atanh(x); }, -0.99F, 0.99F},
    {wire::Un_SIGN, [](double x) { return x > 0   ? 1.0
                                          : x < 0 ? -1.0
                                                  : 0.0; }},
    {wire::Un_ROUND, [](double x) { return x < 0 ? std::ceil(x - 0.5) : std::floor(x + 0.5); }},
    {wire::Un_COSH, [](double x) { return (std::exp(x) + std::exp(-x)) / 2; }},
    {wire::Un_ERF, [](double x) { return std::erf(x); }},
    {wire::Un_ERFC, [](double x) { return std::erfc(x); }},
    {wire::Un_EXPM1, [](double x) { return std::expm1(x); }},
    {wire::Un_SIGMOID, sigmoid, -60, 60},
    {wire::Un_TANH, [](double x) { return std::tanh(x); }, -20, 20},
    {wire::Un_HARDSWISH, [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }, -6, 6},
    {wire::Un_GELU, tanh_gelu, -8, 8},
    {wire::Un_GELU_STANDARD, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, -8, 8},
    {wire::Un_SILU, [](double x) { return x * sigmoid(x); }, -60, 60},
};

TEST(UnaryOp, EveryFunction) {
  Rng rng(70);
  for (const Function& function : kFunctions) {
    const OneOp model = unary_model(function.op);
    for (int n = 0; n < 8; ++n) {
      const Tensor x = random_tensor(rng, random_dims(rng, pick(rng, 0, 4)), function.low, function.high);
      expect_tensor(model.chained({&x}, {}).at(0), DType::f32, x.dims(), [&](const Dims& o) {
        const double v = at(x, o);
        const double y = function.f(v);
        return Exact{y, 2e-6 * std::max({1.0, std::abs(y), std::abs(v)})};
      });
      if (HasFailure()) FAIL() << "function " << function.op;
    }
  }
}

TEST(UnaryOp, InverseErrorFunctionUndoesErf) {
  Rng rng(71);
  const Tensor y = random_tensor(rng, {200}, -0.999F, 0.999F);
  const Tensor x = unary_model(wire::Un_ERFINV).output({&y});
  for (std::int64_t i = 0; i < 200; ++i) EXPECT_NEAR(std::erf(at(x, {i})), at(y, {i}), 1e-6);
  const Tensor edges = floats({5}, {0, 1, -1, 1.5F, NAN});
  const Tensor out = unary_model(wire::Un_ERFINV).output({&edges});
  EXPECT_EQ(at(out, {0}), 0);
  EXPECT_EQ(at(out, {1}), HUGE_VAL);
  EXPECT_EQ(at(out, {2}), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(at(out, {3})));
  EXPECT_TRUE(std::isnan(at(out, {4})));
}

TEST(UnaryOp, TiesRoundAwayFromZero) {
  const Tensor x = floats({6}, {0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 0});
  expect_same(unary_model(wire::Un_ROUND).output({&x}), floats({6}, {1, 2, 3, -1, -2, 0}));
}

TEST(UnaryOp, Integers) {
  const Tensor x = integers({5}, {3, -3, 0, std::numeric_limits<int>::min(), 1 << 16});
  const int lowest = std::numeric_limits<int>::min();
  expect_same(unary_model(wire::Un_ABS).output({&x}), integers({5}, {3, 3, 0, lowest, 1 << 16}));
  expect_same(unary_model(wire::Un_NEG).output({&x}), integers({5}, {-3, 3, 0, lowest, -(1 << 16)}));
  expect_same(unary_model(wire::Un_SQUARE).output({&x}), integers({5}, {9, 9, 0, 0, 0}));
  expect_same(unary_model(wire::Un_SIGN).output({&x}), integers({5}, {1, -1, 0, -1, 1}));
  unary_model(wire::Un_EXP).expect_error({&x}, "integers");
}

TEST(UnaryOpStages, SiluAsGateAndProduct) {
  Rng rng(72);
  const Tensor x = random_tensor(rng, {2, 3, 4}, -8, 8);
  const OneOp model = unary_model(wire::Un_SILU);
  expect_same(model.chained({&x}, {"Stage"}).at(0), model.output({&x}), 1e-6);
}

TEST(UnaryOp, UnknownFunctionsAreRefused) {
  Rng rng(73);
  const Tensor x = random_tensor(rng, {2});
  for (int op : {35, -1, std::numeric_limits<int>::min()}) unary_model(op).expect_error({&x}, "function");
  unary_model(wire::Un_ABS).expect_error({}, "no operands");
  OneOp(wire::Kind_UnaryOp, 1).expect_error({&x}, "no parameters");
}

/// The operator is y = f(x), on random tensors and at zero.
void expect_function(const OneOp& model, const std::function<double(double)>& f, double tolerance) {
  Rng rng(74);
  for (int n = 0; n < 10; ++n) {
    Tensor x = random_tensor(rng, random_dims(rng, pick(rng, 1, 4)), -9, 9);
    x.f32()[0] = 0;
    expect_tensor(model.output({&x}), DType::f32, x.dims(), [&](const Dims& o) {
      const double y = f(at(x, o));
      return Exact{y, tolerance * std::max(1.0, std::abs(y))};
    });
  }
  const Tensor ints = random_integers(rng, {3}, -3, 3);
  model.expect_error({&ints}, "integers");
  model.expect_error({}, "no operands");
}

TEST(Activations, MatchTheirFormulas) {
  for (float slope : {0.0F, 0.1F, -0.5F, 2.0F}) {
    const OneOp relu(wire::Kind_ReLU, 1, wire::OpParameter_Relu,
                     [=](Builder& b) { return wire::CreateRelu(b, slope).Union(); });
    expect_function(relu, [=](double x) { return x < 0 ? slope * x : x; }, 1e-6);
  }
  expect_function(OneOp(wire::Kind_ReLU, 1), [](double x) { return std::max(x, 0.0); }, 0);
  const OneOp clip(wire::Kind_ReLU6, 1, wire::OpParameter_Relu6,
                   [](Builder& b) { return wire::CreateRelu6(b, -1.5F, 2.25F).Union(); });
  expect_function(clip, [](double x) { return std::min(std::max(x, -1.5), 2.25); }, 0);
  expect_function(OneOp(wire::Kind_ReLU6, 1), [](double x) { return std::min(std::max(x, 0.0), 6.0); }, 0);
  expect_function(OneOp(wire::Kind_Sigmoid, 1), sigmoid, 1e-6);
  const OneOp elu(wire::Kind_ELU, 1, wire::OpParameter_ELU,
                  [](Builder& b) { return wire::CreateELU(b, 1.25F).Union(); });
  expect_function(elu, [](double x) { return x >= 0 ? x : 1.25 * (std::exp(x) - 1); }, 1e-6);
  const OneOp selu(wire::Kind_Selu, 1, wire::OpParameter_Selu,
                   [](Builder& b) { return wire::CreateSelu(b, 1.5F, 1.25F).Union(); });
  expect_function(selu, [](double x) { return 1.5 * (x > 0 ? x : 1.25 * (std::exp(x) - 1)); }, 1e-6);
  expect_function(OneOp(wire::Kind_AbsVal, 1), [](double x) { return std::abs(x); }, 0);
  Rng rng(75);
  const Tensor x = random_tensor(rng, {2});
  OneOp(wire::Kind_ELU, 1).expect_error({&x}, "no parameters");
  OneOp(wire::Kind_Selu, 1).expect_error({&x}, "no parameters");
}

TEST(PRelu, OneSlopeOrOnePerChannel) {
  Rng rng(76);
  for (int n = 0; n < 30; ++n) {
    const Tensor x = random_tensor(rng, random_dims(rng, pick(rng, 2, 4)));
    const std::vector<float> slope = random_floats(rng, coin(rng) ? 1 : x.dims()[1]);
    const OneOp model(wire::Kind_PReLU, 1, wire::OpParameter_PRelu, [&](Builder& b) {
      return wire::CreatePReluDirect(b, static_cast<int>(slope.size()), &slope).Union();
    });
    expect_tensor(model.output({&x}), DType::f32, x.dims(), [&](const Dims& o) {
      const double v = at(x, o);
      return Exact{v < 0 ? v * slope[slope.size() == 1 ? 0 : u(o[1])] : v, 1e-6};
    });
  }
  const std::vector<float> three{1, 2, 3};
  const OneOp model(wire::Kind_PReLU, 1, wire::OpParameter_PRelu,
                    [&](Builder& b) { return wire::CreatePReluDirect(b, 3, &three).Union(); });
  const Tensor two = random_tensor(rng, {1, 2, 3});
  model.expect_error({&two}, "channels");
  const Tensor vector = random_tensor(rng, {3});
  model.expect_error({&vector}, "rank 1");
  const Tensor ints = random_integers(rng, {1, 3}, -3, 3);
  model.expect_error({&ints}, "integers");
  OneOp(wire::Kind_PReLU, 1).expect_error({&two}, "no slopes");
}

OneOp scale_model(const std::vector<float>& scale, const std::vector<float>& bias) {
  return OneOp(wire::Kind_Scale, 1, wire::OpParameter_Scale, [=](Builder& b) {
    return wire::CreateScaleDirect(b, static_cast<int>(scale.size()), &scale, bias.empty() ? nullptr : &bias).Union();
  });
}

TEST(Scale, ChannelByChannel) {
  Rng rng(77);
  for (int n = 0; n < 30; ++n) {
    const Tensor x = random_tensor(rng, random_dims(rng, pick(rng, 2, 4)));
    const std::vector<float> scale = random_floats(rng, x.dims()[1]);
    const std::vector<float> bias = coin(rng) ? random_floats(rng, x.dims()[1]) : std::vector<float>{};
    const OneOp model = scale_model(scale, bias);
    const Tensor y = model.output({&x});
    expect_tensor(y, DType::f32, x.dims(), [&](const Dims& o) {
      return Exact{at(x, o) * scale[u(o[1])] + (bias.empty() ? 0 : bias[u(o[1])]), 1e-6};
    });
    expect_same(model.chained({&x}, {"Stage"}).at(0), y);
  }
  const Tensor x = random_tensor(rng, {1, 2, 3});
  scale_model({1, 2, 3}, {}).expect_error({&x}, "channels");
  scale_model({1, 2}, {1}).expect_error({&x}, "one bias for two channels");
  scale_model({}, {}).expect_error({&x}, "no scales");
  const Tensor vector = random_tensor(rng, {2});
  scale_model({1, 2}, {}).expect_error({&vector}, "rank 1");
  OneOp(wire::Kind_Scale, 1).expect_error({&x}, "no parameters");
}

OneOp cast_model(wire::DType to) {
  return OneOp(wire::Kind_Cast, 1, wire::OpParameter_CastParam,
               [to](Builder& b) { return wire::CreateCastParam(b, wire::DType_DT_INVALID, to).Union(); });
}

TEST(Cast, FloatsAndIntegers) {
  const Tensor x = floats({8}, {2.7F, -2.7F, 0.3F, 0, 3e9F, -3e9F, NAN, INFINITY});
  constexpr int kLow = std::numeric_limits<int>::min();
  constexpr int kHigh = std::numeric_limits<int>::max();
  const Tensor truncated = integers({8}, {2, -2, 0, 0, kHigh, kLow, 0, kHigh});
  expect_same(cast_model(wire::DType_DT_INT32).output({&x}), truncated);
  expect_same(cast_model(wire::DType_DT_INT64).output({&x}), truncated);
  expect_same(cast_model(wire::DType_DT_FLOAT).output({&x}), x);
  expect_same(cast_model(wire::DType_DT_BOOL).output({&x}), integers({8}, {1, 1, 1, 0, 1, 1, 1, 1}));
  const Tensor i = integers({4}, {5, -7, 0, 1 << 24});
  expect_same(cast_model(wire::DType_DT_DOUBLE).output({&i}), floats({4}, {5, -7, 0, 16777216}));
  expect_same(cast_model(wire::DType_DT_INT32).output({&i}), i);
  expect_same(cast_model(wire::DType_DT_BOOL).output({&i}), integers({4}, {1, 1, 0, 1}));
  // Bytes wrap.
  const Tensor wide = integers({5}, {300, -2, 127, 128, 255});
  expect_same(cast_model(wire::DType_DT_UINT8).output({&wide}), integers({5}, {44, 254, 127, 128, 255}));
  expect_same(cast_model(wire::DType_DT_INT8).output({&wide}), integers({5}, {44, -2, 127, -128, -1}));
  const Tensor real = floats({3}, {300.9F, -2.9F, 0.9F});
  expect_same(cast_model(wire::DType_DT_UINT8).output({&real}), integers({3}, {44, 254, 0}));
  cast_model(wire::DType_DT_STRING).expect_error({&i}, "a cast to text");
  cast_model(static_cast<wire::DType>(999)).expect_error({&i}, "an unknown type");
  OneOp(wire::Kind_Cast, 1).expect_error({&i}, "no parameters");
}

}  // namespace
}  // namespace qnndbg::test
