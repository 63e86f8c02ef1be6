#include "graph/side_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "dump/temp_dir.h"
#include "graph/model.h"
#include "model_builder.h"

namespace qnndbg {
namespace {

using test::Builder;
using test::ModelBytes;
using test::NetSpec;
using test::OpSpec;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

/// 1x1 convolution from 2 to 1 channels with its weights in a side file.
OpSpec external_convolution(const std::vector<std::int64_t>& external, const std::string& path = {}) {
  OpSpec op{wire::Kind_Convolution, "conv", {0}, {1}, wire::OpParameter_Convolution2D};
  op.external_path = path;
  op.main = [external](Builder& builder) {
    wire::Convolution2DCommonBuilder common(builder);
    common.add_outputCount(1);
    common.add_inputCount(2);
    const auto finished = common.Finish();
    return wire::CreateConvolution2DDirect(builder, finished, nullptr, nullptr, 0, 0, 0, &external).Union();
  };
  return op;
}

NetSpec net_of(const OpSpec& op) { return {.tensors = {"x", "y"}, .ops = {test::input_op("x", 0, {1, 2, 8, 8}), op}}; }

std::string floats(std::initializer_list<float> values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

std::vector<float> copy(const Result<FloatArray>& array) {
  if (!array) ADD_FAILURE() << array.error().message;
  return array ? std::vector<float>(array->values().begin(), array->values().end()) : std::vector<float>();
}

class SideFile : public testing::Test {
 protected:
  Result<Model> open(const OpSpec& op, const Model::Options& options = {}) const {
    return Model::open(dir_.write("m/net.mnn", build(net_of(op)).text()), options);
  }
  std::string weight_error(const OpSpec& op) const {
    const Result<FloatArray> weight = open(op)->convolution_weight(1);
    return weight ? "no error" : weight.error().message;
  }

  TempDir dir_;
};

TEST_F(SideFile, LiesBesideTheModel) {
  dir_.write("m/net.mnn.weight", "....." + floats({1, 2, 3}));
  const Result<Model> model = open(external_convolution({5, 8, 4}));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_THAT(copy(model->convolution_weight(1)), ElementsAre(1, 2)) << "also where it is not aligned";
  EXPECT_THAT(copy(model->convolution_bias(1)), ElementsAre(3));
}

TEST_F(SideFile, HoldsThePartsOfCodedWeights) {
  OpSpec op{wire::Kind_Convolution, "conv", {0}, {1}, wire::OpParameter_Convolution2D};
  op.main = [](Builder& builder) {
    wire::Convolution2DCommonBuilder common(builder);
    common.add_outputCount(2);
    common.add_inputCount(2);
    const auto finished = common.Finish();
    const auto quan = wire::CreateIDSTQuanDirect(builder, nullptr, nullptr, 4, false, 1.0F);
    const std::vector<std::int64_t> external = {0, 4, 8, 8, 0};
    return wire::CreateConvolution2DDirect(builder, finished, nullptr, nullptr, quan, 0, 0, &external).Union();
  };
  dir_.write("m/net.mnn.weight", std::string("\x01\x02\xFF\x04", 4) + floats({0.5F, 2, 7, 8}));
  const Result<Model> model = open(op);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_THAT(copy(model->convolution_weight(1)), ElementsAre(0.5F, 1, -2, 8));
  EXPECT_THAT(copy(model->convolution_bias(1)), ElementsAre(7, 8));
}

TEST_F(SideFile, HoldsConstantsAndParts) {
  OpSpec op{wire::Kind_Const, "const", {}, {1}, wire::OpParameter_Blob};
  op.main = [](Builder& builder) {
    const std::vector<int> dims = {2};
    const std::vector<std::int64_t> external = {4, 8};
    return wire::CreateBlobDirect(builder, &dims, wire::Layout_NCHW, wire::DType_DT_FLOAT, nullptr, nullptr, nullptr,
                                  nullptr, nullptr, nullptr, &external)
        .Union();
  };
  dir_.write("m/net.mnn.weight", floats({1, 2, 3}));
  const Result<Model> model = open(op);
  ASSERT_TRUE(model) << model.error().message;
  const Result<Tensor> constant = model->constant(1);
  ASSERT_TRUE(constant) << constant.error().message;
  EXPECT_THAT(constant->f32(), ElementsAre(2, 3));

  Builder builder;
  builder.Finish(builder.CreateVector(std::vector<std::int64_t>{0, 4, 8}));
  const auto* record = flatbuffers::GetRoot<flatbuffers::Vector<std::int64_t>>(builder.GetBufferPointer());
  EXPECT_THAT(copy(model->float_part(1, nullptr, record, 0)), ElementsAre(1));
  EXPECT_THAT(copy(model->float_part(1, nullptr, record, 1)), ElementsAre(2, 3));
  EXPECT_TRUE(copy(model->float_part(1, nullptr, record, 2)).empty()) << "a part that the record does not have";
  EXPECT_TRUE(copy(model->float_part(1, nullptr, nullptr, 0)).empty());
}

TEST_F(SideFile, MissingIsAnErrorOnlyWhereItIsNeeded) {
  const Result<Model> model = open(external_convolution({0, 8, 4}));
  ASSERT_TRUE(model) << model.error().message;
  const Result<FloatArray> weight = model->convolution_weight(1);
  ASSERT_FALSE(weight);
  EXPECT_THAT(weight.error().message, HasSubstr("operator #1 \"conv\" (Convolution)"));
  EXPECT_THAT(weight.error().message, HasSubstr("net.mnn.weight"));
  EXPECT_THAT(weight.error().message, HasSubstr("--weights"));
}

TEST_F(SideFile, TooShortIsAnError) {
  dir_.write("m/net.mnn.weight", "1234567");
  EXPECT_THAT(weight_error(external_convolution({0, 8, 4})), HasSubstr("expects 8 bytes at 0, but the file ends at 7"));
}

TEST_F(SideFile, RefusesImpossibleRecords) {
  dir_.write("m/net.mnn.weight", floats({1, 2, 3}));
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(weight_error(external_convolution({-1, 8, 4})), HasSubstr("expects 8 bytes at -1"));
  EXPECT_THAT(weight_error(external_convolution({0, -8, 4})), HasSubstr("expects -8 bytes"));
  EXPECT_THAT(weight_error(external_convolution({4, kMax, 4})), HasSubstr("but the file ends at 12"));
  EXPECT_THAT(weight_error(external_convolution({0, 7, 4})), HasSubstr("no whole number"));
  for (const std::vector<std::int64_t>& record : {std::vector{kMax, kMax, 4L}, std::vector{8L, -4L, 4L}}) {
    const Result<Model> model = open(external_convolution(record));
    EXPECT_THAT(model->convolution_bias(1).error().message, HasSubstr("part 0 has " + std::to_string(record[1])));
  }
}

TEST_F(SideFile, RecordsMayBeMisaligned) {
  // The verifier accepts a vector of 64-bit numbers that begins at a multiple of 4 only.
  Builder builder;
  builder.Finish(builder.CreateVector(std::vector<std::int64_t>{4, 8, 0}));
  std::vector<std::uint64_t> storage(builder.GetSize() / 8 + 2);
  auto* shifted = reinterpret_cast<std::uint8_t*>(storage.data()) + 4;
  std::memcpy(shifted, builder.GetBufferPointer(), builder.GetSize());
  dir_.write("m/net.mnn.weight", floats({1, 2, 3}));
  const Result<Model> model = open(external_convolution({0, 8, 4}));
  const auto* record = flatbuffers::GetRoot<flatbuffers::Vector<std::int64_t>>(shifted);
  EXPECT_THAT(copy(model->float_part(1, nullptr, record, 0)), ElementsAre(2, 3));
}

TEST_F(SideFile, GivenByTheUserReplacesAll) {
  dir_.write("m/net.mnn.weight", floats({1, 2, 3}));
  dir_.write("m/own.bin", floats({4, 5, 6}));
  const fs::path given = dir_.write("elsewhere/w.bin", floats({7, 8, 9}));
  const Result<Model> own = open(external_convolution({0, 8, 4}, "own.bin"));
  EXPECT_THAT(copy(own->convolution_weight(1)), ElementsAre(4, 5));
  for (const std::string path : {"", "own.bin", "../outside.bin"}) {
    const Result<Model> model = open(external_convolution({0, 8, 4}, path), {.weights = given});
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_THAT(copy(model->convolution_weight(1)), ElementsAre(7, 8));
  }
  const Result<Model> missing = open(external_convolution({0, 8, 4}), {.weights = dir_.path() / "none"});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("none"));
}

TEST_F(SideFile, PathOfTheModelMustNotLeaveItsDirectory) {
  const std::string weights = floats({1, 2, 3});
  const fs::path outside = dir_.write("outside.bin", weights);
  dir_.write("mm/beside.bin", weights);
  dir_.write("m/sub/inside.bin", weights);
  fs::create_symlink(outside, dir_.path() / "m/link.bin");
  for (const std::string path : {"../outside.bin", "sub/../../outside.bin", "../mm/beside.bin", "link.bin"}) {
    EXPECT_THAT(weight_error(external_convolution({0, 8, 4}, path)), HasSubstr("outside the model's directory"))
        << path;
  }
  EXPECT_THAT(weight_error(external_convolution({0, 8, 4}, outside.string())),
              HasSubstr("outside the model's directory"));
  EXPECT_EQ(weight_error(external_convolution({0, 8, 4}, "sub/../sub/inside.bin")), "no error");
  EXPECT_THAT(weight_error(external_convolution({0, 8, 4}, "absent.bin")), HasSubstr("absent.bin"));
  EXPECT_THAT(weight_error(external_convolution({0, 8, 4}, std::string("a\0b", 3))), HasSubstr("null character"));
  EXPECT_THAT(weight_error(external_convolution({0, 8, 4}, "sub")), HasSubstr("sub")) << "a directory";
  EXPECT_THAT(weight_error(external_convolution({0, 8, 4}, std::string(5000, 'n'))), HasSubstr("--weights"));
}

TEST_F(SideFile, IsNotThereForAModelInMemory) {
  for (const std::string path : {"", "own.bin"}) {
    const ModelBytes bytes = build(net_of(external_convolution({0, 8, 4}, path)));
    const Result<Model> model = Model::parse(bytes.bytes(), "net.mnn");
    EXPECT_THAT(model->convolution_weight(1).error().message, HasSubstr("read from memory"));
  }
}

}  // namespace
}  // namespace qnndbg
