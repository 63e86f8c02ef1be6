#include "report/codes_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <sstream>

#include "report/codes_json.h"

namespace qnndbg {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string explained(std::string_view text, std::string_view stage = {}) {
  return explain_code(text, TextStyle{}, stage).value_or("");
}

std::string last_line_of(const std::string& text) {
  const std::size_t end = text.size() - 1;
  return text.substr(text.rfind('\n', end - 1) + 1, end - text.rfind('\n', end - 1) - 1);
}

TEST(CodeText, EndsWithACommand) {
  for (const ErrorCode& code : error_codes()) {
    const std::string text = code_text(code, TextStyle{});
    ASSERT_TRUE(text.ends_with('\n')) << code.number;
    EXPECT_THAT(last_line_of(text), testing::StartsWith("next: qnn-debug explain ")) << code.number;
    EXPECT_THAT(text, HasSubstr(code.name)) << code.number;
    EXPECT_THAT(text, HasSubstr("what to do")) << code.number;
  }
  for (const char* text :
       {"0", "6010", "12", "0x80000406", "0x7fffffff", "QNN_GRAPH_MIN_ERROR", "QNN_SUCCESS", "2097152"})
    EXPECT_THAT(last_line_of(explained(text)), testing::StartsWith("next: qnn-debug explain ")) << text;
}

TEST(CodeText, FitsItsWidth) {
  TextStyle style;
  for (const int width : {80, 100, 160}) {
    style.width = width;
    for (const ErrorCode& code : error_codes()) {
      std::istringstream lines(code_text(code, style));
      for (std::string line; std::getline(lines, line);) {
        const bool one_word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;
        const bool wide = columns_of(line) > static_cast<std::size_t>(width) && !one_word &&
                          !line.starts_with("next:") && line.find("QNN_") == std::string::npos;
        EXPECT_FALSE(wide) << code.number << " at " << width << ": " << line;
      }
    }
  }
}

TEST(CodeText, ColourAddsNothingButColour) {
  TextStyle colored;
  colored.color = true;
  const re2::RE2 sgr("\x1b\\[[0-9;]*m");
  for (const int number : {1002, 6000, 14001}) {
    const ErrorCode& code = *find_error_code(number);
    const std::string text = code_text(code, colored);
    EXPECT_THAT(text, HasSubstr("\x1b[1m"));
    std::string plain = text;
    re2::RE2::GlobalReplace(&plain, sgr, "");
    EXPECT_EQ(plain, code_text(code, TextStyle{}));
  }
}

TEST(CodeText, TellsTheStagesApart) {
  const std::string all = explained("1002");
  EXPECT_THAT(all, HasSubstr("1002 = 0x3ea  QNN_COMMON_ERROR_MEM_ALLOC"));
  EXPECT_THAT(all, HasSubstr("While finalizing a graph"));
  EXPECT_THAT(all, HasSubstr("While creating or loading a context"));
  EXPECT_THAT(all, HasSubstr("could not create op"));
  const std::string one = explained("1002", "context");
  EXPECT_THAT(one, HasSubstr("fastrpc memory map"));
  EXPECT_THAT(one, Not(HasSubstr("While finalizing a graph")));
  EXPECT_THAT(explained("1002", "profile"), HasSubstr("Usual causes"));
}

TEST(CodeText, ListsManyFunctionsOnlyWhenAsked) {
  TextStyle style;
  const ErrorCode& code = *find_error_code(1002);
  EXPECT_THAT(code_text(code, style), HasSubstr("34 functions of QnnBackend, "));
  style.verbosity = 1;
  EXPECT_THAT(code_text(code, style), HasSubstr("QnnBackend_create, "));
  EXPECT_THAT(explained("14001"), HasSubstr("QnnDevice_create, QnnDevice_setConfig"));
}

TEST(CodeText, SaysHowTheNumberWasRead) {
  EXPECT_THAT(explained("err=0x12340000000003ea,"), HasSubstr("read as     low 16 bits of 0x12340000000003ea"));
  EXPECT_THAT(explained("1002"), Not(HasSubstr("read as")));
}

TEST(CodeText, UnknownNumbersHaveTheirRangeAndNeighbours) {
  const std::string text = explained("6010");
  EXPECT_THAT(text, HasSubstr("range of graph (6000 to 6999)"));
  EXPECT_THAT(text, HasSubstr("6007 = 0x1777  QNN_GRAPH_ERROR_UNCONNECTED_NODE"));
  EXPECT_THAT(explained("0x416"), HasSubstr("ufixed16"));
  EXPECT_THAT(explained("12"), HasSubstr("graph prepare failed"));
  EXPECT_THAT(explained("500"), HasSubstr("in no module's range"));
  EXPECT_THAT(explained("0x80000406"), HasSubstr("FastRPC"));
  EXPECT_THAT(explained("0x80000406"), Not(HasSubstr("in no module's range")));
}

TEST(CodeText, SuccessMarksAndSentinelsAreNoErrors) {
  EXPECT_THAT(explained("0"), HasSubstr("Not an error"));
  EXPECT_THAT(explained("QNN_GRAPH_NO_ERROR"), HasSubstr("Not an error"));
  EXPECT_THAT(explained("0x7fffffff"), HasSubstr("sentinel"));
  EXPECT_THAT(explained("QNN_GRAPH_MAX_ERROR"), HasSubstr("mark in the headers"));
  EXPECT_THAT(explained("QNN_GRAPH_MIN_ERROR"), HasSubstr("qnn-debug explain 6000"));
}

TEST(CodeText, OtherTextIsNotExplained) {
  for (const std::string& text :
       {std::string(), std::string("run.log"), std::string("1e3"), std::string("\xff\xfe"), std::string(1 << 20, '1')})
    EXPECT_FALSE(explain_code(text, TextStyle{})) << text.substr(0, 20);
}

TEST(CodeNamesLike, SuggestsPartsAndMisspellings) {
  EXPECT_THAT(code_names_like("GRAPH_INVALID_TENSOR"), testing::Contains("QNN_GRAPH_ERROR_INVALID_TENSOR"));
  EXPECT_THAT(code_names_like("qnn_graph_error_invalid_tensr"), testing::Contains("QNN_GRAPH_ERROR_INVALID_TENSOR"));
  EXPECT_THAT(code_names_like("malformed"), testing::ElementsAre("QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY"));
  EXPECT_EQ(code_names_like("ERROR").size(), 5U);
  for (const std::string& text : {std::string(), std::string("x"), std::string("run.log"),
                                  std::string("\xff\xff\xff\xff\xff"), std::string(1 << 20, 'E')})
    EXPECT_THAT(code_names_like(text), testing::IsEmpty()) << text.substr(0, 20);
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(CodeJson, HasTheSameMembersForEveryCode) {
  const std::vector<std::string> expected = {"number",     "hex",         "name",        "aliases", "module",
                                             "since",      "class",       "stage",       "meaning", "causes",
                                             "next_steps", "returned_by", "also_called", "follows", "stages"};
  for (const ErrorCode& code : error_codes()) {
    const Json json = code_json(code);
    EXPECT_EQ(keys_of(json), expected) << code.number;
    EXPECT_EQ(json["number"], code.number);
    EXPECT_TRUE(json["stage"].is_null());
    EXPECT_EQ(json["stages"].size(), code.stages.size());
  }
}

TEST(CodeJson, TakesTheMeaningOfItsStage) {
  const ErrorCode& code = *find_error_code(1002);
  const Json there = code_json(code, "finalize");
  EXPECT_EQ(there["stage"], "finalize");
  EXPECT_EQ(there["meaning"], code.at_stage("finalize")->meaning);
  EXPECT_EQ(there["causes"][0]["class"], "finalize_op_not_created");
  EXPECT_TRUE(there["stages"].empty());
  EXPECT_EQ(code_json(code, "profile")["meaning"], code.meaning);
  EXPECT_EQ(code_json(code)["hex"], "0x3ea");
}

TEST(CodeJson, NumbersThatAreNoCodesHaveNoName) {
  const Json unknown = number_json(*parse_error_code("6010"));
  EXPECT_TRUE(unknown["name"].is_null());
  EXPECT_EQ(unknown["module"], "graph");
  EXPECT_EQ(unknown["class"], "not_decidable");
  EXPECT_FALSE(unknown["next_steps"].empty());
  const Json transport = number_json(*parse_error_code("-2147482618"));
  EXPECT_EQ(transport["hex"], "0x80000406");
  EXPECT_EQ(transport["lookalikes"][0]["kind"], "rpc_status");
  EXPECT_FALSE(transport["read_as"].is_null());
  EXPECT_TRUE(number_json(*parse_error_code("-1"))["hex"].is_null());
  EXPECT_EQ(number_json(*parse_error_code("0x3ea"))["name"], "QNN_COMMON_ERROR_MEM_ALLOC");
}

}  // namespace
}  // namespace qnndbg
