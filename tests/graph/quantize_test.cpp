#include "graph/quantize.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "graph/model.h"
#include "graph/model_builder.h"

namespace qnndbg {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(EncodingOfRange, SignedEightBitsLieAroundZero) {
  EXPECT_EQ(encoding_of_range(DType::sfixed8, {-2, 1}), (Encoding{2.0F / 127, 0}));
  EXPECT_EQ(encoding_of_range(DType::sfixed8, {-1, 254}), (Encoding{2, 0}));
}

TEST(EncodingOfRange, UnsignedSixteenBitsSpendAllIntegersAndKeepZeroExact) {
  const Encoding both = encoding_of_range(DType::ufixed16, {-1, 3});
  EXPECT_EQ(both, (Encoding{4.0F / 65535, -16384}));
  const ValueRange held = value_range(DType::ufixed16, both);
  EXPECT_NEAR(held.low, -1, both.scale);
  EXPECT_NEAR(held.high, 3, both.scale);
  EXPECT_EQ(encoding_of_range(DType::ufixed16, {0, 65535}), (Encoding{1, 0}));
  EXPECT_EQ(encoding_of_range(DType::ufixed16, {-65535, 0}), (Encoding{1, -65535}));
}

TEST(EncodingOfRange, AConstantTensorIsHeldTogetherWithZero) {
  EXPECT_EQ(encoding_of_range(DType::sfixed8, {127, 127}), (Encoding{1, 0}));
  EXPECT_EQ(encoding_of_range(DType::ufixed16, {65535, 65535}), (Encoding{1, 0}));
  EXPECT_EQ(encoding_of_range(DType::ufixed16, {-65535, -65535}), (Encoding{1, -65535}));
}

TEST(EncodingOfRange, EveryRangeGivesAValidScale) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  for (const DType type : {DType::sfixed8, DType::ufixed16}) {
    for (const ValueRange range : {ValueRange{0, 0}, ValueRange{0, 1e-45}, ValueRange{-1e-45, 0},
                                   ValueRange{-kLargest, kLargest}, ValueRange{-1e-30, 1e30}}) {
      const Encoding encoding = encoding_of_range(type, range);
      EXPECT_TRUE(is_valid(encoding)) << range.low << " " << range.high;
      EXPECT_TRUE(std::isnormal(static_cast<float>(encoding.scale))) << range.low << " " << range.high;
      EXPECT_LE(encoding.offset, 0);
      EXPECT_GE(encoding.offset, -65535);
    }
  }
  EXPECT_EQ(encoding_of_range(DType::sfixed8, {0, 0}), (Encoding{1.0F / 127, 0}));
}

TEST(ObservedRangeTest, TakesValuesInAndSeesThoseThatAreNone) {
  ObservedRange range;
  range.add(std::vector<float>{3, -1});
  range.add(std::vector<float>{2});
  EXPECT_EQ(range.low, -1);
  EXPECT_EQ(range.high, 3);
  EXPECT_TRUE(range.finite);
  range.add(std::vector<float>{kNaN, kInfinity});
  EXPECT_FALSE(range.finite);
  EXPECT_EQ(range.high, 3);
}

/// in(0) -> Sigmoid(1) -> ReLU(2); Concat(1, 4) = 3, 4 = in(0) + Const(5); Interp(3, Const 6) = 7.
Graph graph_of_concat() {
  test::NetSpec net;
  net.tensors = {"in", "a", "b", "cat", "sum", "c", "scales", "up"};
  net.ops = {test::input_op("in", 0, {1, 4, 2, 2}),     {wire::Kind_UnaryOp, "a", {0}, {1}},
             {wire::Kind_ReLU, "b", {1}, {2}},          {wire::Kind_Const, "c", {}, {5}},
             {wire::Kind_BinaryOp, "sum", {0, 5}, {4}}, {wire::Kind_Concat, "cat", {1, 4}, {3}},
             {wire::Kind_Const, "scales", {}, {6}},     {wire::Kind_Interp, "up", {3, 6}, {7}}};
  const test::ModelBytes bytes = test::build(net);
  Result<Model> model = Model::parse(bytes.bytes(), "m");
  EXPECT_TRUE(model) << (model ? "" : model.error().message);
  return model->graph();
}

std::vector<std::optional<ObservedRange>> highest(std::vector<double> highs) {
  std::vector<std::optional<ObservedRange>> ranges;
  for (const double high : highs) ranges.push_back(ObservedRange{0, high, true});
  return ranges;
}

std::vector<double> steps(const std::vector<std::optional<Encoding>>& encodings) {
  std::vector<double> list;
  for (const auto& encoding : encodings) list.push_back(encoding ? std::round(encoding->scale * 127) : -1);
  return list;
}

TEST(ChooseEncodings, WhatOperatorsOnlyMoveSharesOneEncoding) {
  // a, its ReLU, the sum, what they are joined to and its resized form take the largest; the input and the constant
  // operand have their own, and the resize's factors are no data.
  const auto encodings = choose_encodings(graph_of_concat(), highest({1, 2, 3, 6, 6, 5, 9, 4}), DType::sfixed8);
  EXPECT_THAT(steps(encodings), ElementsAre(1, 6, 6, 6, 6, 5, -1, 6));
}

TEST(ChooseEncodings, OneTensorThatIsNotFiniteTakesTheEncodingFromAllThatShare) {
  auto ranges = highest({1, 2, 3, 6, 6, 5, 9, 4});
  ranges[4]->finite = false;
  EXPECT_THAT(steps(choose_encodings(graph_of_concat(), ranges, DType::ufixed16)), testing::Contains(-1).Times(6));
  EXPECT_THAT(steps(choose_encodings(graph_of_concat(), ranges, DType::sfixed8)),
              ElementsAre(1, -1, -1, -1, -1, 5, -1, -1));
}

TEST(ChooseEncodings, WhatTheDeviceGetsWrongStaysInFloats) {
  test::NetSpec net;
  net.tensors = {"in", "softmax", "norm", "flat"};
  net.ops = {test::input_op("in", 0, {1, 4}),
             {wire::Kind_Softmax, "softmax", {0}, {1}},
             {wire::Kind_LayerNorm, "norm", {0}, {2}},
             {wire::Kind_Flatten, "flat", {1}, {3}}};
  const test::ModelBytes bytes = test::build(net);
  const Result<Model> model = Model::parse(bytes.bytes(), "m");
  ASSERT_TRUE(model) << model.error().message;
  const auto ranges = highest({1, 2, 3, 2});
  EXPECT_THAT(steps(choose_encodings(model->graph(), ranges, DType::sfixed8)), ElementsAre(1, -1, 3, -1));
  const auto wide = choose_encodings(model->graph(), ranges, DType::ufixed16);
  EXPECT_TRUE(wide[1]);
  EXPECT_FALSE(wide[2]);
}

TEST(ChooseEncodings, ATensorWithoutARangeHasNone) {
  const std::vector<std::optional<ObservedRange>> none(8);
  EXPECT_THAT(choose_encodings(graph_of_concat(), none, DType::sfixed8), Each(std::nullopt));
}

TEST(QuantizeWeights, EveryChannelHasItsOwnScale) {
  const auto weights = quantize_weights(std::vector<float>{127, -63.6F, 254, 1}, {}, 2, 1);
  ASSERT_TRUE(weights);
  EXPECT_THAT(weights->scales, ElementsAre(1, 2));
  EXPECT_THAT(weights->integers, ElementsAre(127, -64, 127, 0));
}

TEST(QuantizeWeights, AChannelOfZerosKeepsAFineScale) {
  const auto weights = quantize_weights(std::vector<float>{0, 0, 127, 0}, std::vector<float>{0.5F, 0}, 2, 0.25);
  ASSERT_TRUE(weights);
  EXPECT_THAT(weights->scales, ElementsAre(1.0F / 127, 1));
  EXPECT_THAT(weights->integers, ElementsAre(0, 0, 127, 0));
}

TEST(QuantizeWeights, TheBiasFitsIntoThirtyTwoBits) {
  const float bias = 100;
  const double input_scale = 0.01;
  const auto weights = quantize_weights(std::vector<float>{1e-10F}, std::vector<float>{bias}, 1, input_scale);
  ASSERT_TRUE(weights);
  EXPECT_LT(bias / (input_scale * weights->scales[0]), 0x1p31);
}

TEST(QuantizeWeights, WhatCannotBeQuantizedIsSaid) {
  EXPECT_FALSE(quantize_weights(std::vector<float>{1, kNaN}, {}, 2, 1));
  EXPECT_FALSE(quantize_weights(std::vector<float>{1, 2}, std::vector<float>{0, kInfinity}, 2, 1));
  EXPECT_FALSE(quantize_weights(std::vector<float>{1, 2, 3}, {}, 2, 1));
  EXPECT_FALSE(quantize_weights(std::vector<float>{1, 2}, std::vector<float>{0}, 2, 1));
  EXPECT_FALSE(quantize_weights({}, {}, 2, 1));
  EXPECT_FALSE(quantize_weights(std::vector<float>{1, 2}, {}, 0, 1));
}

}  // namespace
}  // namespace qnndbg
