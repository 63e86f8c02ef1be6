#include "qnn/context_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qnndbg::qnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

BinaryTensor tensor(std::string name, std::vector<std::uint32_t> dims, DType type = DType::f32) {
  BinaryTensor made;
  made.name = std::move(name);
  made.type = qnn_number(type);
  made.dims = std::move(dims);
  return made;
}

/// Made by QNN 2.37 for v75: one graph, t0 -> t3.
BinaryInfo binary() {
  BinaryInfo info;
  info.backend_id = abi::kHtpBackendId;
  info.build_id = "v2.37.1.250807093845";
  info.soc = 57;
  info.arch = 75;
  info.graphs.push_back({"model", {tensor("t0", {1, 4, 4, 3})}, {tensor("t3", {1, 10})}});
  return info;
}

ModelEnds ends() {
  ModelEnds made;
  made.inputs.push_back({.name = "t0",
                         .model_name = "image:0",
                         .dims = {1, 4, 4, 3},
                         .model_dims = {1, 3, 4, 4},
                         .type = DType::f32,
                         .encoding = {}});
  made.outputs.push_back(
      {.name = "t3", .model_name = "prob", .dims = {1, 10}, .model_dims = {1, 10}, .type = DType::f32, .encoding = {}});
  return made;
}

std::vector<std::string> texts(const BinaryInfo& info, const ContextWish& wish) {
  const Result<std::vector<FitRemark>> remarks = check_context(info, wish);
  EXPECT_TRUE(remarks);
  std::vector<std::string> out;
  if (remarks)
    for (const FitRemark& remark : *remarks) out.push_back((remark.problem ? "" : "note: ") + remark.text);
  return out;
}

TEST(ContextFit, NothingAskedNothingSaid) { EXPECT_THAT(texts(binary(), {}), IsEmpty()); }

TEST(ContextFit, AnotherBackendIsNoHtp) {
  BinaryInfo info = binary();
  info.backend_id = 4;
  EXPECT_THAT(texts(info, {}), ElementsAre(HasSubstr("number 4, not for HTP")));
}

TEST(ContextFit, TheArchitectureDecides) {
  EXPECT_THAT(texts(binary(), {.target = {57, 75}}), IsEmpty());
  EXPECT_THAT(texts(binary(), {.target = {43, 73}}), ElementsAre(HasSubstr("made for v75, but the device has v73")));
}

TEST(ContextFit, AnotherSocOfTheArchitectureIsANote) {
  EXPECT_THAT(texts(binary(), {.target = {67, 75}}), ElementsAre(HasSubstr("note: made for SM8650 (57)")));
}

TEST(ContextFit, TheArchitectureFollowsFromTheSoc) {
  BinaryInfo info = binary();
  info.arch = 0;
  EXPECT_EQ(arch_of(info), 75);
  EXPECT_THAT(texts(info, {.target = {43, 73}}), ElementsAre(HasSubstr("made for v75")));
  info.soc = 0;
  EXPECT_EQ(arch_of(info), 0);
  EXPECT_THAT(texts(info, {.target = {43, 73}}), ElementsAre(HasSubstr("note: the binary does not tell")));
}

TEST(ContextFit, BinariesLoadInTheirOwnVersionAndLaterOnes) {
  for (const char* good : {"2.37", "2.37.1", "2.51", "3.0", "v2.37.1.250807093845"})
    EXPECT_THAT(texts(binary(), {.runtime = good}), IsEmpty()) << good;
  for (const char* old : {"2.36", "2.37.0", "2.9", "1.99"})
    EXPECT_THAT(texts(binary(), {.runtime = old}), ElementsAre(HasSubstr("but the device has"))) << old;
  BinaryInfo info = binary();
  info.build_id.clear();
  EXPECT_THAT(texts(info, {.runtime = "2.37"}), ElementsAre(HasSubstr("note: the binary does not tell which QNN")));
}

TEST(ContextFit, WhatIsNoVersionIsRefused) {
  for (const char* text : {"", "2", "two", "2.x", "-2.37", "2.37abc", "v", "99999999999.1"})
    EXPECT_FALSE(short_version(text)) << text;
  EXPECT_EQ(short_version("v2.51.0.260929181845").value(), "2.51.0");
  EXPECT_EQ(short_version("2.37").value(), "2.37");
  EXPECT_FALSE(check_context(binary(), {.runtime = "new"}));
}

TEST(ContextFit, EndsAreFoundByMnnsNamesAndByTheModels) {
  EXPECT_THAT(texts(binary(), {.ends = ends()}), IsEmpty());
  BinaryInfo converted = binary();
  converted.graphs[0].inputs[0].name = "image_0";
  converted.graphs[0].outputs[0].name = "prob";
  EXPECT_THAT(texts(converted, {.ends = ends()}), IsEmpty());
}

TEST(ContextFit, DimsInEitherOrderAndOpenExtentsFit) {
  BinaryInfo info = binary();
  info.graphs[0].inputs[0].dims = {1, 3, 4, 4};
  EXPECT_THAT(texts(info, {.ends = ends()}), IsEmpty());
  info.graphs[0].inputs[0].dims = {1, 3, 4, 5};
  EXPECT_THAT(texts(info, {.ends = ends()}),
              ElementsAre("input `t0` (image:0) has dims 1x3x4x5, the model's are 1x4x4x3"));
  ModelEnds open = ends();
  open.inputs[0].model_dims[3] = -1;
  EXPECT_THAT(texts(info, {.ends = open}), IsEmpty());
  info.graphs[0].inputs[0].dims = {1, 3, 4};
  EXPECT_THAT(texts(info, {.ends = open}), ElementsAre(HasSubstr("has dims 1x3x4")));
}

TEST(ContextFit, TypesAndEncodingsAreCompared) {
  BinaryInfo info = binary();
  info.graphs[0].outputs[0].type = qnn_number(DType::f16);
  EXPECT_THAT(texts(info, {.ends = ends()}), ElementsAre("output `t3` (prob) is f16, the model's is f32"));
  info.graphs[0].outputs[0].type = 0x7777;
  EXPECT_THAT(texts(info, {.ends = ends()}), ElementsAre(HasSubstr("is QNN type 0x7777")));

  ModelEnds fixed = ends();
  fixed.outputs[0].type = DType::ufixed8;
  fixed.outputs[0].encoding = Encoding{0.25, -3};
  BinaryTensor& stored = info.graphs[0].outputs[0];
  stored.type = qnn_number(DType::ufixed8);
  stored.quantization = {.kind = QuantizationSpec::Kind::tensor, .scales = {0.25001F}, .offsets = {-3}};
  EXPECT_THAT(texts(info, {.ends = fixed}), IsEmpty());
  stored.quantization.scales = {0.26F};
  EXPECT_THAT(texts(info, {.ends = fixed}),
              ElementsAre(HasSubstr("has scale 0.26, offset -3; the model's are 0.25, -3")));
  stored.quantization = {.kind = QuantizationSpec::Kind::tensor, .scales = {0.25F}, .offsets = {3}};
  EXPECT_THAT(texts(info, {.ends = fixed}), ElementsAre(HasSubstr("offset 3")));
  stored.quantization.scales.clear();
  EXPECT_THAT(texts(info, {.ends = fixed}), ElementsAre(HasSubstr("has scale 0,")));
}

TEST(ContextFit, MissingAndUnknownEndsAreNamed) {
  BinaryInfo info = binary();
  info.graphs[0].outputs[0].name = "other";
  EXPECT_THAT(texts(info, {.ends = ends()}), ElementsAre("output `t3` (prob) of the model is not in the binary",
                                                         "output `other` is none of the model's"));
  ModelEnds partial = ends();
  partial.outputs.clear();
  partial.complete = false;
  EXPECT_THAT(texts(info, {.ends = partial}), ElementsAre(HasSubstr("note: some operators of the model")));
}

TEST(ContextFit, OneOfSeveralGraphsMustFit) {
  BinaryInfo info = binary();
  BinaryGraph other = info.graphs[0];
  other.name = "larger";
  other.inputs[0].dims = {1, 8, 8, 3};
  info.graphs.insert(info.graphs.begin(), other);
  EXPECT_THAT(texts(info, {.ends = ends()}), IsEmpty());
  info.graphs.pop_back();
  info.graphs.push_back(other);
  const auto remarks = check_context(info, {.ends = ends()});
  ASSERT_TRUE(remarks);
  ASSERT_EQ(remarks->size(), 2U);
  EXPECT_EQ((*remarks)[0].graph, "larger");
  EXPECT_EQ((*remarks)[0].tensor, "t0");
  info.graphs.clear();
  EXPECT_THAT(texts(info, {.ends = ends()}), ElementsAre("the binary has no graph"));
}

}  // namespace
}  // namespace qnndbg::qnn
