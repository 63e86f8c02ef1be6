// Fixed-point tensors: a small int8 (or uint16) network, what a device would leave of it, and faults in it.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "diagnose/bounds.h"
#include "diagnose/diagnose.h"
#include "diagnose/encodings.h"
#include "dump/temp_dir.h"
#include "graph/model_builder.h"
#include "ops/support/quantized_constants.h"

namespace qnndbg {
namespace {

using test::Builder;
using test::ModelBytes;
using test::NetSpec;
using test::QuantSpec;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kNoEncoding = 2147483647;
constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();

// --- Comparing encodings
// -----------------------------------------------------------------------------------------------

std::string cause_of(const Encoding& used, const Encoding& meant, DType type = DType::sfixed8,
                     DType meant_type = DType::sfixed8) {
  const auto difference = compare_encoding(type, used, meant_type, meant);
  if (!difference) return "same";
  return difference->cause + (difference->digits ? " (digits)" : "");
}

TEST(CompareEncoding, TellsScalesApartByHowFarTheyAreOff) {
  EXPECT_EQ(cause_of({0.02, 0}, {0.02, 0}), "same");
  EXPECT_EQ(cause_of({0.02 * (1 + 5e-7), 0}, {0.02, 0}), "same") << "nine printed digits of a float";
  EXPECT_EQ(cause_of({0.019653, 0}, {0.0196531266, 0}), "quant_scale_wrong (digits)");
  EXPECT_EQ(cause_of({0.02 * 1.002, 0}, {0.02, 0}), "quant_scale_wrong");
  EXPECT_EQ(cause_of({0.02 * 0.4, 0}, {0.02, 0}), "quant_scale_wrong");
}

TEST(CompareEncoding, TellsOffsetsAndTheirSign) {
  EXPECT_EQ(cause_of({0.02, 3}, {0.02, 0}), "quant_offset_wrong");
  EXPECT_EQ(cause_of({0.02, 31}, {0.02, -30}), "quant_offset_wrong");
  EXPECT_EQ(cause_of({0.02, 30}, {0.02, -30}), "quant_offset_sign");
  EXPECT_EQ(cause_of({0.01, 30}, {0.02, 0}), "quant_offset_wrong") << "an offset goes before a scale";
}

TEST(CompareEncoding, RefusesScalesThatAreNoPositiveNumber) {
  for (double scale : {0.0, -0.02, kNan, kInf, -kInf})
    EXPECT_EQ(cause_of({scale, 0}, {0.02, 0}), "quant_scale_invalid");
  EXPECT_EQ(cause_of({0.0, 0}, {0.0, 0}), "quant_scale_invalid") << "not even where the model has the same";
  EXPECT_EQ(cause_of({0.02, 0}, {kNan, 0}), "same") << "a scale of the model that means nothing is not compared with";
}

TEST(CompareEncoding, ComparesTypesOfOneWidthByTheirRange) {
  EXPECT_EQ(cause_of({0.02, -128}, {0.02, 0}, DType::ufixed8), "same");
  EXPECT_EQ(cause_of({0.02, 0}, {0.02, 0}, DType::ufixed8), "quant_offset_wrong");
  EXPECT_EQ(cause_of({0.02, 7}, {0.5, 0}, DType::ufixed16), "same") << "of another width: not comparable";
}

TEST(CompareEncoding, SurvivesHugeOffsets) {
  const std::int32_t highest = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(cause_of({0.02, kLowest}, {0.02, 0}), "quant_offset_wrong");
  EXPECT_EQ(cause_of({0.02, kLowest}, {0.02, kLowest}), "same");
  EXPECT_EQ(cause_of({0.02, highest}, {0.02, -highest}), "quant_offset_sign");
}

TEST(FixedPointBound, IsAFractionOfAStepAndClips) {
  const auto bounds = Bounds::load("v75", 1);
  ASSERT_TRUE(bounds);
  const Bound bound = bounds->of_fixed_point("Conv2d", DType::sfixed8, {0.5, 0});
  EXPECT_NEAR(bound.absolute, 0.325, 1e-4);
  EXPECT_EQ(bound.y, 0);
  EXPECT_EQ(bound.clip, (ValueRange{-64, 63.5}));
  const Bound wide = bounds->of_fixed_point("Conv2d", DType::ufixed16, {0.5, -100});
  EXPECT_EQ(wide.y, bounds->of("Conv2d").y);
  EXPECT_GT(wide.magnitude, 0) << "errors of 16-bit sums grow with their terms";
  EXPECT_GT(wide.absolute, 0.5) << "more than a step";
  EXPECT_EQ(bounds->of_fixed_point("ElementWiseAdd", DType::ufixed16, {0.5, 0}).magnitude, 0);
  EXPECT_EQ(wide.clip, (ValueRange{-50, 32717.5}));
  EXPECT_GE(bounds->of_fixed_point("Conv2d", DType::sfixed8, {1e-3, kLowest}).absolute, 0.25)
      << "neighbouring floats near 2^31 steps of 1e-3";
}

// --- A network and its device
// --------------------------------------------------------------------------------------------

constexpr int kChannels = 3, kOutputs = 4, kPixels = 8;  // planes of 2 x 4

/// How one tensor is stored.
struct Stored {
  DType type = DType::sfixed8;
  Encoding encoding = {};

  std::int32_t quantize(double real) const {
    const IntRange range = range_of(type);
    return static_cast<std::int32_t>(
        std::clamp(std::nearbyint(real / encoding.scale) - encoding.offset, range.low, range.high));
  }
  double real(std::int32_t stored) const { return (stored + static_cast<double>(encoding.offset)) * encoding.scale; }
};

/// image (t0) -> ConvertTensor (t1) -> 1x1 Convolution (t2) -> ReLU (t3) -> ConvertTensor (t4, output). t3 declares no
/// encoding.
struct Network {
  Stored input{DType::sfixed8, {0.03125, 0}};
  Stored conv{DType::sfixed8, {0.08, 0}};
  std::optional<Stored> output = {};  // of t4 where it is not conv's
  std::vector<std::int8_t> weight{90, -127, 33, -5, 14, 127, 64, -64, 20, -100, 7, 51};
  std::vector<float> scales{0.011F, 0.007F, 0.02F, 0.013F};
  std::vector<float> bias{0.731F, -1.23F, 0.049F, -0.502F};

  ModelBytes model() const {
    NetSpec net{.tensors = {"image", "x", "y", "z", "out"}, .outputs = {"out"}};
    net.ops.push_back(test::input_op("image", 0, {1, kChannels, 2, 4}));
    net.ops.push_back(convert("to_c4", 0, 1, wire::Layout_NCHW, wire::Layout_NC4HW4));
    net.ops.push_back({wire::Kind_Convolution, "conv", {1}, {2}, wire::OpParameter_Convolution2D});
    net.ops.back().main = [this](Builder& builder) { return convolution(builder); };
    net.ops.push_back({wire::Kind_ReLU, "act", {2}, {3}});
    net.ops.push_back(convert("from_c4", 3, 4, wire::Layout_NC4HW4, wire::Layout_NCHW));
    net.quants = {declared(0, input), declared(1, input), declared(2, conv), declared(4, output.value_or(conv))};
    return build(net);
  }

 private:
  static test::OpSpec convert(const std::string& name, int from, int to, wire::Layout source, wire::Layout dest) {
    test::OpSpec op{wire::Kind_ConvertTensor, name, {from}, {to}, wire::OpParameter_TensorConvertInfo};
    op.main = [source, dest](Builder& builder) { return wire::CreateTensorConvertInfo(builder, source, dest).Union(); };
    return op;
  }

  static QuantSpec declared(int tensor, const Stored& stored) {
    const bool wide = stored.type == DType::ufixed16;
    return {tensor, static_cast<float>(stored.encoding.scale),
            static_cast<float>(wide ? stored.encoding.offset : -stored.encoding.offset),
            wide ? wire::DType_DT_INT16 : wire::DType_DT_INT8};
  }

  test::Table convolution(Builder& builder) const {
    wire::Convolution2DCommonBuilder common(builder);
    common.add_inputCount(kChannels);
    common.add_outputCount(kOutputs);
    const auto common_table = common.Finish();
    const auto quan = wire::CreateIDSTQuanDirect(builder, &weight, &scales, 4, false, 1.0F);
    const auto bias_values = builder.CreateVector(bias);
    wire::Convolution2DBuilder main(builder);
    main.add_common(common_table);
    main.add_quanParameter(quan);
    main.add_bias(bias_values);
    return main.Finish().Union();
  }
};

/// One line of a manifest with its elements.
struct Entry {
  std::string name;
  Stored stored;  // type f16 and f32: `reals`
  std::vector<std::int32_t> integers = {};
  std::vector<double> reals = {};
  std::string dims = {};
  std::uint32_t quant_encoding = 0;
};

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string raw_of(const Entry& entry) {
  std::string bytes;
  for (double v : entry.reals) {
    if (entry.stored.type == DType::f16) {
      append(bytes, float_to_half(static_cast<float>(v), HalfRounding::nearest));
    } else {
      append(bytes, static_cast<float>(v));
    }
  }
  for (std::int32_t q : entry.integers) {
    if (size_of(entry.stored.type) == 1) {
      append(bytes, static_cast<std::uint8_t>(q));
    } else {
      append(bytes, static_cast<std::uint16_t>(q));
    }
  }
  return bytes;
}

template <class In, class F>
auto map(const std::vector<In>& values, F f) {
  std::vector<decltype(f(values[0]))> result;
  for (const In& v : values) result.push_back(f(v));
  return result;
}

/// The device: integers all the way, its own encodings, faults by hand.
class Device {
 public:
  explicit Device(const Network& network)
      : network_(network),
        input(network.input),
        x(network.input),
        conv(network.conv),
        act(network.conv),
        out(network.output.value_or(network.conv)) {}

 private:
  const Network& network_;

 public:
  Stored input, x, conv, act, out;  // t0's copy, t1, t2, t3, t4
  bool with_bias = true;

  /// The dump of one run.
  std::vector<Entry> run() const {
    std::vector<double> image(kChannels * kPixels);
    for (std::size_t i = 0; i < image.size(); ++i)
      image[i] = half_to_float(
          float_to_half(static_cast<float>(3.9 * std::sin(0.37 * static_cast<double>(i * i))), HalfRounding::nearest),
          HalfKind::htp);
    std::vector<std::int32_t> q0 = map(image, [&](double v) { return input.quantize(v); });
    std::vector<std::int32_t> q1(q0.size());
    for (int c = 0; c < kChannels; ++c)
      for (int p = 0; p < kPixels; ++p) q1[at(p * kChannels + c)] = x.quantize(input.real(q0[at(c * kPixels + p)]));
    const std::vector<std::int32_t> q2 = convolve(q1);
    const std::vector<std::int32_t> q3 =
        map(q2, [&](std::int32_t q) { return act.quantize(std::max(0.0, conv.real(q))); });
    std::vector<std::int32_t> q4(q3.size());
    for (int c = 0; c < kOutputs; ++c)
      for (int p = 0; p < kPixels; ++p) q4[at(c * kPixels + p)] = out.quantize(act.real(q3[at(p * kOutputs + c)]));
    const Stored half{DType::f16, {}}, single{DType::f32, {}};
    return {{"t4", single, {}, map(q4, [&](std::int32_t q) { return out.real(q); }), "1x4x2x4", kNoEncoding},
            {"t0_cast", half, {}, image, "1x3x2x4", kNoEncoding},
            {"QnnTensor_2", input, q0, {}, "1x3x2x4"},
            {"FloatToInt8_I_0_O_2_Cast", single, {}, image, "1x3x2x4", kNoEncoding},
            {"t1", x, q1, {}, "1x2x4x3"},
            {"t2", conv, q2, {}, "1x2x4x4"},
            {"t3", act, q3, {}, "1x2x4x4"},
            {"t4_cast", out, q4, {}, "1x4x2x4"}};
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::vector<std::int32_t> convolve(const std::vector<std::int32_t>& q1) const {
    std::vector<std::int32_t> q2;
    for (int p = 0; p < kPixels; ++p) {
      for (int o = 0; o < kOutputs; ++o) {
        // MNN computes the bias from the model's encoding of the input.
        const double unit = network_.input.encoding.scale * network_.scales[at(o)];
        double sum = with_bias ? std::trunc(network_.bias[at(o)] / unit) * unit : 0;
        for (int c = 0; c < kChannels; ++c)
          sum += x.real(q1[at(p * kChannels + c)]) * network_.weight[at(o * kChannels + c)] * network_.scales[at(o)];
        q2.push_back(conv.quantize(sum));
      }
    }
    return q2;
  }
};

Diagnosis diagnose_run(const Network& network, const std::vector<Entry>& entries) {
  const ModelBytes bytes = network.model();
  const auto model = Model::parse(bytes.bytes(), "small.mnn");
  if (!model) {
    ADD_FAILURE() << model.error().message;
    return {};
  }
  const TempDir directory;
  std::string manifest = "index\tname\tfile\tdata_type\tdimensions\tquant_encoding\tscale\toffset\n";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    const std::string file = fmt::format("{}.raw", i);
    directory.write(file, raw_of(e));
    manifest += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{:.9g}\t{}\n", i, e.name, file, qnn_number(e.stored.type), e.dims,
                            e.quant_encoding, e.quant_encoding == 0 ? e.stored.encoding.scale : 0,
                            e.quant_encoding == 0 ? e.stored.encoding.offset : 0);
  }
  directory.write("manifest_000000.tsv", manifest);
  DiagnoseOptions options;
  options.dump = directory.path();
  options.arch = "v75";
  options.threads = 1;
  auto diagnosis = diagnose(*model, options);
  if (!diagnosis) {
    ADD_FAILURE() << diagnosis.error().message;
    return {};
  }
  return std::move(*diagnosis);
}

Diagnosis diagnose_run(const Network& network, const Device& device) { return diagnose_run(network, device.run()); }

Entry& entry_named(std::vector<Entry>& entries, std::string_view name) {
  return *std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == name; });
}

/// "bug conv quant_scale_wrong"
std::vector<std::string> findings_of(const Diagnosis& diagnosis) {
  std::vector<std::string> list;
  for (const Finding& f : diagnosis.findings) list.push_back(fmt::format("{} {} {}", name_of(f.kind), f.op, f.cause));
  return list;
}

const TensorRow& row_of(const Diagnosis& diagnosis, std::string_view name) {
  return *std::find_if(diagnosis.tensors.begin(), diagnosis.tensors.end(),
                       [&](const TensorRow& row) { return row.name == name; });
}

std::string evidence_of(const Diagnosis& diagnosis) {
  std::string text;
  for (const Finding& f : diagnosis.findings) text += fmt::format("{}\n", fmt::join(f.evidence, "\n"));
  return text;
}

// --- Judging
// -------------------------------------------------------------------------------------------------------------

TEST(Quantized, ASoundRunIsClean) {
  const Network network;
  const Diagnosis d = diagnose_run(network, Device(network));
  EXPECT_THAT(findings_of(d), IsEmpty());
  EXPECT_EQ(d.verdict, Verdict::clean) << d.summary;
  EXPECT_EQ(row_of(d, "QnnTensor_2").tensor, "t0");
  for (const char* name : {"QnnTensor_2", "t2"}) {
    EXPECT_GT(row_of(d, name).bound_ratio.value_or(0), 0.3) << name << " is rounded to steps";
    EXPECT_LT(row_of(d, name).bound_ratio.value_or(9), 0.8) << name;
  }
  EXPECT_EQ(row_of(d, "t3").bound_ratio, 0.0) << "a ReLU keeps its integers";
  ASSERT_TRUE(row_of(d, "t3").model_encoding) << "inherited through the ReLU";
  EXPECT_NEAR(row_of(d, "t3").model_encoding->scale, 0.08, 1e-8);
}

TEST(Quantized, SixteenBitsWithAnOffsetAreJudgedTheSameWay) {
  Network network;
  network.input = {DType::ufixed16, {1.3e-4, -32000}};
  network.conv = {DType::ufixed16, {2.1e-4, -30000}};
  EXPECT_EQ(diagnose_run(network, Device(network)).verdict, Verdict::clean);
  Device device(network);
  device.conv.encoding.offset = 30000;
  const Diagnosis d = diagnose_run(network, device);
  EXPECT_THAT(findings_of(d), ElementsAre("bug conv quant_offset_sign"));
}

TEST(Quantized, OneElementOneStepOffIsABug) {
  const Network network;
  for (const auto& [tensor, op] : {std::pair("t2", "conv"), std::pair("t3", "act"), std::pair("t1", "to_c4")}) {
    std::vector<Entry> entries = Device(network).run();
    for (std::int32_t& q : entry_named(entries, tensor).integers) {
      if (q > 5 && q < 100) {
        q += 2;
        break;
      }
    }
    const Diagnosis d = diagnose_run(network, entries);
    ASSERT_FALSE(d.findings.empty()) << tensor;
    EXPECT_EQ(d.findings[0].op, op);
    EXPECT_EQ(d.findings[0].cause, "unexplained");
  }
}

TEST(Quantized, AHostSideThatIsNotTheDequantizedTensorIsABug) {
  const Network network;
  std::vector<Entry> entries = Device(network).run();
  entry_named(entries, "t4").reals[3] += 0.04;
  const Diagnosis d = diagnose_run(network, entries);
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_EQ(d.findings[0].cause, "cast_wrong");
  EXPECT_EQ(d.findings[0].op_type, "Dequantize");
}

TEST(Quantized, ACopyThatIsNotItsFloatSideIsABugOfTheInsertedNode) {
  const Network network;
  std::vector<Entry> entries = Device(network).run();
  entry_named(entries, "QnnTensor_2").integers[3] += 2;
  const Diagnosis d = diagnose_run(network, entries);
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings[0].op, "");
  EXPECT_EQ(d.findings[0].node, "FloatToInt8_I_0_O_2");
  EXPECT_EQ(d.findings[0].op_type, "Quantize");
}

TEST(Quantized, AMistakeIsProvenAlthoughTheOutputSaturates) {
  Network network;
  network.conv.encoding.scale = 0.03;
  Device device(network);
  device.with_bias = false;
  const Diagnosis d = diagnose_run(network, device);
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings[0].op, "conv");
  EXPECT_EQ(d.findings[0].cause, "bias_dropped") << evidence_of(d);
  EXPECT_TRUE(d.findings[0].proven);
}

TEST(Quantized, TheBiasIsCutOffInUnitsOfInputScaleTimesWeightScale) {
  const Network network;
  const ModelBytes bytes = network.model();
  const auto model = Model::parse(bytes.bytes(), "small.mnn");
  ASSERT_TRUE(model) << model.error().message;
  const auto constants = integer_conv_constants(*model, 2);
  ASSERT_TRUE(constants && *constants);
  for (std::size_t c = 0; c < network.bias.size(); ++c) {
    const double unit = 0.03125 * network.scales[c];
    const double integer = (*constants)->bias[c] / unit;
    EXPECT_NEAR(integer, std::round(integer), 1e-3) << c;
    EXPECT_LE(std::fabs((*constants)->bias[c]), std::fabs(network.bias[c])) << "toward zero";
    EXPECT_LT(std::fabs((*constants)->bias[c] - network.bias[c]), unit);
  }
  EXPECT_EQ((*constants)->weight[1], -127 * network.scales[0]);
}

TEST(Quantized, WeightsWithoutIntegersAreNotTakenForIntegers) {
  NetSpec net{.tensors = {"image", "y"}, .outputs = {"y"}};
  net.ops.push_back(test::input_op("image", 0, {1, 1, 1, 1}));
  net.ops.push_back({wire::Kind_Convolution, "conv", {0}, {1}, wire::OpParameter_Convolution2D});
  net.ops.back().main = [](Builder& builder) {
    const std::vector<float> weight{0.3F};
    const auto common = wire::CreateConvolution2DCommon(builder, 0, 0, 1, 1, 1, 1, 1, 1, wire::ConvPad_CAFFE, 1, 1, 1);
    return wire::CreateConvolution2DDirect(builder, common, &weight).Union();
  };
  net.quants = {{0, 0.1F}, {1, 0.1F}};
  const ModelBytes bytes = build(net);
  const auto model = Model::parse(bytes.bytes(), "float.mnn");
  ASSERT_TRUE(model) << model.error().message;
  const auto constants = integer_conv_constants(*model, 1);
  ASSERT_TRUE(constants) << constants.error().message;
  EXPECT_FALSE(constants->has_value());
}

float to_half(double value, HalfRounding rounding = HalfRounding::nearest) {
  return half_to_float(float_to_half(static_cast<float>(value), rounding), HalfKind::htp);
}

/// The convolution as MNN wraps it when its weights cannot stay integers: half in between, on both sides a conversion.
std::vector<Entry> run_with_float_detour(const Network& network, double weight_factor) {
  const Device device(network);
  std::vector<Entry> entries = device.run();
  const Stored half{DType::f16, {}};
  const Stored single{DType::f32, {}};
  std::vector<double> x;
  for (std::int32_t q : entry_named(entries, "t1").integers) x.push_back(to_half(device.x.real(q)));
  std::vector<double> y;
  for (int p = 0; p < kPixels; ++p) {
    for (int o = 0; o < kOutputs; ++o) {
      double sum = to_half(network.bias[static_cast<std::size_t>(o)], HalfRounding::toward_zero);
      for (int c = 0; c < kChannels; ++c) {
        const float w = static_cast<float>(network.weight[static_cast<std::size_t>(o * kChannels + c)]) *
                        network.scales[static_cast<std::size_t>(o)];
        sum += x[static_cast<std::size_t>(p * kChannels + c)] * to_half(w, HalfRounding::toward_zero) * weight_factor;
      }
      y.push_back(to_half(sum));
    }
  }
  entry_named(entries, "t2").integers = map(y, [&](double v) { return device.conv.quantize(v); });
  std::vector<std::int32_t> activated;
  for (std::int32_t q : entry_named(entries, "t2").integers) activated.push_back(std::max(q, 0));
  entry_named(entries, "t3").integers = activated;
  for (int c = 0; c < kOutputs; ++c) {
    for (int p = 0; p < kPixels; ++p) {
      const std::int32_t q = activated[static_cast<std::size_t>(p * kOutputs + c)];
      entry_named(entries, "t4_cast").integers[static_cast<std::size_t>(c * kPixels + p)] = q;
      entry_named(entries, "t4").reals[static_cast<std::size_t>(c * kPixels + p)] = device.out.real(q);
    }
  }
  entries.push_back({"conv_DequantInput", half, {}, x, "1x2x4x3", kNoEncoding});
  entries.push_back({"conv_QuantOutput", half, {}, y, "1x2x4x4", kNoEncoding});
  entries.push_back({"conv_CastOutput", single, {}, y, "1x2x4x4", kNoEncoding});
  return entries;
}

TEST(Quantized, AConvolutionBetweenDequantizeAndQuantizeIsJudgedInHalf) {
  const Network network;
  const Diagnosis d = diagnose_run(network, run_with_float_detour(network, 1));
  EXPECT_THAT(findings_of(d), IsEmpty());
  EXPECT_EQ(d.verdict, Verdict::clean) << d.summary;
  EXPECT_EQ(d.run.constant_rounding, "toward_zero") << "its weights are halves";
  for (const char* name : {"conv_DequantInput", "conv_QuantOutput", "conv_CastOutput"})
    EXPECT_TRUE(row_of(d, name).bound_ratio) << name;
}

TEST(Quantized, AMistakeBetweenDequantizeAndQuantizeIsProvenInHalf) {
  const Network network;
  const Diagnosis d = diagnose_run(network, run_with_float_detour(network, 2));
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_EQ(d.findings[0].cause, "weight_scale_wrong");
  EXPECT_EQ(d.findings[0].dump_tensor, "conv_QuantOutput");
}

TEST(Quantized, AnOperatorInHalfIsReplayedFromTheDequantizedCopyThatItReads) {
  const Network network;
  const Device device(network);
  std::vector<Entry> entries = device.run();
  const Stored half{DType::f16, {}};
  const std::vector<double> copy =
      map(entry_named(entries, "t2").integers, [&](std::int32_t q) { return double{to_half(device.conv.real(q))}; });
  const std::vector<double> activated = map(copy, [](double v) { return std::max(v, 0.0); });
  std::vector<double> out(activated.size());
  for (int c = 0; c < kOutputs; ++c)
    for (int p = 0; p < kPixels; ++p)
      out[static_cast<std::size_t>(c * kPixels + p)] = activated[static_cast<std::size_t>(p * kOutputs + c)];
  entry_named(entries, "t3") = {"t3", half, {}, activated, "1x2x4x4", kNoEncoding};
  entry_named(entries, "t4_cast") = {"t4_cast", half, {}, out, "1x4x2x4", kNoEncoding};
  entry_named(entries, "t4").reals = out;
  entries.push_back({"QnnTensor_7", half, {}, copy, "1x2x4x4", kNoEncoding});
  const Diagnosis d = diagnose_run(network, entries);
  EXPECT_THAT(findings_of(d), IsEmpty());
  EXPECT_EQ(row_of(d, "QnnTensor_7").tensor, "t2");
  EXPECT_EQ(row_of(d, "t3").bound_ratio, 0.0);
}

TEST(Quantized, ACopyBelongsToTheTensorThatItsReaderReads) {
  Network network;
  network.bias.assign(kOutputs, 100);  // the ReLU changes nothing: t2 and t3 hold the same bytes
  const Device device(network);
  std::vector<Entry> entries = device.run();
  ASSERT_EQ(entry_named(entries, "t2").integers, entry_named(entries, "t3").integers);
  const Stored half{DType::f16, {}};
  const std::vector<double> copy =
      map(entry_named(entries, "t3").integers, [&](std::int32_t q) { return double{to_half(device.conv.real(q))}; });
  entry_named(entries, "t4_cast") = {"t4_cast", half, {}, copy, "1x4x2x4", kNoEncoding};  // one value throughout
  entry_named(entries, "t4").reals = copy;
  entries.push_back({"QnnTensor_7", half, {}, copy, "1x2x4x4", kNoEncoding});
  const Diagnosis d = diagnose_run(network, entries);
  EXPECT_EQ(row_of(d, "QnnTensor_7").tensor, "t3");
  EXPECT_EQ(row_of(d, "t4_cast").bound_ratio, 0.0);
}

// --- Encodings in a run
// --------------------------------------------------------------------------------------------------

TEST(WrongEncoding, IsABugOfItsMakerAloneThoughEveryValueFollowsFromIt) {
  const Network network;
  for (double factor : {0.4, 1.5}) {
    Device device(network);
    device.conv.encoding.scale *= factor;
    const Diagnosis d = diagnose_run(network, device);
    EXPECT_THAT(findings_of(d), ElementsAre("bug conv quant_scale_wrong"));
    EXPECT_TRUE(d.findings[0].proven);
    EXPECT_EQ(d.verdict, Verdict::bug);
    EXPECT_EQ(d.operators[3].status, OpStatus::inherited);
  }
}

TEST(WrongEncoding, ThatIsHandedOnIsNotHeldAgainstWhoHandsItOn) {
  const Network network;
  Device device(network);
  device.conv.encoding.scale *= 0.4;
  device.act = device.conv;  // t3 declares nothing, t4 the model's encoding
  EXPECT_THAT(findings_of(diagnose_run(network, device)), ElementsAre("bug conv quant_scale_wrong"));
  device.out = device.conv;
  EXPECT_THAT(findings_of(diagnose_run(network, device)), ElementsAre("bug conv quant_scale_wrong"));
}

TEST(WrongEncoding, OfAnInheritedOneIsFound) {
  const Network network;
  Device device(network);
  device.act.encoding.offset = -20;
  const Diagnosis d = diagnose_run(network, device);
  EXPECT_THAT(findings_of(d), ElementsAre("bug act quant_offset_wrong"));
  EXPECT_THAT(evidence_of(d), HasSubstr("inherits from t2"));
}

TEST(WrongEncoding, IsNoneWhereAnUndeclaredTensorTookItFromItsReader) {
  Network network;
  network.output = {DType::sfixed8, {0.09, 0}};
  Device device(network);
  device.act = device.out;  // t3 has t4's encoding instead of t2's
  EXPECT_THAT(findings_of(diagnose_run(network, device)), IsEmpty());
  device.act.encoding.scale = 0.1;
  EXPECT_THAT(findings_of(diagnose_run(network, device)), ElementsAre("bug act quant_scale_wrong"));
}

TEST(WrongEncoding, OfTheInsertedCopyIsHeldAgainstItsNode) {
  const Network network;
  Device device(network);
  device.input.encoding.scale *= 1.25;
  const Diagnosis d = diagnose_run(network, device);
  ASSERT_EQ(d.findings.size(), 1U) << evidence_of(d);
  EXPECT_EQ(d.findings[0].cause, "quant_scale_wrong");
  EXPECT_EQ(d.findings[0].op, "");
  EXPECT_EQ(d.findings[0].node, "FloatToInt8_I_0_O_2");
}

TEST(WrongEncoding, SeveralOfThemAreAllFound) {
  const Network network;
  Device device(network);
  device.x.encoding.offset = 9;
  device.conv.encoding.scale *= 2;
  EXPECT_THAT(findings_of(diagnose_run(network, device)),
              ElementsAre("bug to_c4 quant_offset_wrong", "bug conv quant_scale_wrong"));
}

TEST(WrongEncoding, TogetherWithAProvenMistakeIsTwoFindings) {
  const Network network;
  Device device(network);
  device.conv.encoding.scale *= 1.5;
  device.with_bias = false;
  EXPECT_THAT(findings_of(diagnose_run(network, device)),
              ElementsAre("bug conv quant_scale_wrong", "bug conv bias_dropped"));
}

TEST(WrongEncoding, OfSixPrintedDigitsIsOneWarning) {
  Network network;
  network.input.encoding.scale = 0.0312531F;
  network.conv.encoding.scale = 0.0800034F;
  Device device(network);
  device.input.encoding.scale = device.x.encoding.scale = 0.031253;
  device.conv.encoding.scale = device.act.encoding.scale = device.out.encoding.scale = 0.080003;
  const Diagnosis d = diagnose_run(network, device);
  EXPECT_THAT(findings_of(d), ElementsAre("warning conv quant_scale_wrong"));
  EXPECT_EQ(d.verdict, Verdict::clean) << d.summary;
  EXPECT_THAT(evidence_of(d), HasSubstr("too few digits"));
}

TEST(WrongEncoding, ThatIsNoNumberLeavesReadersUnjudged) {
  const Network network;
  for (double scale : {0.0, -0.04, kNan, kInf}) {
    std::vector<Entry> entries = Device(network).run();
    entry_named(entries, "t2").stored.encoding.scale = scale;
    const Diagnosis d = diagnose_run(network, entries);
    EXPECT_THAT(findings_of(d), ElementsAre("bug conv quant_scale_invalid")) << scale;
    EXPECT_EQ(d.operators[2].status, OpStatus::broken);
    EXPECT_EQ(d.operators[3].status, OpStatus::not_judged);
    EXPECT_THAT(d.operators[3].reason, HasSubstr("no positive number"));
  }
}

TEST(WrongEncoding, WithAHugeOffsetIsFoundWithoutHarm) {
  const Network network;
  for (std::int32_t offset : {kLowest, std::numeric_limits<std::int32_t>::max()}) {
    std::vector<Entry> entries = Device(network).run();
    entry_named(entries, "t2").stored.encoding.offset = offset;
    const Diagnosis d = diagnose_run(network, entries);
    ASSERT_FALSE(d.findings.empty());
    EXPECT_EQ(d.findings[0].cause, "quant_offset_wrong");
    EXPECT_EQ(d.findings[0].op, "conv");
  }
}

TEST(UnknownEncoding, IsNotJudgedAndSaysWhy) {
  const Network network;
  std::vector<Entry> entries = Device(network).run();
  entry_named(entries, "t2").quant_encoding = 1;
  const Diagnosis d = diagnose_run(network, entries);
  EXPECT_THAT(findings_of(d), IsEmpty());
  EXPECT_EQ(d.verdict, Verdict::inconclusive);
  EXPECT_EQ(d.operators[2].status, OpStatus::not_judged);
  EXPECT_THAT(d.operators[2].reason, HasSubstr("quant_encoding 1"));
}

TEST(Saturation, WithTheModelsEncodingIsAWarning) {
  Network network;
  network.conv.encoding.scale = 0.01;
  const Diagnosis d = diagnose_run(network, Device(network));
  EXPECT_THAT(findings_of(d), ElementsAre("warning conv quant_saturation"));
  EXPECT_EQ(d.verdict, Verdict::clean);
  EXPECT_THAT(evidence_of(d), HasSubstr("what it can hold (-1.28 to 1.27)"));
}

TEST(Saturation, BelongsToAWrongEncodingAsEvidence) {
  const Network network;
  Device device(network);
  device.conv.encoding.scale *= 0.25;
  const Diagnosis d = diagnose_run(network, device);
  EXPECT_THAT(findings_of(d), ElementsAre("bug conv quant_scale_wrong"));
  EXPECT_THAT(evidence_of(d), HasSubstr("beyond what it can hold"));
}

// --- Inheritance in the graph
// --------------------------------------------------------------------------------------------

TEST(InheritedEncoding, GoesThroughDataMovementAndNoFurther) {
  NetSpec net{.tensors = {"image", "a", "b", "c", "d"}, .outputs = {"d"}};
  net.ops = {test::input_op("image", 0, {1, 2, 2, 2}),
             {wire::Kind_ReLU, "relu", {0}, {1}},
             {wire::Kind_Concat, "cat", {1, 0}, {2}},
             {wire::Kind_BinaryOp, "sum", {2, 2}, {3}},
             {wire::Kind_ReLU, "last", {3}, {4}}};
  net.quants = {{0, 0.5F}};
  const ModelBytes bytes = build(net);
  const auto model = Model::parse(bytes.bytes(), "net.mnn");
  ASSERT_TRUE(model) << model.error().message;
  const Graph& graph = model->graph();
  EXPECT_EQ(graph.tensors[1].encoding_source, 0);
  EXPECT_EQ(graph.tensors[2].encoding_source, 0);
  EXPECT_FALSE(graph.tensors[2].encoding) << "what the model declares stays apart from what is inherited";
  EXPECT_EQ(graph.meant_encoding(3), nullptr);
  EXPECT_EQ(graph.meant_encoding(4), nullptr);
  EXPECT_EQ(graph.meant_quantized_type(2), DType::sfixed8);
}

}  // namespace
}  // namespace qnndbg
