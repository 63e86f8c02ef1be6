#include "report/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace qnndbg {
namespace {

using testing::HasSubstr;
using testing::Not;

ContextView view() {
  ContextView made;
  made.file = "net.bin";
  made.bytes = 1'500'000;
  made.binary.build_id = "v2.37.1.250807093845";
  made.binary.core_api = "2.30.0";
  made.binary.backend_api = "5.37.0";
  made.binary.backend_id = qnn::abi::kHtpBackendId;
  made.binary.soc = 57;
  made.binary.arch = 75;
  qnn::BinaryTensor input;
  input.name = "t0";
  input.type = qnn_number(DType::ufixed8);
  input.dims = {1, 8, 8, 3};
  input.quantization = {.kind = qnn::QuantizationSpec::Kind::tensor, .scales = {0.25F}, .offsets = {-128}};
  made.binary.graphs.push_back({"model", {input}, {}});
  return made;
}

TEST(ContextText, TellsWhatIsInTheBinary) {
  const std::string text = context_text(view(), {});
  EXPECT_THAT(text, HasSubstr("net.bin: context binary, 1.5 MB\n"));
  EXPECT_THAT(text, HasSubstr("QNN v2.37.1.250807093845 (core API 2.30.0, backend API 5.37.0)\n"));
  EXPECT_THAT(text, HasSubstr("SM8650 (57), v75\n"));
  EXPECT_THAT(text, HasSubstr("graph `model`: 1 input, 0 outputs\n"));
  EXPECT_THAT(text, HasSubstr("ufixed8   1x8x8x3  scale 0.25 offset -128\n"));
  EXPECT_THAT(text, Not(HasSubstr("fit")));
}

TEST(ContextText, EndsWithTheVerdict) {
  ContextView asked = view();
  asked.wish.target = {43, 73};
  asked.wish.runtime = "2.37";
  EXPECT_TRUE(context_text(asked, {}).ends_with("it fits: SM8550 (43), v73; QNN 2.37\n"));
  asked.remarks.push_back({qnn::FitSubject::soc, false, "", "", "less memory"});
  EXPECT_TRUE(asked.fits());
  EXPECT_THAT(context_text(asked, {}), HasSubstr("note: less memory\n"));
  asked.remarks.push_back({qnn::FitSubject::arch, true, "", "", "made for v75"});
  EXPECT_THAT(context_text(asked, {}), HasSubstr("error: made for v75\nit does not fit: "));
}

TEST(ContextText, ManyTensorsAreCutAndForeignNamesAreSafe) {
  ContextView many = view();
  many.binary.graphs[0].name = "a\x1b[2J";
  many.binary.graphs[0].inputs.resize(40, many.binary.graphs[0].inputs[0]);
  EXPECT_THAT(context_text(many, {}), HasSubstr("and 24 more inputs (-v)\n"));
  EXPECT_THAT(context_text(many, {}), HasSubstr(R"(`a\x1b[2J`)"));
  TextStyle all;
  all.verbosity = 1;
  EXPECT_THAT(context_text(many, all), Not(HasSubstr("more")));
}

TEST(ContextJson, HoldsTheSame) {
  ContextView asked = view();
  const auto quiet = nlohmann::json::parse(context_json(asked));
  EXPECT_EQ(quiet["fits"], nullptr);
  EXPECT_EQ(quiet["checked_against"], nullptr);
  EXPECT_EQ(quiet["made_for"], (nlohmann::json{{"soc", 57}, {"name", "SM8650"}, {"arch", "v75"}}));
  EXPECT_EQ(quiet["graphs"][0]["inputs"][0]["encoding"]["offsets"][0], -128);
  asked.wish.target = {43, 73};
  asked.remarks.push_back({qnn::FitSubject::arch, true, "", "", "made for v75"});
  const auto loud = nlohmann::json::parse(context_json(asked));
  EXPECT_EQ(loud["fits"], false);
  EXPECT_EQ(loud["checked_against"]["target"]["arch"], "v73");
  EXPECT_EQ(loud["remarks"][0]["subject"], "arch");
}

}  // namespace
}  // namespace qnndbg
