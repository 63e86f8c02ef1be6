#include "report/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "report/sample.h"

namespace qnndbg {
namespace {

using nlohmann::json;
using testing::bug_sample;
using testing::clean_sample;
using ::testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

json document_of(const Diagnosis& diagnosis) { return json::parse(to_json(diagnosis)); }

std::vector<std::string> keys_in_order(const std::string& text) {
  std::vector<std::string> keys;
  const auto document = nlohmann::ordered_json::parse(text);
  for (const auto& [key, value] : document.items()) keys.push_back(key);
  return keys;
}

TEST(Json, KeysComeInTheDocumentedOrder) {
  EXPECT_THAT(keys_in_order(to_json(clean_sample())),
              ElementsAre("schema", "verdict", "summary", "model", "run", "coverage", "findings", "operators",
                          "tensors", "notes"));
}

TEST(Json, IsOneObjectThatEndsWithANewline) {
  const std::string text = to_json(clean_sample());
  EXPECT_EQ(text.front(), '{');
  EXPECT_EQ(text.substr(text.size() - 2), "}\n");
  EXPECT_EQ(document_of(clean_sample())["schema"], "qnn-debug/diagnosis/1");
}

TEST(Json, FindingHasAllDocumentedFields) {
  const json finding = document_of(bug_sample())["findings"][0];
  EXPECT_EQ(finding["id"], "QD0207");
  EXPECT_EQ(finding["kind"], "bug");
  EXPECT_EQ(finding["op"], "upsample");
  EXPECT_EQ(finding["op_index"], 5);
  EXPECT_EQ(finding["op_type"], "Interp");
  EXPECT_EQ(finding["output"], 0);
  EXPECT_EQ(finding["tensor"], "t5");
  EXPECT_EQ(finding["dump_tensor"], "t5");
  EXPECT_EQ(finding["node"], "upsample");
  EXPECT_EQ(finding["cause"], "resize_coordinate_mode_wrong");
  EXPECT_EQ(finding["proven"], true);
  EXPECT_EQ(finding["ties"], json::array());
  EXPECT_EQ(finding["local_error"], (json{{"max_abs", 0.371}, {"max_rel", 0.1318}, {"bound_ratio", 411.26}}));
  EXPECT_EQ(finding["inherited_error"]["bound_ratio"], nullptr);
  EXPECT_EQ(finding["consequence_of"], nullptr);
  EXPECT_EQ(finding["evidence"].size(), 1U);
  EXPECT_EQ(finding["suspect"]["parameter"], "align_corners of ResizeBilinear");
  EXPECT_EQ(finding["next_steps"].size(), 1U);
}

TEST(Json, WhatIsNotKnownIsNull) {
  Diagnosis d = bug_sample();
  Finding& f = d.findings[0];
  f.op.clear();
  f.op_index = -1;
  f.node.clear();
  f.cause.clear();
  f.suspect.reset();
  f.local_error.reset();
  f.consequence_of = 3;
  d.run.constant_rounding.clear();
  d.run.execution.reset();
  const json document = document_of(d);
  const json& finding = document["findings"][0];
  for (const char* key : {"op", "op_index", "node", "cause", "suspect", "local_error"})
    EXPECT_EQ(finding[key], nullptr) << key;
  EXPECT_EQ(finding["consequence_of"], 3);
  for (const char* key : {"constant_rounding", "soc", "library", "mnn", "execution"})
    EXPECT_EQ(document["run"][key], nullptr) << key;
  EXPECT_EQ(document["run"]["arch"], "unknown");
}

TEST(Json, NumbersThatAreNotFiniteAreNullAndCounted) {
  Diagnosis d = bug_sample();
  d.findings[0].local_error = ErrorFigure{.max_abs = kInf, .max_rel = kNan, .bound_ratio = -kInf};
  d.operators[0].bound_ratio = kNan;
  d.tensors[0].baseline->sqnr_db = kInf;
  d.tensors[0].baseline->worst = {{.index = 7, .actual = std::numeric_limits<float>::infinity(), .expected = 0.1F}};
  const json document = document_of(d);
  EXPECT_EQ(document["findings"][0]["local_error"],
            (json{{"max_abs", nullptr}, {"max_rel", nullptr}, {"bound_ratio", nullptr}, {"nonfinite", 3}}));
  EXPECT_EQ(document["operators"][0]["bound_ratio"], nullptr);
  EXPECT_EQ(document["operators"][0]["nonfinite"], 1);
  const json& baseline = document["tensors"][0]["baseline"];
  EXPECT_EQ(baseline["sqnr_db"], nullptr);
  EXPECT_EQ(baseline["nonfinite"], 1);
  EXPECT_EQ(baseline["worst"][0], (json{{"index", 7}, {"actual", nullptr}, {"expected", 0.1}, {"nonfinite", 1}}));
  EXPECT_FALSE(document["operators"][1].contains("nonfinite"));
}

TEST(Json, AMissingBoundIsNullButNotCounted) {
  Diagnosis d = bug_sample();
  d.operators[3].bound_ratio.reset();
  const json row = document_of(d)["operators"][3];
  EXPECT_EQ(row["bound_ratio"], nullptr);
  EXPECT_FALSE(row.contains("nonfinite"));
}

TEST(Json, FiguresHaveSixDigitsAndScalesHaveAll) {
  Diagnosis d = bug_sample();
  d.findings[0].local_error->max_rel = 0.13178294573639673;
  d.tensors[0].encoding = Encoding{.scale = 0.0123456789012345, .offset = -3};
  const json document = document_of(d);
  EXPECT_EQ(document["findings"][0]["local_error"]["max_rel"], 0.131783);
  EXPECT_EQ(document["tensors"][0]["encoding"], (json{{"scale", 0.0123456789012345}, {"offset", -3}}));
}

TEST(Json, HostileNamesGiveValidPlainAscii) {
  Diagnosis d = bug_sample();
  const std::string hostile = std::string("a\nb\x1b[31m\xff\xc2\x9b \"quoted\" \xe4\xb8\xad ") + '\0';
  d.operators[2].name = hostile;
  d.findings[0].op = hostile;
  d.findings[0].evidence = {hostile};
  d.model.file = hostile;
  const std::string text = to_json(d);
  const auto is_plain = [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); };
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), is_plain));
  const std::string expected = std::string("a\nb\x1b[31m\xef\xbf\xbd\xc2\x9b \"quoted\" \xe4\xb8\xad ") + '\0';
  const json document = json::parse(text);
  EXPECT_EQ(document["operators"][2]["name"], expected);
  EXPECT_EQ(document["findings"][0]["op"], expected);
  EXPECT_EQ(document["model"]["file"], expected);
}

TEST(Json, AnEmptyDiagnosisIsADocument) {
  const json document = document_of(Diagnosis{});
  EXPECT_EQ(document["verdict"], "inconclusive");
  EXPECT_EQ(document["findings"], json::array());
  EXPECT_EQ(document["coverage"]["not_judged"], json::array());
  EXPECT_EQ(document["run"]["executions"], json::array());
}

TEST(Json, NegativeZeroIsZero) {
  Diagnosis d = bug_sample();
  d.tensors[0].baseline->mean = -0.0;
  EXPECT_EQ(to_json(d).find("-0.0"), std::string::npos);
}

TEST(Json, TheCompactFormIsTheSameInOneLine) {
  const std::string compact = to_compact_json(bug_sample());
  EXPECT_EQ(compact.find('\n'), compact.size() - 1);
  EXPECT_EQ(nlohmann::ordered_json::parse(compact), nlohmann::ordered_json::parse(to_json(bug_sample())));
}

}  // namespace
}  // namespace qnndbg
