// Logs whose cause is known (tests/knowledge/logs, README.md there): each one as it is, and in variations that cannot
// change its cause (logs/variations.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/explanation.h"
#include "knowledge/logs/variations.h"

namespace qnndbg {
namespace {

namespace fs = std::filesystem;
using logs::LineNumbers;
using logs::Lines;
using logs::Variation;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

struct Expected {
  std::string name;
  std::string text;
  std::vector<std::string> classes;
  std::vector<std::vector<std::string>> must;  // of each list one
  std::vector<std::string> must_not;
  std::map<std::string, std::string> facts;
  LineNumbers decisive;
  std::string node;
};

void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.name; }

fs::path directory() { return fs::path(QNNDBG_SOURCE_DIR) / "tests" / "knowledge" / "logs"; }

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> alternatives(const nlohmann::json& word) {
  return word.is_array() ? word.get<std::vector<std::string>>() : std::vector<std::string>{word.get<std::string>()};
}

Expected expected_of(const std::string& name, const nlohmann::json& entry) {
  Expected expected{.name = name,
                    .text = contents(directory() / (name + ".log")),
                    .classes = entry.at("class"),
                    .must = {},
                    .must_not = entry.at("must_not"),
                    .facts = entry.at("facts"),
                    .decisive = entry.at("decisive"),
                    .node = entry.value("node", "")};
  for (const nlohmann::json& word : entry.at("must")) expected.must.push_back(alternatives(word));
  return expected;
}

const std::vector<Expected>& all_logs() {
  static const std::vector<Expected> logs = [] {
    const nlohmann::json entries = nlohmann::json::parse(contents(directory() / "expected.json"));
    std::vector<Expected> result;
    for (const auto& [name, entry] : entries.items()) result.push_back(expected_of(name, entry));
    return result;
  }();
  return logs;
}

template <class Wanted>
std::vector<Expected> logs_where(Wanted wanted) {
  std::vector<Expected> result;
  std::copy_if(all_logs().begin(), all_logs().end(), std::back_inserter(result), wanted);
  return result;
}

bool has_words(const Expected& log) { return !log.must.empty() || !log.must_not.empty(); }
bool has_facts(const Expected& log) { return !log.facts.empty(); }
bool has_decisive_lines(const Expected& log) { return !log.decisive.empty(); }
bool accuses_nobody(const Expected& log) { return log.classes == std::vector<std::string>{"not_decidable"}; }
bool has_lines(const Expected& log) { return !log.text.empty(); }

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool mentions(std::string_view words, std::string_view word) {
  return lower(words).find(lower(word)) != std::string::npos;
}

bool mentions_one_of(std::string_view words, const std::vector<std::string>& any) {
  return std::any_of(any.begin(), any.end(), [&](const std::string& word) { return mentions(words, word); });
}

std::set<std::uint64_t> cited_lines(const Explanation& explanation) {
  std::set<std::uint64_t> lines;
  for (const EvidenceLine& evidence : explanation.evidence) lines.insert(evidence.line);
  return lines;
}

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

class LogCase : public testing::TestWithParam<Expected> {
 protected:
  const Expected& expected() const { return GetParam(); }
  Explanation explanation() const { return explain_log(expected().text); }
};

std::string name_of(const testing::TestParamInfo<Expected>& log) { return log.param.name; }

TEST(LogCases, EveryLogHasItsEntryAndEveryEntryItsLog) {
  std::set<std::string> files, entries;
  for (const fs::directory_entry& file : fs::directory_iterator(directory()))
    if (file.path().extension() == ".log") files.insert(file.path().stem().string());
  for (const Expected& log : all_logs()) entries.insert(log.name);
  EXPECT_EQ(files, entries);
}

TEST(LogCases, DecisiveLinesExistAndNameTheNode) {
  for (const Expected& log : all_logs()) {
    SCOPED_TRACE(log.name);
    const Lines lines = lines_of(log.text);
    EXPECT_TRUE(std::is_sorted(log.decisive.begin(), log.decisive.end()));
    std::string decisive;
    for (const std::uint64_t line : log.decisive) {
      ASSERT_GE(line, 1U);
      ASSERT_LE(line, lines.size());
      decisive += lines[line - 1];
    }
    EXPECT_THAT(decisive, HasSubstr(log.node));
    if (has_decisive_lines(log)) {
      EXPECT_TRUE(logs::begins_message(lines[log.decisive.front() - 1]));
    }
  }
}

class LogClass : public LogCase {};
TEST_P(LogClass, IsAllowed) {
  EXPECT_THAT(expected().classes, Contains(explanation().class_id)) << explanation().summary;
}
INSTANTIATE_TEST_SUITE_P(Logs, LogClass, testing::ValuesIn(all_logs()), name_of);

class LogWords : public LogCase {};
TEST_P(LogWords, NameWhatAnEngineerNeedsAndNoBystander) {
  const std::string words = explanation_words(explanation());
  for (const std::vector<std::string>& any : expected().must)
    EXPECT_TRUE(mentions_one_of(words, any)) << "nothing of " << testing::PrintToString(any) << " in\n" << words;
  for (const std::string& word : expected().must_not)
    EXPECT_EQ(words.find(word), std::string::npos) << '"' << word << "\" in\n" << words;
}
INSTANTIATE_TEST_SUITE_P(Logs, LogWords, testing::ValuesIn(logs_where(has_words)), name_of);

class LogEvidence : public LogCase {};
TEST_P(LogEvidence, CitesTheDecisiveLines) {
  const std::set<std::uint64_t> cited = cited_lines(explanation());
  for (const std::uint64_t line : expected().decisive) EXPECT_THAT(cited, Contains(line));
}
TEST_P(LogEvidence, IsTheTextOfItsLine) {
  const Lines lines = lines_of(expected().text);
  for (const EvidenceLine& evidence : explanation().evidence) {
    ASSERT_GE(evidence.line, 1U);
    ASSERT_LE(evidence.line, lines.size());
    // A long line may be shortened and what stands before the message left out.
    EXPECT_FALSE(evidence.text.empty());
    EXPECT_THAT(lines[evidence.line - 1], HasSubstr(evidence.text.substr(0, 20)));
  }
}
INSTANTIATE_TEST_SUITE_P(Logs, LogEvidence, testing::ValuesIn(logs_where(has_decisive_lines)), name_of);

class LogDevice : public LogCase {};
TEST_P(LogDevice, IsReadFromTheLog) {
  const LogFacts facts = explanation().facts;
  for (const auto& [key, value] : expected().facts) {
    if (key == "soc") {
      EXPECT_EQ(facts.soc, value);
    } else if (key == "arch") {
      EXPECT_EQ(facts.arch, value);
    } else {
      // A version may carry its build: "2.36.0" or "2.36.0.250627101419".
      const auto version = facts.versions.find(key);
      ASSERT_NE(version, facts.versions.end()) << key;
      EXPECT_THAT(version->second, testing::StartsWith(value)) << key;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Logs, LogDevice, testing::ValuesIn(logs_where(has_facts)), name_of);

class LogNextSteps : public LogCase {};
TEST_P(LogNextSteps, EndWithACommandOrWithWhatToSend) {
  const std::vector<std::string> steps = explanation().next_steps;
  ASSERT_FALSE(steps.empty());
  EXPECT_TRUE(mentions_one_of(steps.back(), {"qnn-debug", "adb ", "`", "--", "export ", "ulimit", "send"}))
      << steps.back();
}
INSTANTIATE_TEST_SUITE_P(Logs, LogNextSteps, testing::ValuesIn(all_logs()), name_of);

class SoundLog : public LogCase {};
TEST_P(SoundLog, IsAccusedOfNothing) {
  EXPECT_THAT(explanation().also, IsEmpty());
  EXPECT_THAT(explanation().codes, IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(Logs, SoundLog, testing::ValuesIn(logs_where(accuses_nobody)), name_of);

/// The class of every variation is one that the log itself may have, and the decisive lines are cited where they are
/// now.
class VariedLog : public LogCase {
 protected:
  logs::Log log() const { return {lines_of(expected().text), expected().decisive, expected().node}; }

  void expect_same_cause(const std::vector<Variation>& variations) const {
    for (const Variation& variation : variations) {
      SCOPED_TRACE(variation.name);
      const Explanation explanation = explain_log(variation.text);
      EXPECT_THAT(expected().classes, Contains(explanation.class_id)) << explanation.summary;
      EXPECT_TRUE(mentions(explanation_words(explanation), expected().node)) << explanation.summary;
      const std::set<std::uint64_t> cited = cited_lines(explanation);
      for (const std::uint64_t line : variation.decisive) EXPECT_THAT(cited, Contains(line));
    }
  }
};

class AnyVariedLog : public VariedLog {};
TEST_P(AnyVariedLog, KeepsItsClassBehindOtherPrefixes) { expect_same_cause(logs::wrapped(log())); }
TEST_P(AnyVariedLog, KeepsItsClassInOtherBytes) { expect_same_cause(logs::encoded(log())); }
TEST_P(AnyVariedLog, KeepsItsClassAmongNoise) { expect_same_cause(logs::noisy(log())); }
INSTANTIATE_TEST_SUITE_P(Logs, AnyVariedLog, testing::ValuesIn(logs_where(has_lines)), name_of);

class DecidedVariedLog : public VariedLog {};
TEST_P(DecidedVariedLog, KeepsItsClassWhenCut) { expect_same_cause(logs::truncated(log())); }
TEST_P(DecidedVariedLog, KeepsItsClassInAnotherOrder) { expect_same_cause(logs::reordered(log())); }
TEST_P(DecidedVariedLog, KeepsItsClassWhenRepeated) { expect_same_cause(logs::repeated(log())); }
INSTANTIATE_TEST_SUITE_P(Logs, DecidedVariedLog, testing::ValuesIn(logs_where(has_decisive_lines)), name_of);

}  // namespace
}  // namespace qnndbg
