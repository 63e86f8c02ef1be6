// The table of patterns: what data/log_patterns.json promises, and how lines are matched.
#include "knowledge/log_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "knowledge/codes.h"
#include "knowledge/explanation.h"
#include "knowledge/known_case.h"

namespace qnndbg {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

/// Groups beside the whole match that a pattern may have.
constexpr int kMaxGroups = 11;

const std::set<std::string> kRoles = {"cause", "symptom", "consequence", "detail", "fact",
                                      "code",  "other",   "noise",       "glue"};
const std::set<std::string> kFields = {"id",     "role",       "class",    "stage",     "stack",
                                       "means",  "strength",   "node",     "datatypes", "reason",
                                       "encode", "only_above", "literals", "regex",     "example"};
const std::set<std::string> kFates = {"refused", "not_created", "unregistered", "unsupported"};
const std::set<std::string> kParts = {"requested", "supported", "member"};
const std::set<std::string> kStacks = {"mnn",  "ort",  "executorch", "genie",   "litert",
                                       "ggml", "mllm", "qnn",        "fastrpc", "android"};
/// Where a line can come from that no call of QNN prints.
const std::set<std::string> kOtherStages = {"compose", "convert"};

/// Groups that code or a template uses, and those that only tell errors apart for a reader.
const std::set<std::string> kGroups = {
    // nodes and operators
    "node", "package", "type", "mnn_type", "kernel", "op_id", "reason", "graph", "context",
    // numbers
    "code", "code2", "token", "status", "rpc", "result",
    // operands and shapes
    "a", "b", "datatype_a", "datatype_b", "rank_a", "rank_b", "dim_a", "dim_b", "index", "got", "operand", "rest",
    "input", "output", "count", "configuration", "datatype", "inputs", "input_id", "made_by", "layout", "shape",
    "direction", "tensor", "length", "limit",
    // sizes
    "need_bytes", "limit_bytes", "need_kib", "limit_kib", "length_bytes", "fd",
    // files, tools and libraries
    "what", "where", "library", "symbol", "symbol2", "symbol3", "nodes_refused", "file", "source_line", "step",
    "attempt", "attempts", "command", "tool", "process", "process2", "domain", "permission", "target",
    // measurements
    "error", "max", "value",
    // facts
    "soc", "soc_name", "arch", "arch_set", "arch_soc", "arch_number", "library_arch", "sdk", "onnxruntime", "mnn",
    "expected", "detected",
    // the rest of a line
    "message"};

nlohmann::json entries() {
  std::ifstream file(fs::path(QNNDBG_SOURCE_DIR) / "data" / "log_patterns.json");
  return nlohmann::json::parse(file).at("patterns");
}

re2::RE2::Options options() {
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  return options;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::vector<std::string> ids_of(const std::vector<PatternMatch>& matches) {
  std::vector<std::string> ids;
  for (const PatternMatch& match : matches) ids.push_back(log_patterns()[static_cast<std::size_t>(match.pattern)].id);
  return ids;
}

std::vector<std::string> ids_in(std::string_view line) { return ids_of(match_log_line(line)); }

// --- The file --------------------------------------------------------------------------------------------------------

TEST(LogPatternFile, HasNoFieldsAndWordsThatNobodyReads) {
  for (const nlohmann::json& entry : entries()) {
    SCOPED_TRACE(entry.at("id").get<std::string>());
    for (const auto& [key, value] : entry.items()) EXPECT_THAT(kFields, Contains(key));
    EXPECT_THAT(kRoles, Contains(entry.at("role").get<std::string>()));
    if (entry.contains("node")) {
      EXPECT_THAT(kFates, Contains(entry["node"].get<std::string>()));
    }
    if (entry.contains("datatypes")) {
      EXPECT_THAT(kParts, Contains(entry["datatypes"].get<std::string>()));
    }
    if (entry.contains("stack")) {
      EXPECT_THAT(kStacks, Contains(entry["stack"].get<std::string>()));
    }
    if (entry.contains("stage") && !kOtherStages.contains(entry["stage"])) {
      EXPECT_NE(find_code_stage(entry["stage"].get<std::string>()), nullptr) << entry["stage"];
    }
    if (entry.contains("class")) {
      EXPECT_NE(find_explanation_class(entry["class"].get<std::string>()), nullptr) << entry["class"];
    }
  }
}

TEST(LogPatternFile, IsReadWhole) {
  const nlohmann::json file = entries();
  ASSERT_EQ(log_patterns().size(), file.size());
  for (std::size_t i = 0; i < file.size(); ++i) EXPECT_EQ(log_patterns()[i].id, file[i].at("id"));
}

TEST(LogPatternFile, IdsAreKebabCaseAndUnique) {
  std::set<std::string> seen;
  for (const LogPattern& pattern : log_patterns()) {
    EXPECT_TRUE(re2::RE2::FullMatch(pattern.id, "[a-z0-9]+(?:-[a-z0-9]+)*")) << pattern.id;
    EXPECT_TRUE(seen.insert(pattern.id).second) << pattern.id;
    EXPECT_EQ(&log_patterns()[static_cast<std::size_t>(find_log_pattern(pattern.id))], &pattern);
  }
  EXPECT_EQ(find_log_pattern("no-such-pattern"), -1);
}

// --- Each pattern ----------------------------------------------------------------------------------------------------

class EveryPattern : public testing::TestWithParam<std::size_t> {
 protected:
  const LogPattern& pattern() const { return log_patterns()[GetParam()]; }
};

TEST_P(EveryPattern, RegexCompilesWithKnownGroups) {
  const re2::RE2 regex(pattern().regex, options());
  ASSERT_TRUE(regex.ok()) << regex.error();
  EXPECT_LE(regex.NumberOfCapturingGroups(), kMaxGroups);
  EXPECT_EQ(regex.NumberOfCapturingGroups(), static_cast<int>(regex.NamedCapturingGroups().size())) << "unnamed group";
  for (const auto& [name, index] : regex.NamedCapturingGroups()) EXPECT_THAT(kGroups, Contains(name));
}

TEST_P(EveryPattern, ExampleMatchesAndHasALiteral) {
  ASSERT_FALSE(pattern().example.empty());
  EXPECT_TRUE(re2::RE2::PartialMatch(pattern().example, re2::RE2(pattern().regex, options()))) << pattern().example;
  const std::string example = lower(pattern().example);
  EXPECT_TRUE(std::any_of(pattern().literals.begin(), pattern().literals.end(), [&](const std::string& literal) {
    return example.find(lower(literal)) != std::string::npos;
  })) << pattern().example;
}

TEST_P(EveryPattern, FindsItsExampleInALine) {
  // Roles `other` and `code` are for lines that nobody else knows.
  const std::string& example = pattern().example;
  if (pattern().role == PatternRole::code || pattern().role == PatternRole::other) {
    EXPECT_THAT(ids_in(example), Contains(pattern().id));
    return;
  }
  EXPECT_THAT(ids_in(example), Contains(pattern().id)) << example;
  EXPECT_THAT(ids_in("11-30 10:11:12.131  141  516 E QnnDsp  : " + example), Contains(pattern().id));
}

TEST_P(EveryPattern, LiteralsAreNoEmptyPromise) {
  ASSERT_FALSE(pattern().literals.empty());
  for (const std::string& literal : pattern().literals) EXPECT_GE(literal.size(), 3U) << literal;
}

TEST_P(EveryPattern, TellsWhatItMeans) {
  // What only tells whose log it is needs no words.
  if (pattern().role != PatternRole::fact) {
    EXPECT_FALSE(pattern().means.empty());
  }
  EXPECT_FALSE(pattern().means.ends_with('.')) << pattern().means;
}

TEST_P(EveryPattern, DecidesSomethingOnlyInARoleThatDecides) {
  const PatternRole role = pattern().role;
  const bool decides = role == PatternRole::cause || role == PatternRole::symptom || role == PatternRole::consequence;
  if (!decides) {
    EXPECT_EQ(pattern().class_id, "");
  }
  if (role == PatternRole::cause) {
    EXPECT_NE(pattern().class_id, "") << "a cause decides the class";
  }
  if (pattern().class_id.empty()) {
    EXPECT_EQ(pattern().strength, 0);
  }
}

TEST_P(EveryPattern, ConditionsNameGroupsOfTheRegex) {
  const LogPattern::Above& condition = pattern().only_above;
  const std::map<std::string, int> groups = re2::RE2(pattern().regex, options()).NamedCapturingGroups();
  if (!condition.value.empty()) {
    EXPECT_TRUE(groups.contains(condition.value) && groups.contains(condition.of));
    EXPECT_GT(condition.share, 0);
  }
  if (pattern().fate != NodeFate::none) {
    EXPECT_TRUE(groups.contains("node"));
  }
  if (pattern().datatypes == DatatypePart::member) {
    EXPECT_TRUE(groups.contains("operand") && groups.contains("datatype"));
  }
  if (pattern().datatypes == DatatypePart::supported) {
    EXPECT_TRUE(groups.contains("configuration"));
  }
}

/// Two lines of different causes must not be taken for each other: whatever stands before a pattern in the table and
/// also matches its example is of the same class, or decides none.
TEST_P(EveryPattern, ExampleBelongsToNoOtherClassBefore) {
  if (pattern().role != PatternRole::cause && pattern().role != PatternRole::symptom) return;
  for (const PatternMatch& match : match_log_line(pattern().example)) {
    if (static_cast<std::size_t>(match.pattern) >= GetParam()) break;
    const LogPattern& earlier = log_patterns()[static_cast<std::size_t>(match.pattern)];
    if (earlier.role != PatternRole::cause && earlier.role != PatternRole::symptom) continue;
    if (earlier.class_id.empty() || pattern().class_id.empty()) continue;
    EXPECT_EQ(earlier.class_id, pattern().class_id) << earlier.id << " takes " << pattern().example;
  }
}

TEST_P(EveryPattern, LineOfALiteralAloneIsNoCause) {
  // The literal only finds the line, unless it is the whole of what the library prints.
  const re2::RE2 regex(pattern().regex, options());
  for (const std::string& literal : pattern().literals) {
    const bool whole = re2::RE2::PartialMatch(literal, regex);
    const std::vector<std::string> ids = ids_in(literal);
    if (pattern().role == PatternRole::code || pattern().role == PatternRole::other) continue;
    EXPECT_EQ(std::find(ids.begin(), ids.end(), pattern().id) != ids.end(), whole) << literal;
  }
}

std::vector<std::size_t> positions() {
  std::vector<std::size_t> all(log_patterns().size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryPattern, testing::ValuesIn(positions()),
                         [](const testing::TestParamInfo<std::size_t>& position) {
                           std::string name = log_patterns()[position.param].id;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// --- Matching lines --------------------------------------------------------------------------------------------------

/// What match_log_line finds with its automaton, found without it.
std::vector<std::string> ids_by_trying_all(std::string_view line) {
  std::vector<std::string> ids;
  for (const LogPattern& pattern : log_patterns()) {
    if (pattern.role == PatternRole::code || pattern.role == PatternRole::other || !pattern.only_above.value.empty())
      continue;
    if (re2::RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), re2::RE2(pattern.regex, options())))
      ids.push_back(pattern.id);
  }
  return ids;
}

TEST(MatchLogLine, FindsWhatTryingEveryRegexFinds) {
  // A literal that is missing in the table would hide a line from the automaton.
  for (const LogPattern& pattern : log_patterns()) {
    std::vector<std::string> found = ids_in("x " + pattern.example + " y");
    std::erase_if(found, [](const std::string& id) {
      const LogPattern& other = log_patterns()[static_cast<std::size_t>(find_log_pattern(id))];
      return other.role == PatternRole::code || other.role == PatternRole::other || !other.only_above.value.empty();
    });
    EXPECT_EQ(found, ids_by_trying_all("x " + pattern.example + " y")) << pattern.id;
  }
}

TEST(MatchLogLine, LiteralsThatOverlapAreAllFound) {
  // "libQnnHtpV" within a longer text, the second literal begins within the first.
  EXPECT_THAT(ids_in("dlopen failed: library \"libQnnHtpV75Stub.so\" not found"),
              IsSupersetOf({"library-not-found", "library-arch"}));
  EXPECT_THAT(ids_in("Failed to create device. QNN_DEVICE_ERROR_INVALID_CONFIG"),
              IsSupersetOf({"device-create-failed", "qnn-error-token"}));
}

TEST(MatchLogLine, CapturesByName) {
  const std::vector<PatternMatch> matches = match_log_line("Failed to validate op conv_1 with error 0xc26");
  ASSERT_FALSE(matches.empty());
  EXPECT_EQ(capture(matches[0].captures, "node"), "conv_1");
  EXPECT_EQ(capture(matches[0].captures, "code"), "0xc26");
  EXPECT_EQ(capture(matches[0].captures, "kernel"), "");
  EXPECT_EQ(matches[0].begin, 0U);
  EXPECT_EQ(matches[0].end, 45U);
}

TEST(MatchLogLine, ANumberThatAPatternNamedIsNotFoundAgain) {
  EXPECT_THAT(ids_in("Failed to validate op conv_1 with error 0xc26"), Not(Contains("generic-error-code")));
  EXPECT_THAT(ids_in("my own graphExecute failed: 6001"), ElementsAre("generic-error-code"));
}

TEST(MatchLogLine, AnErrorLineThatIsKnownIsNoUnknownOne) {
  EXPECT_THAT(ids_in("QNN_LOG[1]:  <E> Failed to finalize graph (id: 1) with err 1002"),
              Not(Contains("qnn-error-line")));
  EXPECT_THAT(ids_in("QNN_LOG[1]:  <E> Initializing HtpProvider"), ElementsAre("noise-provider"));
  EXPECT_THAT(ids_in("QNN_LOG[1]:  <E> words that nobody has seen"), ElementsAre("qnn-error-line"));
}

TEST(MatchLogLine, AFactDoesNotExplainAnError) {
  EXPECT_THAT(ids_in("QNN_LOG[1]:  <E> something about libQnnHtpV75Skel.so"),
              IsSupersetOf({"library-arch", "qnn-error-line"}));
}

TEST(MatchLogLine, AComparisonCountsFromItsShareOn) {
  EXPECT_THAT(ids_in("error = 0.3, max = 3.4 for out/y.txt"), Not(Contains("mnn-accuracy-gate")));
  EXPECT_THAT(ids_in("error = 0.35, max = 3.4 for out/y.txt"), Contains("mnn-accuracy-gate"));
  EXPECT_THAT(ids_in("error = nan, max = 3.4 for out/y.txt"), Contains("mnn-accuracy-gate"));
}

TEST(MatchLogLine, OrdinaryTextMatchesNothing) {
  EXPECT_THAT(ids_in(""), IsEmpty());
  EXPECT_THAT(ids_in("I/ActivityManager: Start proc 1234:com.example.app/u0a12"), IsEmpty());
  EXPECT_THAT(ids_in(std::string(10000, '\xff')), IsEmpty());
}

TEST(FindLogLiteral, IsTheFirstOneAndIgnoresCase) {
  const std::string text = "nothing here, then FAILED TO VALIDATE OP conv";
  const std::size_t at = find_log_literal(text, 0);
  ASSERT_NE(at, std::string::npos);
  EXPECT_TRUE(lower(text.substr(at)).starts_with("failed"));
  EXPECT_EQ(find_log_literal(text, text.size()), std::string::npos);
  EXPECT_EQ(find_log_literal("ordinary words", 0), std::string::npos);
}

TEST(FindLogLiteral, FindsALiteralOfEveryPattern) {
  for (const LogPattern& pattern : log_patterns()) {
    for (const std::string& literal : pattern.literals) {
      const std::string text = "~~" + literal + "~~";
      EXPECT_EQ(find_log_literal(text, 0), 2U) << pattern.id << ": " << literal;
    }
  }
}

TEST(MatchLogLine, ThreadsShareTheTable) {
  std::vector<std::vector<std::string>> expected;
  for (const LogPattern& pattern : log_patterns()) expected.push_back(ids_in(pattern.example));
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (int& count : wrong)
    threads.emplace_back([&count, &expected] {
      for (std::size_t i = 0; i < expected.size(); ++i)
        if (ids_in(log_patterns()[i].example) != expected[i]) ++count;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

// --- Known cases speak of these patterns -----------------------------------------------------------------------------

/// What people observe and no line tells.
const std::set<std::string> kObservations = {"llm-repeats", "other-runner-fine", "npu-slower-than-cpu"};

TEST(BuiltInCasePatterns, AreInTheTable) {
  for (const nlohmann::json& known : [] {
         std::ifstream file(fs::path(QNNDBG_SOURCE_DIR) / "data" / "known_cases.json");
         return nlohmann::json::parse(file).at("cases");
       }()) {
    for (const auto& pattern : known.at("fingerprint").value("patterns", std::vector<std::string>()))
      EXPECT_TRUE(find_log_pattern(pattern) >= 0 || kObservations.contains(pattern))
          << known.at("id") << ": " << pattern;
    for (const auto& stack : known.at("fingerprint").value("stacks", std::vector<std::string>()))
      EXPECT_THAT(kStacks, Contains(stack)) << known.at("id");
  }
}

}  // namespace
}  // namespace qnndbg
