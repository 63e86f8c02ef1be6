#include "graph/quantized_model.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "graph/model_builder.h"

namespace qnndbg {
namespace {

using test::Builder;
using test::ModelBytes;
using test::NetSpec;
using test::OpSpec;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kChannels = 3;

OpSpec convolution(std::vector<float> weight, std::vector<float> bias) {
  OpSpec op{wire::Kind_Convolution, "conv", {0}, {1}, wire::OpParameter_Convolution2D};
  op.main = [weight, bias](Builder& builder) {
    wire::Convolution2DCommonBuilder common(builder);
    common.add_outputCount(kChannels);
    common.add_inputCount(2);
    common.add_relu(true);
    const auto common_table = common.Finish();
    return wire::CreateConvolution2DDirect(builder, common_table, &weight, &bias).Union();
  };
  return op;
}

OpSpec constant(const std::string& name, int tensor, std::vector<float> values) {
  OpSpec op{wire::Kind_Const, name, {}, {tensor}, wire::OpParameter_Blob};
  op.main = [values](Builder& builder) {
    const std::vector<std::int32_t> dims{static_cast<std::int32_t>(values.size())};
    return wire::CreateBlobDirect(builder, &dims, wire::Layout_NCHW, wire::DType_DT_FLOAT, nullptr, nullptr, nullptr,
                                  nullptr, &values)
        .Union();
  };
  return op;
}

OpSpec add(std::vector<int> inputs, int output) {
  OpSpec op{wire::Kind_BinaryOp, "add", std::move(inputs), {output}, wire::OpParameter_BinaryOp};
  op.main = [](Builder& builder) {
    return wire::CreateBinaryOp(builder, wire::Bin_ADD, wire::DType_DT_FLOAT, 1).Union();
  };
  return op;
}

const std::vector<float> kWeights{1, -2, 0.25F, 0.5F, 0, 0.001F};
const std::vector<float> kBias{0.5F, -0.5F, 3};

/// in -> 1x1 convolution -> + constant.
NetSpec small_net() {
  NetSpec net;
  net.tensors = {"in", "y", "c", "out"};
  net.ops = {test::input_op("in", 0, {1, 2, 4, 4}), convolution(kWeights, kBias), constant("c", 2, {0.25F}),
             add({1, 2}, 3)};
  net.outputs = {"out"};
  net.version = "3.6.1";
  return net;
}

std::vector<std::optional<ObservedRange>> small_ranges() {
  return {ObservedRange{-1, 1, true}, ObservedRange{0, 4, true}, ObservedRange{0, 0.25, true},
          ObservedRange{-0.5, 4.25, true}};
}

/// The model with the bytes that it stands on.
struct Kept {
  explicit Kept(const NetSpec& net) : bytes(test::build(net)), model(*Model::parse(bytes.bytes(), "m.mnn")) {}
  ModelBytes bytes;
  Model model;
};

TEST(QuantizedModel, DeclaresEncodingsAndStoresIntegerWeights) {
  const Kept kept(small_net());
  const auto quantized = quantize_model(kept.model, small_ranges(), DType::sfixed8);
  ASSERT_TRUE(quantized) << quantized.error().message;
  EXPECT_EQ(quantized->tensors, 4);
  EXPECT_EQ(quantized->weights, 1);
  EXPECT_TRUE(quantized->left.empty());

  const auto again = Model::parse(quantized->bytes, "q");
  ASSERT_TRUE(again) << again.error().message;
  const Graph& graph = again->graph();
  EXPECT_THAT(graph.outputs, ElementsAre(3));
  EXPECT_EQ(again->converter_version(), "3.6.1");
  for (const auto& [tensor, largest] :
       std::vector<std::pair<std::size_t, float>>{{0, 1}, {1, 4}, {2, 0.25F}, {3, 4.25F}}) {
    EXPECT_EQ(graph.tensors[tensor].encoding, (Encoding{static_cast<float>(largest / 127.0), 0})) << tensor;
    EXPECT_EQ(graph.tensors[tensor].quantized_type, DType::sfixed8) << tensor;
  }
  const auto scales = again->integer_weight_scales(1);
  ASSERT_TRUE(scales) << scales.error().message;
  ASSERT_EQ(scales->size(), 3U);
  const auto weights = again->convolution_weight(1);
  ASSERT_TRUE(weights) << weights.error().message;
  ASSERT_EQ(weights->size(), kWeights.size());
  for (std::size_t i = 0; i < kWeights.size(); ++i) {
    const float scale = scales->values()[i / 2];
    EXPECT_NEAR(weights->values()[i], kWeights[i], scale * 0.5001F) << i;
    const float q = weights->values()[i] / scale;
    EXPECT_NEAR(q, std::round(q), 1e-4F) << i;
  }
  EXPECT_THAT(again->convolution_bias(1)->values(), testing::ElementsAreArray(kBias));
  EXPECT_TRUE(again->wire_op(1).main_as_Convolution2D()->common()->relu());
  EXPECT_THAT(again->constant(2)->f32(), ElementsAre(0.25F));
  EXPECT_EQ(again->wire_op(3).main_as_BinaryOp()->activationType(), 1);
}

TEST(QuantizedModel, SixteenBitsHaveTheOffsetInQnnsSign) {
  const Kept kept(small_net());
  const auto quantized = quantize_model(kept.model, small_ranges(), DType::ufixed16);
  ASSERT_TRUE(quantized) << quantized.error().message;
  const auto again = Model::parse(quantized->bytes, "q");
  ASSERT_TRUE(again) << again.error().message;
  const TensorNode& out = again->graph().tensors[3];
  EXPECT_EQ(out.quantized_type, DType::ufixed16);
  EXPECT_EQ(out.encoding, (Encoding{static_cast<float>(4.75 / 65535), -6898}));
}

TEST(QuantizedModel, LongRowsOfWeightsKeepTheirDims) {
  std::vector<float> weights(3 * 70'000);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 255) - 127;
  NetSpec net = small_net();
  net.ops[0] = test::input_op("in", 0, {1, 70'000, 1, 1});
  net.ops[1].main = [&weights](Builder& builder) {
    wire::Convolution2DCommonBuilder common(builder);
    common.add_outputCount(kChannels);
    common.add_inputCount(70'000);
    const auto common_table = common.Finish();
    return wire::CreateConvolution2DDirect(builder, common_table, &weights, &kBias).Union();
  };
  const Kept kept(net);
  const auto quantized = quantize_model(kept.model, small_ranges(), DType::sfixed8);
  ASSERT_TRUE(quantized) << quantized.error().message;
  const auto again = Model::parse(quantized->bytes, "q");
  ASSERT_TRUE(again) << again.error().message;
  const auto stored = again->convolution_weight(1);
  ASSERT_TRUE(stored) << stored.error().message;
  // Every channel reaches 127, so that its scale is 1 and its integers are the weights.
  EXPECT_THAT(stored->values(), testing::ElementsAreArray(weights));
}

TEST(QuantizedModel, WhatIsNotFiniteStaysInFloats) {
  const Kept kept(small_net());
  auto ranges = small_ranges();
  ranges[1]->finite = false;
  const auto quantized = quantize_model(kept.model, ranges, DType::sfixed8);
  ASSERT_TRUE(quantized) << quantized.error().message;
  ASSERT_EQ(quantized->left.size(), 1U);
  EXPECT_EQ(quantized->left[0].tensor, 1);
  EXPECT_EQ(quantized->left[0].op, 1);
  EXPECT_EQ(quantized->weights, 0);
  const auto again = Model::parse(quantized->bytes, "q");
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->graph().tensors[1].encoding);
  EXPECT_THAT(again->convolution_weight(1)->values(), testing::ElementsAreArray(kWeights));
}

TEST(QuantizedModel, WeightsThatAreNotFiniteStayInFloats) {
  NetSpec net = small_net();
  net.ops[1] = convolution({std::numeric_limits<float>::infinity(), 0, 0, 0, 0, 0}, kBias);
  const Kept kept(net);
  const auto quantized = quantize_model(kept.model, small_ranges(), DType::sfixed8);
  ASSERT_TRUE(quantized) << quantized.error().message;
  ASSERT_EQ(quantized->left.size(), 1U);
  EXPECT_EQ(quantized->left[0].tensor, -1);
  EXPECT_EQ(quantized->left[0].op, 1);
}

TEST(QuantizedModel, AQuantizedModelIsRefused) {
  NetSpec net = small_net();
  net.quants = {{1, 0.1F}};
  const Kept kept(net);
  const auto quantized = quantize_model(kept.model, small_ranges(), DType::sfixed8);
  ASSERT_FALSE(quantized);
  EXPECT_THAT(quantized.error().message, HasSubstr("quantized already (t1"));
}

TEST(QuantizedModel, AnOperatorThatCannotBeCopiedIsNamed) {
  NetSpec net = small_net();
  net.ops.push_back({wire::Kind_Extra, "custom", {3}, {4}, wire::OpParameter_Extra, [](Builder& builder) {
                       return wire::CreateExtra(builder).Union();
                     }});
  net.tensors.push_back("z");
  const Kept kept(net);
  auto ranges = small_ranges();
  ranges.emplace_back();
  const auto quantized = quantize_model(kept.model, ranges, DType::sfixed8);
  ASSERT_FALSE(quantized);
  EXPECT_THAT(quantized.error().message, HasSubstr("custom"));
}

TEST(QuantizedModel, AModelInRegionsIsRefused) {
  NetSpec net = small_net();
  net.records = {[](Builder& builder) {
    const std::vector<flatbuffers::Offset<wire::Region>> regions{wire::CreateRegion(builder)};
    return wire::CreateTensorDescribeDirect(builder, 0, 3, nullptr, &regions);
  }};
  const Kept kept(net);
  const auto quantized = quantize_model(kept.model, small_ranges(), DType::sfixed8);
  ASSERT_FALSE(quantized);
  EXPECT_THAT(quantized.error().message, HasSubstr("t3 is cut into regions"));
}

}  // namespace
}  // namespace qnndbg
