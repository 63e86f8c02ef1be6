// Scales that no device can use, in models as the quantizer leaves them.
#include "lint/scales.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "dump/temp_dir.h"
#include "graph/model_builder.h"
#include "tensor/half.h"

namespace qnndbg {
namespace {

using test::Builder;
using test::ModelBytes;
using test::NetSpec;
using test::OpSpec;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr int kIn = 2;

enum class Store : std::uint8_t { floats, halves };

/// A convolution of 1x1 whose weights are int8 with these scales: one for each output channel.
OpSpec coded_convolution(const std::string& name, int in, int out, const std::vector<float>& scales, bool pairs = false,
                         Store store = Store::floats, const std::vector<std::int64_t>& external = {}) {
  OpSpec op{wire::Kind_Convolution, name, {in}, {out}, wire::OpParameter_Convolution2D};
  const int channels = static_cast<int>(scales.size()) / (pairs ? 2 : 1);
  op.main = [=](Builder& builder) {
    wire::Convolution2DCommonBuilder common(builder);
    common.add_kernelX(1);
    common.add_kernelY(1);
    common.add_inputCount(kIn);
    common.add_outputCount(channels);
    const auto finished = common.Finish();
    const bool beside = !external.empty();
    const std::vector<std::int8_t> q(static_cast<std::size_t>(kIn * channels), 1);
    std::vector<std::uint16_t> halves;
    for (const float scale : scales) halves.push_back(float_to_half(scale, HalfRounding::nearest));
    const bool as_halves = store == Store::halves;
    const auto quan = wire::CreateIDSTQuanDirect(
        builder, beside ? nullptr : &q, beside || as_halves ? nullptr : &scales, 4, false, 1, 0, 0, 8, -128,
        pairs ? 4 : 0, false, false, 0, nullptr, beside || !as_halves ? nullptr : &halves,
        as_halves ? wire::ScaleStore_FP16 : wire::ScaleStore_FP32);
    return wire::CreateConvolution2DDirect(builder, finished, nullptr, nullptr, quan, 0, 0,
                                           beside ? &external : nullptr)
        .Union();
  };
  return op;
}

NetSpec one_layer(const OpSpec& op) {
  return {.tensors = {"x", "y"}, .ops = {test::input_op("x", 0, {1, kIn, 4, 4}), op}, .outputs = {"y"}};
}

NetSpec one_layer(const std::vector<float>& scales, bool pairs = false, Store store = Store::floats) {
  return one_layer(coded_convolution("conv", 0, 1, scales, pairs, store));
}

/// A model that keeps its bytes.
class Parsed {
 public:
  explicit Parsed(const NetSpec& spec) : bytes_(build(spec)), model_(Model::parse(bytes_.bytes(), "net.mnn")) {}
  const Model& operator*() const { return *model_; }
  bool ok() const { return model_.has_value(); }

 private:
  ModelBytes bytes_;
  Result<Model> model_;
};

ScaleScan scan(const NetSpec& spec) {
  const Parsed model(spec);
  if (!model.ok()) {
    ADD_FAILURE() << "no model";
    return {};
  }
  return scan_scales(*model);
}

TEST(Scales, ValidOnesAreCounted) {
  const ScaleScan found = scan(one_layer({0.5F, 0.25F, 1e-30F}));
  EXPECT_EQ(found.total, 3);
  EXPECT_THAT(found.invalid, IsEmpty());
  EXPECT_THAT(found.unreadable, IsEmpty());
}

TEST(Scales, NanInfinityAndZeroAreCountedByKind) {
  const ScaleScan found = scan(one_layer({0.5F, kNaN, 0.0F, 0.25F, -kInf, -0.0F, kNaN}));
  ASSERT_THAT(found.invalid, SizeIs(1));
  EXPECT_EQ(found.total, 7);
  EXPECT_EQ(found.invalid[0].total, 7);
  EXPECT_EQ(found.invalid[0].nan, 3);
  EXPECT_EQ(found.invalid[0].zero, 2);
  EXPECT_EQ(found.invalid[0].negative, 0);
  EXPECT_EQ(found.invalid[0].first, 1);
  EXPECT_TRUE(std::isnan(found.invalid[0].first_value));
  EXPECT_EQ(found.invalid[0].op, "conv");
  EXPECT_EQ(found.invalid[0].op_index, 1);
  EXPECT_EQ(found.invalid[0].what, "weights");
}

TEST(Scales, ASymmetricWeightMayHaveANegativeOne) { EXPECT_THAT(scan(one_layer({0.5F, -0.25F})).invalid, IsEmpty()); }

TEST(Scales, OfPairsOnlyTheScaleCounts) {
  // Minimum and scale alternate; a minimum may be 0 or negative.
  ScaleScan found = scan(one_layer({-1, 0.125F, 0, 0.5F, 0, 0.25F}, /*pairs=*/true));
  EXPECT_EQ(found.total, 3);
  EXPECT_THAT(found.invalid, IsEmpty());
  found = scan(one_layer({-1, 0.125F, -1, 0, 0, kNaN}, /*pairs=*/true));
  ASSERT_THAT(found.invalid, SizeIs(1));
  EXPECT_EQ(found.invalid[0].zero, 1);
  EXPECT_EQ(found.invalid[0].nan, 1);
  EXPECT_EQ(found.invalid[0].first, 1) << "the channel, not the position in the file";
}

TEST(Scales, Halves) {
  // 1e-9 is no half: what the file holds is 0.
  const ScaleScan found = scan(one_layer({0.5F, 1e-9F, 0.25F}, false, Store::halves));
  EXPECT_EQ(found.total, 3);
  ASSERT_THAT(found.invalid, SizeIs(1));
  EXPECT_EQ(found.invalid[0].zero, 1);
  EXPECT_EQ(found.invalid[0].first, 1);
}

std::string float_bytes(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(Scales, InASideFile) {
  const TempDir directory;
  const NetSpec spec = one_layer(coded_convolution("conv", 0, 1, {0, 0}, false, Store::floats, {0, 4, 8, 0, 0}));
  directory.write("net.mnn.weight", std::string(4, '\x01') + float_bytes({0.5F, kNaN}));
  const Result<Model> model = Model::open(directory.write("net.mnn", build(spec).text()));
  ASSERT_TRUE(model) << model.error().message;
  const ScaleScan found = scan_scales(*model);
  EXPECT_EQ(found.total, 2);
  ASSERT_THAT(found.invalid, SizeIs(1));
  EXPECT_EQ(found.invalid[0].nan, 1);
  EXPECT_EQ(found.invalid[0].first, 1);
}

TEST(Scales, ASideFileThatIsMissingIsSaid) {
  const TempDir directory;
  const NetSpec spec = one_layer(coded_convolution("conv", 0, 1, {0, 0}, false, Store::floats, {0, 4, 8, 0, 0}));
  const Result<Model> model = Model::open(directory.write("net.mnn", build(spec).text()));
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_THAT(scan_scales(*model).unreadable, SizeIs(1));
  const Explanation explanation = explain_scales(*model);
  EXPECT_EQ(explanation.class_id, "not_decidable");
  EXPECT_THAT(explanation.summary, HasSubstr("1 could not be read"));
  ASSERT_THAT(explanation.evidence, SizeIs(1));
  EXPECT_THAT(explanation.evidence[0].text, HasSubstr("conv"));
}

TEST(Scales, OfTensors) {
  NetSpec spec = one_layer({0.5F, 0.25F});
  spec.quants = {{.tensor = 0, .scale = 0.1F}, {.tensor = 1, .scale = -0.5F}};
  const ScaleScan found = scan(spec);
  EXPECT_EQ(found.total, 4);
  ASSERT_THAT(found.invalid, SizeIs(1));
  EXPECT_EQ(found.invalid[0].what, "tensor t1");
  EXPECT_EQ(found.invalid[0].op, "conv");
  EXPECT_EQ(found.invalid[0].negative, 1);
}

TEST(Scales, ATensorThatNoOperatorMakes) {
  NetSpec spec = one_layer({0.5F, 0.25F});
  spec.tensors.emplace_back("lost");
  spec.quants = {{.tensor = 2, .scale = kNaN}};
  const Parsed model(spec);
  ASSERT_TRUE(model.ok());
  const Explanation explanation = explain_scales(*model);
  ASSERT_EQ(explanation.class_id, "quant_params_invalid");
  EXPECT_THAT(explanation.summary, HasSubstr("first in tensor t2"));
  EXPECT_EQ(explanation.evidence[0].text, "tensor t2: of 1 scales 1 NaN or infinite; the first is number 0, nan");
}

TEST(Scales, FloatWeightsHaveNone) {
  OpSpec op{wire::Kind_Convolution, "conv", {0}, {1}, wire::OpParameter_Convolution2D};
  op.main = [](Builder& builder) {
    wire::Convolution2DCommonBuilder common(builder);
    common.add_inputCount(kIn);
    common.add_outputCount(1);
    const auto finished = common.Finish();
    const std::vector<float> weights = {0, kNaN}, bias = {0};
    return wire::CreateConvolution2DDirect(builder, finished, &weights, &bias).Union();
  };
  const ScaleScan found = scan(one_layer(op));
  EXPECT_EQ(found.total, 0);
  EXPECT_THAT(found.invalid, IsEmpty());
}

// --- C14: garbage from an LLM whose quantizer kept NaN ---------------------------------------------------------------

NetSpec three_layers(const std::vector<float>& middle) {
  return {.tensors = {"x", "a", "b", "y"},
          .ops = {test::input_op("x", 0, {1, kIn, 4, 4}), coded_convolution("layer_0", 0, 1, {0.5F, 0.25F}),
                  coded_convolution("layer_1", 1, 2, middle), coded_convolution("layer_2", 2, 3, {1, 2})},
          .outputs = {"y"}};
}

TEST(KnownCaseC14, NanScalesInOneLayer) {
  const Parsed model(three_layers({kNaN, 0, 0.5F, kNaN}));
  ASSERT_TRUE(model.ok());
  const Explanation explanation = explain_scales(*model);
  EXPECT_EQ(explanation.class_id, "quant_params_invalid");
  EXPECT_EQ(explanation.confidence, Confidence::high);
  EXPECT_EQ(explanation.summary,
            "3 of 8 quantization scales of net.mnn are zero, NaN, infinite or negative, first in `layer_1`.");
  ASSERT_THAT(explanation.evidence, SizeIs(1));
  EXPECT_EQ(explanation.evidence[0].text,
            "operator #2 `layer_1`, weights: of 4 scales 2 NaN or infinite, 1 zero; the first is number 0, nan");
  EXPECT_THAT(explanation.next_steps, Contains(HasSubstr("Quantize again")));
  EXPECT_THAT(explanation.next_steps.back(), HasSubstr("qnn-debug explain"));
}

TEST(KnownCaseC14, ASoundModelIsNotAccused) {
  const Parsed model(three_layers({1, 0.5F, 0.25F}));
  ASSERT_TRUE(model.ok());
  const Explanation explanation = explain_scales(*model);
  EXPECT_EQ(explanation.class_id, "not_decidable");
  EXPECT_EQ(explanation.summary,
            "Not decidable from this: all 7 quantization scales of net.mnn are positive and finite.");
  EXPECT_THAT(explanation.next_steps.back(), HasSubstr("qnn-debug diagnose"));
}

TEST(KnownCaseC14, EvidenceIsBounded) {
  NetSpec spec{.tensors = {"x"}, .ops = {test::input_op("x", 0, {1, kIn, 4, 4})}};
  for (int i = 0; i < 40; ++i) {
    spec.tensors.push_back("t" + std::to_string(i));
    spec.ops.push_back(coded_convolution("layer_" + std::to_string(i), i, i + 1, {0, 0}));
  }
  const Parsed model(spec);
  ASSERT_TRUE(model.ok());
  const Explanation explanation = explain_scales(*model);
  EXPECT_THAT(explanation.summary, HasSubstr("80 of 80"));
  EXPECT_LE(explanation.evidence.size(), 16U);
}

}  // namespace
}  // namespace qnndbg
