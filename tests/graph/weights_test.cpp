// Each stored form of weights, written by a small encoder of the test's own and read back through a model.
#include "graph/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>

#include "graph/model.h"
#include "model_builder.h"
#include "tensor/half.h"

namespace qnndbg {
namespace {

using test::Builder;
using test::ModelBytes;
using test::NetSpec;
using test::OpSpec;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

// ---- Encoder: strings of '0' and '1', so that it shares no arithmetic with the decoder.

std::string bits_of(unsigned value, unsigned width) {
  std::string bits;
  for (unsigned i = 0; i < width; ++i) bits.insert(bits.begin(), (value >> i & 1U) != 0 ? '1' : '0');
  return bits;
}

std::vector<std::int8_t> packed(std::string bits) {
  while (bits.size() % 8 != 0) bits += '0';
  std::vector<std::int8_t> bytes;
  for (std::size_t i = 0; i < bits.size(); i += 8) {
    bytes.push_back(static_cast<std::int8_t>(std::stoi(bits.substr(i, 8), nullptr, 2)));
  }
  return bytes;
}

void append(std::vector<std::int8_t>& to, const std::vector<std::int8_t>& bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

template <class T>
void append_number(std::vector<std::int8_t>& to, T number) {
  for (std::size_t i = 0; i < sizeof(T); ++i) to.push_back(static_cast<std::int8_t>(number >> (8 * i) & 0xFF));
}

std::vector<std::int8_t> header(const std::vector<unsigned>& dims, bool wide) {
  std::vector<std::int8_t> bytes = {static_cast<std::int8_t>(dims.size())};
  for (const unsigned dim : dims) {
    if (wide) append_number(bytes, static_cast<std::uint32_t>(dim));
    if (!wide) append_number(bytes, static_cast<std::uint16_t>(dim));
  }
  return bytes;
}

unsigned width_for(std::size_t entries) {
  unsigned width = 1;
  while ((std::size_t{1} << width) < entries) ++width;
  return width;
}

unsigned place_in(const std::vector<std::int8_t>& ascending, std::int8_t value) {
  return static_cast<unsigned>(std::find(ascending.begin(), ascending.end(), value) - ascending.begin());
}

/// The values that occur, in descending order: readers must not rely on the order in the file.
void append_table(std::vector<std::int8_t>& to, const std::vector<std::int8_t>& ascending) {
  to.push_back(static_cast<std::int8_t>(ascending.size()));  // 256 becomes 0
  to.insert(to.end(), ascending.rbegin(), ascending.rend());
}

std::vector<std::int8_t> distinct(std::vector<std::int8_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<std::int8_t> encode_palette(const std::vector<std::int8_t>& q, const std::vector<unsigned>& dims,
                                        bool wide) {
  const std::vector<std::int8_t> table = distinct(q);
  std::vector<std::int8_t> bytes = header(dims, wide);
  append_table(bytes, table);
  std::string bits;
  for (const std::int8_t value : q) bits += bits_of(place_in(table, value), width_for(table.size()));
  append(bytes, packed(bits));
  return bytes;
}

/// Stores the positions where q differs from `zero`.
std::vector<std::int8_t> encode_sparse(const std::vector<std::int8_t>& q, const std::vector<std::int8_t>& zero,
                                       const std::vector<unsigned>& dims, unsigned step_bits) {
  std::vector<std::int8_t> values;
  std::string steps;
  std::size_t last = 0;
  for (std::size_t i = 0; i < q.size(); ++i) {
    if (q[i] == zero[i]) continue;
    steps += bits_of(static_cast<unsigned>(i - last), step_bits);
    values.push_back(q[i]);
    last = i;
  }
  // A table of no values cannot be written: its length 0 means 256.
  const std::vector<std::int8_t> table = values.empty() ? std::vector<std::int8_t>{0} : distinct(values);
  std::vector<std::int8_t> bytes = header(dims, false);
  append_number(bytes, static_cast<std::uint32_t>(values.size()));
  bytes.push_back(static_cast<std::int8_t>(step_bits));
  append(bytes, packed(steps));
  append_table(bytes, table);
  std::string bits;
  for (const std::int8_t value : values) bits += bits_of(place_in(table, value), width_for(table.size()));
  append(bytes, packed(bits));
  return bytes;
}

std::vector<std::int8_t> random_integers(std::size_t count, int low, int high, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int8_t> q(count);
  for (std::int8_t& value : q)
    value = static_cast<std::int8_t>(low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)));
  return q;
}

// ---- A model of one convolution with the given record.

struct Record {
  int type = 1;
  std::vector<std::int8_t> buffer = {};
  std::vector<float> alpha = {};
  float quant_scale = 1;
  int bits = 8;
  int lowest = 0;
  int read_type = 0;
  bool scale_int = false;
  bool wide = false;
  std::vector<std::uint32_t> index = {};
  unsigned weight_size = 0;
  std::vector<std::uint16_t> alpha_half = {};
};

struct Shape {
  int out = 4;
  int in = 3;
  int kernel_y = 1;
  int kernel_x = 2;
  int group = 1;
  int kind = wire::Kind_Convolution;
};

flatbuffers::Offset<wire::Convolution2DCommon> common_of(Builder& builder, const Shape& shape) {
  wire::Convolution2DCommonBuilder common(builder);
  common.add_kernelX(shape.kernel_x);
  common.add_kernelY(shape.kernel_y);
  common.add_outputCount(shape.out);
  common.add_inputCount(shape.in);
  common.add_group(shape.group);
  return common.Finish();
}

OpSpec coded_convolution(const Record& record, const Shape& shape) {
  OpSpec op{shape.kind, "conv", {0}, {1}, wire::OpParameter_Convolution2D};
  op.main = [record, shape](Builder& builder) {
    const auto* halves = record.alpha_half.empty() ? nullptr : &record.alpha_half;
    const auto quan =
        wire::CreateIDSTQuanDirect(builder, &record.buffer, &record.alpha, record.type, false, record.quant_scale, 0, 0,
                                   record.bits, record.lowest, record.read_type, record.scale_int, record.wide,
                                   record.weight_size, record.index.empty() ? nullptr : &record.index, halves,
                                   halves != nullptr ? wire::ScaleStore_FP16 : wire::ScaleStore_FP32);
    return wire::CreateConvolution2D(builder, common_of(builder, shape), 0, 0, quan).Union();
  };
  return op;
}

OpSpec float_convolution(const std::vector<float>& weight, const std::vector<float>& bias, const Shape& shape) {
  OpSpec op{shape.kind, "conv", {0}, {1}, wire::OpParameter_Convolution2D};
  op.main = [=](Builder& builder) {
    return wire::CreateConvolution2DDirect(builder, common_of(builder, shape), &weight, &bias).Union();
  };
  return op;
}

NetSpec net_of(const OpSpec& op) { return {.tensors = {"x", "y"}, .ops = {test::input_op("x", 0, {1, 3, 8, 8}), op}}; }

Result<std::vector<float>> read_weight(const OpSpec& op) {
  const ModelBytes bytes = build(net_of(op));
  const Result<Model> model = Model::parse(bytes.bytes(), "net.mnn");
  if (!model) return fail(model.error());
  const Result<FloatArray> weight = model->convolution_weight(1);
  if (!weight) return fail(weight.error());
  return std::vector<float>(weight->values().begin(), weight->values().end());
}

Result<std::vector<float>> read_weight(const Record& record, const Shape& shape = {}) {
  return read_weight(coded_convolution(record, shape));
}

std::string error_of(const Record& record, const Shape& shape = {}) {
  const Result<std::vector<float>> weight = read_weight(record, shape);
  return weight ? "no error" : weight.error().message;
}

std::vector<float> scaled(const std::vector<std::int8_t>& q, const std::vector<float>& scales) {
  std::vector<float> w;
  for (std::size_t i = 0; i < q.size(); ++i)
    w.push_back(static_cast<float>(q[i]) * scales[i / (q.size() / scales.size())]);
  return w;
}

void expect_close(const Result<std::vector<float>>& actual, const std::vector<float>& expected) {
  ASSERT_TRUE(actual) << actual.error().message;
  ASSERT_EQ(actual->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR((*actual)[i], expected[i], 1e-6F * (1 + std::abs(expected[i]))) << i;
}

const std::vector<float> kScales = {0.5F, 0.25F, 2.0F, 0.125F};

// ---- The forms

TEST(Weights, Inline) {
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), -5.5F);
  const Result<std::vector<float>> weight = read_weight(float_convolution(values, {1, 2, 3, 4}, {}));
  ASSERT_TRUE(weight) << weight.error().message;
  EXPECT_THAT(*weight, ElementsAreArray(values));
}

TEST(Weights, PaletteOfEveryWidth) {
  for (int bits = 1; bits <= 8; ++bits) {
    const int high = (1 << (bits - 1)) - 1;
    const auto q = random_integers(24, -high - 1, high, static_cast<unsigned>(bits));
    for (const bool wide : {false, true}) {
      Record record{.type = 1, .buffer = encode_palette(q, {4, 6}, wide), .alpha = kScales, .bits = bits, .wide = wide};
      SCOPED_TRACE(testing::Message() << bits << " bits, wide dims " << wide);
      expect_close(read_weight(record), scaled(q, kScales));
    }
  }
}

TEST(Weights, PaletteOf256AndOfOne) {
  std::vector<std::int8_t> all(256);
  std::iota(all.begin(), all.end(), std::int8_t{-128});
  const Shape square{.out = 16, .in = 16, .kernel_y = 1, .kernel_x = 1};
  expect_close(read_weight({.buffer = encode_palette(all, {1, 256}, false), .alpha = {1}}, square), scaled(all, {1}));
  const std::vector<std::int8_t> same(24, 7);
  expect_close(read_weight({.buffer = encode_palette(same, {4, 6}, false), .alpha = kScales}), scaled(same, kScales));
}

TEST(Weights, BlocksDivideTheInputChannels) {
  const Shape shape{.out = 2, .in = 32, .kernel_y = 1, .kernel_x = 1};
  const auto q = random_integers(64, -8, 7, 3);
  expect_close(read_weight({.buffer = encode_palette(q, {4, 16}, false), .alpha = kScales, .bits = 4}, shape),
               scaled(q, kScales));
}

TEST(Weights, AsymmetricPairs) {
  // 4 bits of the interval [minimum, minimum + 15 scale], stored from -8 on.
  const auto q = random_integers(24, -8, 7, 4);
  const std::vector<float> pairs = {-1, 0.125F, 0, 0.5F, -3, 0.25F, 2, 1};
  std::vector<float> expected;
  for (std::size_t i = 0; i < q.size(); ++i) {
    expected.push_back(pairs[i / 6 * 2] + static_cast<float>(q[i] + 8) * pairs[i / 6 * 2 + 1]);
  }
  Record record{.buffer = encode_palette(q, {4, 6}, false), .alpha = pairs, .bits = 4, .lowest = -8, .read_type = 4};
  expect_close(read_weight(record), expected);
}

TEST(Weights, AsymmetricPairsOfOldFilesStartAtMinus128) {
  const auto q = random_integers(24, -128, 127, 5);
  std::vector<float> expected;
  for (const std::int8_t value : q) expected.push_back(-2.0F + static_cast<float>(value + 128) * 0.0625F);
  const std::vector<float> pairs = {-2, 0.0625F, -2, 0.0625F, -2, 0.0625F, -2, 0.0625F};
  expect_close(read_weight({.type = 4, .buffer = q, .alpha = pairs, .read_type = 4}), expected);
  // The oldest int8 files are asymmetric without saying so: no lowest value, no factor.
  expect_close(read_weight({.type = 4, .buffer = q, .alpha = pairs, .quant_scale = 0}), expected);
}

TEST(Weights, Int8) {
  const auto q = random_integers(24, -128, 127, 6);
  expect_close(read_weight({.type = 4, .buffer = q, .alpha = kScales}), scaled(q, kScales));
}

TEST(Weights, QuantScaleMultipliesUnlessIntegersAreKept) {
  const auto q = random_integers(24, -128, 127, 7);
  std::vector<float> doubled = scaled(q, kScales);
  for (float& value : doubled) value *= 2;
  expect_close(read_weight({.type = 4, .buffer = q, .alpha = kScales, .quant_scale = 2}), doubled);
  expect_close(read_weight({.type = 4, .buffer = q, .alpha = kScales, .quant_scale = 2, .scale_int = true}),
               scaled(q, kScales));
}

TEST(Weights, HalfScales) {
  const auto q = random_integers(24, -128, 127, 8);
  Record record{.type = 4, .buffer = q};
  for (const float scale : kScales) record.alpha_half.push_back(float_to_half(scale, HalfRounding::nearest));
  expect_close(read_weight(record), scaled(q, kScales));
}

TEST(Weights, SparsePalette) {
  auto q = random_integers(24, -3, 3, 9);
  const std::vector<std::int8_t> zero(24, 0);
  for (std::size_t i = 0; i < q.size(); i += 2) q[i] = 0;
  for (const unsigned step_bits : {4U, 5U, 8U}) {
    expect_close(read_weight({.type = 2, .buffer = encode_sparse(q, zero, {4, 6}, step_bits), .alpha = kScales}),
                 scaled(q, kScales));
  }
  expect_close(read_weight({.type = 2, .buffer = encode_sparse(zero, zero, {4, 6}, 4), .alpha = kScales, .bits = 8}),
               std::vector<float>(24, 0.0F));
}

TEST(Weights, SparsePaletteWithPairsFillsWithTheLevelOfZero) {
  // Zero is stored as round(-minimum / scale) - 2^(bits - 1): 8 - 8 and 4 - 8. All 16 values occur, so indices have 4
  // bits.
  std::vector<std::int8_t> zero(32, 0);
  std::fill(zero.begin() + 16, zero.end(), std::int8_t{-4});
  std::vector<std::int8_t> q = zero;
  for (int value = -8; value <= 7; ++value)
    q[static_cast<std::size_t>(value + 8) * 2] = static_cast<std::int8_t>(value);
  const std::vector<float> pairs = {-1, 0.125F, -2, 0.5F};
  std::vector<float> expected;
  for (std::size_t i = 0; i < 32; ++i) {
    expected.push_back(pairs[i / 16 * 2] + static_cast<float>(q[i] + 8) * pairs[i / 16 * 2 + 1]);
  }
  EXPECT_EQ(expected[1], 0.0F);
  EXPECT_EQ(expected[31], 0.0F);
  // Both zero levels are values of their own elsewhere, hence listed: encode every even position.
  std::vector<std::int8_t> marked = zero;
  for (std::size_t i = 0; i < 32; i += 2) marked[i] = static_cast<std::int8_t>(q[i] + 1);
  Record record{.type = 2,
                .buffer = encode_sparse(q, marked, {2, 16}, 6),
                .alpha = pairs,
                .bits = 4,
                .lowest = -8,
                .read_type = 2};
  expect_close(read_weight(record, {.out = 2, .in = 16, .kernel_y = 1, .kernel_x = 1}), expected);
}

TEST(Weights, Half) {
  std::vector<std::int8_t> buffer;
  std::vector<float> expected;
  for (int i = 0; i < 24; ++i) {
    expected.push_back(static_cast<float>(i - 12) * 0.75F);
    append_number(buffer, float_to_half(expected.back(), HalfRounding::nearest));
  }
  expect_close(read_weight({.type = 3, .buffer = buffer}), expected);
  buffer.pop_back();
  EXPECT_THAT(error_of({.type = 3, .buffer = buffer}), HasSubstr("odd number of bytes"));
}

TEST(Weights, SparseIndex) {
  std::vector<float> expected(24, 0.0F);
  expected[3] = 1.5F;
  expected[23] = -2;
  expect_close(read_weight({.type = 0, .alpha = {1.5F, -2}, .index = {3, 23}, .weight_size = 24}), expected);
  EXPECT_THAT(error_of({.type = 0, .alpha = {1.5F, -2}, .index = {3, 24}, .weight_size = 24}), HasSubstr("lies at 24"));
  EXPECT_THAT(error_of({.type = 0, .alpha = {1.5F}, .index = {3, 23}, .weight_size = 24}),
              HasSubstr("2 positions for 1"));
}

TEST(Weights, CountFollowsFromTheParameters) {
  const std::vector<float> values(24, 1.0F);
  const auto error = [&](const Shape& shape) {
    const auto weight = read_weight(float_convolution(values, {}, shape));
    return weight ? std::string("no error") : weight.error().message;
  };
  EXPECT_EQ(error({.out = 4, .in = 12, .kernel_x = 1, .group = 2}), "no error");
  EXPECT_EQ(error({.out = 12, .in = 12, .group = 12, .kind = wire::Kind_ConvolutionDepthwise}), "no error");
  EXPECT_EQ(error({.out = 4, .in = 6, .kernel_x = 2, .group = 2, .kind = wire::Kind_Deconvolution}), "no error");
  EXPECT_EQ(error({.out = 4, .in = 0, .kernel_x = 2}), "no error") << "early files leave the input count out";
  EXPECT_THAT(error({.out = 5, .in = 0, .kernel_x = 2}), HasSubstr("24 weights for 5 outputs"));
  EXPECT_THAT(
      error({.out = 4, .in = 4}),
      HasSubstr("operator #1 \"conv\" (Convolution): 24 weights are stored, but the parameters mean 32 (4x4x1x2)"));
  EXPECT_THAT(error({.out = 4, .in = 3, .group = 2}), HasSubstr("3 channels do not divide into 2 groups"));
  EXPECT_THAT(error({.out = -4}), HasSubstr("impossible parameters"));
  EXPECT_THAT(error({.group = 0}), HasSubstr("impossible parameters"));
  EXPECT_THAT(error({.out = 2147483647, .in = 2147483647, .kernel_y = 2147483647}), HasSubstr("more than"));
}

TEST(Weights, RefuseTruncatedPayloads) {
  const auto q = random_integers(24, -128, 127, 10);
  const std::vector<std::int8_t> zero(24, 0);
  const std::vector<std::int8_t> palette = encode_palette(q, {4, 6}, false), sparse = encode_sparse(q, zero, {4, 6}, 5);
  for (const auto& [type, whole] : {std::pair(1, palette), std::pair(2, sparse)}) {
    ASSERT_TRUE(read_weight({.type = type, .buffer = whole, .alpha = kScales}));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const std::vector<std::int8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_THAT(error_of({.type = type, .buffer = cut, .alpha = kScales}), HasSubstr("net.mnn: operator #1"));
    }
  }
}

TEST(Weights, RefuseLies) {
  const auto q = random_integers(24, -2, 0, 11);  // three values: index 3 is free
  std::vector<std::int8_t> palette =
      encode_palette({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}, {4, 6}, false);
  palette.back() = -1;
  EXPECT_THAT(error_of({.buffer = palette, .alpha = kScales}), HasSubstr("points at entry 3 of a table of 3"));
  palette = encode_palette(q, {4, 6}, false);
  EXPECT_THAT(error_of({.buffer = palette, .alpha = {1, 2, 3, 4, 5}}),
              HasSubstr("24 weights do not divide into the groups of 5 scales"));
  EXPECT_THAT(error_of({.buffer = palette}), HasSubstr("groups of 0 scales"));
  EXPECT_THAT(error_of({.buffer = palette, .alpha = {1, 2, 3}, .read_type = 1}), HasSubstr("minima and scales"));
  EXPECT_THAT(error_of({.type = 9, .buffer = palette, .alpha = kScales}), HasSubstr("form 9"));
  std::vector<std::int8_t> huge = header({0xFFFFFFFF, 0xFFFFFFFF}, true);
  EXPECT_THAT(error_of({.buffer = huge, .alpha = kScales, .wide = true}), HasSubstr("more than"));
}

TEST(Weights, RefuseASparseMatrixOfAlmostNothing) {
  // Two billion zeros in a few bytes: consistent, and no weight matrix.
  std::vector<std::int8_t> buffer = header({40000, 40000}, true);
  append_number(buffer, std::uint32_t{0});
  append(buffer, {1, 1, 0});
  const Shape shape{.out = 40000, .in = 40000, .kernel_y = 1, .kernel_x = 1};
  EXPECT_THAT(error_of({.type = 2, .buffer = buffer, .alpha = kScales, .wide = true}, shape),
              HasSubstr("more than a sparse matrix holds"));
  EXPECT_THAT(error_of({.type = 0, .alpha = {1}, .index = {0}, .weight_size = 1600000000}, shape),
              HasSubstr("more than a sparse matrix holds"));
}

TEST(Weights, RefuseTheAmbiguousInt8FormOfEarlyConverters) {
  OpSpec op{wire::Kind_ConvInt8, "conv", {0}, {1}, wire::OpParameter_Convolution2D};
  op.main = [](Builder& builder) {
    const auto weight = builder.CreateVector(std::vector<std::int8_t>(24, 1));
    const auto quantized = wire::CreateQuantizedFloatParam(builder, weight);
    return wire::CreateConvolution2D(builder, common_of(builder, {}), 0, 0, 0, quantized).Union();
  };
  EXPECT_THAT(read_weight(op).error().message, HasSubstr("early converters"));
}

TEST(Weights, NeedAConvolution) {
  EXPECT_THAT(read_weight({wire::Kind_ReLU, "act", {0}, {1}}).error().message, HasSubstr("no convolution parameters"));
  EXPECT_THAT(read_weight(float_convolution({}, {}, {})).error().message, HasSubstr("stores no weights"));
}

TEST(Bias, HasOneValuePerOutput) {
  const auto bias_of = [](const std::vector<float>& bias) -> Result<std::vector<float>> {
    const ModelBytes bytes = build(net_of(float_convolution(std::vector<float>(24), bias, {})));
    const Result<Model> model = Model::parse(bytes.bytes(), "net.mnn");
    const Result<FloatArray> values = model->convolution_bias(1);
    if (!values) return fail(values.error());
    return std::vector<float>(values->values().begin(), values->values().end());
  };
  EXPECT_THAT(*bias_of({1, 2, 3, 4}), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(bias_of({})->empty());
  EXPECT_THAT(bias_of({1, 2, 3}).error().message, HasSubstr("3 biases for 4 outputs"));
}

// ---- Constants

struct Constant {
  std::vector<int> dims = {};
  wire::DType type = wire::DType_DT_FLOAT;
  std::vector<std::uint8_t> uint8s = {};
  std::vector<std::int8_t> int8s = {};
  std::vector<std::int32_t> int32s = {};
  std::vector<std::int64_t> int64s = {};
  std::vector<float> float32s = {};
};

Result<Tensor> read_constant(const Constant& constant) {
  OpSpec op{wire::Kind_Const, "const", {}, {1}, wire::OpParameter_Blob};
  op.main = [constant](Builder& builder) {
    return wire::CreateBlobDirect(builder, &constant.dims, wire::Layout_NCHW, constant.type, &constant.uint8s,
                                  &constant.int8s, &constant.int32s, &constant.int64s, &constant.float32s)
        .Union();
  };
  const ModelBytes bytes = build(net_of(op));
  const Result<Model> model = Model::parse(bytes.bytes(), "net.mnn");
  if (!model) return fail(model.error());
  return model->constant(1);
}

TEST(Constants, OfEveryType) {
  const auto floats = [](const Constant& constant) {
    const Result<Tensor> tensor = read_constant(constant);
    return tensor ? std::vector<float>(tensor->f32().begin(), tensor->f32().end()) : std::vector<float>();
  };
  const auto integers = [](const Constant& constant) {
    const Result<Tensor> tensor = read_constant(constant);
    return tensor ? std::vector<int>(tensor->i32().begin(), tensor->i32().end()) : std::vector<int>();
  };
  EXPECT_THAT(floats({.dims = {2}, .float32s = {1.5F, -2}}), ElementsAre(1.5F, -2));
  EXPECT_THAT(floats({.dims = {2, 1}, .type = wire::DType_DT_HALF, .uint8s = {0x00, 0x3C, 0x00, 0xC0}}),
              ElementsAre(1, -2));
  EXPECT_THAT(integers({.dims = {2}, .type = wire::DType_DT_INT32, .int32s = {-7, 9}}), ElementsAre(-7, 9));
  EXPECT_THAT(integers({.dims = {2}, .type = wire::DType_DT_INT64, .int64s = {-7, 2147483647}}),
              ElementsAre(-7, 2147483647));
  EXPECT_THAT(integers({.dims = {2}, .type = wire::DType_DT_UINT8, .uint8s = {0, 255}}), ElementsAre(0, 255));
  EXPECT_THAT(integers({.dims = {2}, .type = wire::DType_DT_INT8, .int8s = {-128, 127}}), ElementsAre(-128, 127));
  EXPECT_THAT(floats({.float32s = {3}}), ElementsAre(3)) << "no dims: a scalar";
  const Result<Tensor> empty = read_constant({.dims = {0, 3}});
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_TRUE(empty->empty());
}

TEST(Constants, RefuseWhatDoesNotFit) {
  const auto error = [](const Constant& constant) {
    const Result<Tensor> tensor = read_constant(constant);
    return tensor ? std::string("no error") : tensor.error().message;
  };
  EXPECT_THAT(error({.dims = {3}, .float32s = {1, 2}}),
              HasSubstr("operator #1 \"const\" (Const): a constant of dims 3 takes 12 bytes, but 8 are stored"));
  EXPECT_THAT(error({.dims = {1}, .type = wire::DType_DT_INT64, .int64s = {2147483648}}),
              HasSubstr("does not fit 32 bits"));
  EXPECT_THAT(error({.dims = {-1}, .float32s = {1}}), HasSubstr("negative"));
  EXPECT_THAT(error({.dims = {2147483647, 2147483647}}), HasSubstr("more than"));
  EXPECT_THAT(error({.dims = {1}, .type = wire::DType_DT_STRING}), HasSubstr("element type 7"));
  EXPECT_THAT(error({.dims = std::vector<int>(100, 1), .float32s = {1}}), HasSubstr("100 dims"));
}

TEST(Constants, NeedABlob) {
  const ModelBytes bytes = build(net_of({wire::Kind_ReLU, "act", {0}, {1}}));
  const Result<Model> model = Model::parse(bytes.bytes(), "net.mnn");
  EXPECT_THAT(model->constant(1).error().message, HasSubstr("holds no constant"));
}

}  // namespace
}  // namespace qnndbg
