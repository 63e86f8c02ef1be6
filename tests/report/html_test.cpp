#include "report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/json.h"
#include "report/sample.h"

namespace qnndbg {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

#ifdef QNNDBG_HTML

std::string page_of(const HtmlReport& report) {
  const Result<std::string> page = to_html(report);
  EXPECT_TRUE(page) << (page ? "" : page.error().message);
  return page.value_or("");
}

std::string between(const std::string& text, std::string_view begin, std::string_view end) {
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return "(not there)";
  const std::size_t to = text.find(end, from + begin.size());
  return text.substr(from + begin.size(), to - from - begin.size());
}

std::string data_block(const std::string& page) {
  return between(page, R"(<script type="application/json" id="data">)", "</script>");
}

TEST(Html, TheDataBlockHoldsTheDocumentsAsTheyAre) {
  const std::string diagnosis = to_json(testing::bug_sample());
  const std::vector<std::string> missing = {"no details: `--details`"};
  const json data = json::parse(data_block(page_of({.diagnosis = diagnosis,
                                                    .details = R"({"schema":"qnn-debug/details/1"})",
                                                    .missing = missing,
                                                    .title = "t",
                                                    .summary = "s",
                                                    .version = "1.2.3"})));
  EXPECT_EQ(data["diagnosis"], json::parse(diagnosis));
  EXPECT_EQ(data["details"]["schema"], "qnn-debug/details/1");
  EXPECT_EQ(data["missing"], json(missing));
  EXPECT_EQ(data["tool"], (json{{"name", "qnn-debug"}, {"version", "1.2.3"}}));
}

TEST(Html, WithoutDetailsTheyAreNull) {
  const json data = json::parse(data_block(page_of({.diagnosis = "{}"})));
  EXPECT_TRUE(data["details"].is_null());
  EXPECT_EQ(data["missing"], json::array());
}

TEST(Html, NothingInADocumentEndsItsElement) {
  const std::string hostile = "</script><script>alert(1)</script><!-- & \xe2\x80\xa8\xe2\x80\xa9 @TITLE@ @DATA@";
  const std::string diagnosis = json{{"summary", hostile}}.dump();
  const std::string page = page_of({.diagnosis = diagnosis, .title = "title", .summary = "s"});
  const std::string block = data_block(page);
  for (const char* forbidden : {"<", ">", "&", "\xe2\x80\xa8", "\xe2\x80\xa9"})
    EXPECT_THAT(block, Not(HasSubstr(forbidden)));
  EXPECT_EQ(json::parse(block)["diagnosis"]["summary"], hostile);
}

TEST(Html, TitleAndSummaryAreTextEvenWithMarkup) {
  const std::string page =
      page_of({.diagnosis = "{}", .title = "</title><img src=x>\"'", .summary = "</noscript>&amp;\xff @DATA@"});
  EXPECT_EQ(between(page, "<title>", "</title>"), "&lt;/title&gt;&lt;img src=x&gt;&quot;&#39;");
  EXPECT_THAT(page, HasSubstr("&lt;/noscript&gt;&amp;amp;\xef\xbf\xbd @DATA@"));
}

TEST(Html, ThePolicyAllowsNothingButWhatIsInTheFile) {
  const std::string page = page_of({.diagnosis = "{}"});
  const std::string policy = between(page, R"(http-equiv="Content-Security-Policy" content=")", "\"");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(policy, HasSubstr("style-src 'sha256-"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(policy, Not(HasSubstr("http")));
}

TEST(Html, TheLicencesOfBundledPackagesAreInThePage) {
  const json licences =
      json::parse(between(page_of({.diagnosis = "{}"}), R"(<script type="application/json" id="licences">)", "<"));
  std::vector<std::string> names;
  for (const json& licence : licences) {
    names.push_back(licence["name"]);
    EXPECT_GT(licence["text"].get<std::string>().size(), 200u) << licence["name"];
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"cytoscape", "echarts", "zrender", "@dagrejs/dagre"}));
}

#else

TEST(Html, ABuildWithoutThePageSaysSo) {
  const Result<std::string> page = to_html({.diagnosis = "{}"});
  ASSERT_FALSE(page);
  EXPECT_THAT(page.error().message, HasSubstr("QNNDBG_HTML=OFF"));
}

#endif

}  // namespace
}  // namespace qnndbg
