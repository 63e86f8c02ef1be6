// The labelled logs beside the repository, where they are at hand: the class and the words that an answer must have, in
// both views.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/explanation.h"

namespace qnndbg {
namespace {

namespace fs = std::filesystem;

const fs::path kLogs = fs::path(QNNDBG_SOURCE_DIR) / ".." / "shared" / "logs";

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(SharedLogs, GetAnAllowedClassAndSayWhatTheyMust) {
  if (!fs::exists(kLogs / "expected.json")) GTEST_SKIP() << kLogs << " is not there";
  const nlohmann::json expected = nlohmann::json::parse(contents(kLogs / "expected.json"));
  ASSERT_FALSE(expected.empty());
  for (const auto& [name, wanted] : expected.items()) {
    SCOPED_TRACE(name);
    const Explanation explanation = explain_log(contents(kLogs / (name + ".log")));
    EXPECT_THAT(wanted["class"].get<std::vector<std::string>>(), testing::Contains(explanation.class_id));
    TextStyle wide;
    wide.width = 100000;  // no line is broken or shortened
    const std::string text = explanation_text(explanation, {}, wide);
    const std::string document = explanation_json(explanation, {});
    for (const std::string& word : wanted["must"].get<std::vector<std::string>>()) {
      EXPECT_THAT(text, testing::HasSubstr(word));
      EXPECT_THAT(document, testing::HasSubstr(word));
    }
  }
}

}  // namespace
}  // namespace qnndbg
