// The rules of data/log_rules.json: what the file promises, and which rule decides.
#include "knowledge/log_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "knowledge/codes.h"
#include "knowledge/known_case.h"
#include "knowledge/log_words.h"

namespace qnndbg {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAreArray;

nlohmann::json file() {
  std::ifstream stream(fs::path(QNNDBG_SOURCE_DIR) / "data" / "log_rules.json");
  return nlohmann::json::parse(stream);
}

/// Names that a template may use: groups of the patterns, and what log_words.h adds.
std::set<std::string> known_values() {
  std::set<std::string> names = {"nodes", "node_count", "operators", "operator", "reason",    "need",
                                 "limit", "parts",      "size",      "inputs",   "code_name", "soc",
                                 "arch",  "lines",      "if_mnn",    "if_other"};
  for (const LogPattern& pattern : log_patterns()) {
    re2::RE2::Options options;
    options.set_encoding(re2::RE2::Options::EncodingLatin1);
    const re2::RE2 regex(pattern.regex, options);
    for (const auto& [name, index] : regex.NamedCapturingGroups()) names.insert(name);
  }
  return names;
}

void expect_sound_template(const std::string& text) {
  static const std::set<std::string> known = known_values();
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    ASSERT_TRUE(depth == 0 || depth == 1) << "brackets do not nest: " << text;
    ASSERT_NE(text[i], '}') << text;
    if (text[i] != '{') continue;
    const std::size_t end = text.find('}', i);
    ASSERT_NE(end, std::string::npos) << text;
    EXPECT_THAT(known, Contains(text.substr(i + 1, end - i - 1))) << text;
    i = end;
  }
  EXPECT_EQ(depth, 0) << text;
}

/// Every optional part has a value in it: without one it could not be missing.
void expect_optional_parts_have_values(const std::string& text) {
  for (std::size_t at = text.find('['); at != std::string::npos; at = text.find('[', at + 1))
    EXPECT_NE(text.substr(at, text.find(']', at) - at).find('{'), std::string::npos) << text;
}

bool ends_with_a_command_or_what_to_send(const std::string& step) {
  static const re2::RE2 kWanted("qnn-debug |adb |gdb |ulimit|ls |[Ss]end");
  return re2::RE2::PartialMatch(step, kWanted);
}

bool is_condition(const std::string& condition) {
  if (condition == "node:refused-and-not-created" || condition == "fact:unknown-soc" || condition == "log:silent")
    return true;
  if (condition.starts_with("stack:")) {
    const std::string stack = condition.substr(6);
    return std::any_of(log_patterns().begin(), log_patterns().end(),
                       [&](const LogPattern& p) { return p.stack == stack; });
  }
  if (!condition.starts_with("code:")) return find_log_pattern(condition) >= 0;
  const std::size_t split = condition.find('@');
  if (split != std::string::npos && find_code_stage(condition.substr(split + 1)) == nullptr) return false;
  return find_error_code(std::int64_t{std::stoi(condition.substr(5, split - 5))}) != nullptr;
}

// --- The file --------------------------------------------------------------------------------------------------------

TEST(LogClasses, AreWholeAndUnique) {
  std::set<std::string> seen;
  ASSERT_FALSE(explanation_classes().empty());
  for (const ExplanationClass& type : explanation_classes()) {
    SCOPED_TRACE(type.id);
    EXPECT_TRUE(seen.insert(type.id).second);
    EXPECT_EQ(find_explanation_class(type.id), &type);
    EXPECT_FALSE(type.title.empty() || type.summary.empty() || type.why.empty() || type.experiment.empty());
    EXPECT_FALSE(type.title.ends_with('.'));
    ASSERT_FALSE(type.next_steps.empty());
    EXPECT_TRUE(ends_with_a_command_or_what_to_send(type.next_steps.back())) << type.next_steps.back();
    if (type.id != "not_decidable") {
      EXPECT_FALSE(type.send.empty());
    }
    for (const std::string& text : {type.summary, type.why, type.experiment}) {
      expect_sound_template(text);
      expect_optional_parts_have_values(text);
    }
    for (const std::string& step : type.next_steps) expect_sound_template(step);
  }
  EXPECT_EQ(find_explanation_class("no_such_class"), nullptr);
}

TEST(LogClasses, AreThoseOfKnownCases) {
  std::vector<std::string> ids;
  for (const ExplanationClass& type : explanation_classes()) ids.push_back(type.id);
  EXPECT_THAT(ids, UnorderedElementsAreArray(case_classes().begin(), case_classes().end()));
}

TEST(LogClasses, AreThoseOfTheListOfCauses) {
  const fs::path causes = fs::path(QNNDBG_SOURCE_DIR) / ".." / "shared" / "causes.md";
  if (!fs::exists(causes)) GTEST_SKIP() << causes << " is not there";
  std::ifstream stream(causes);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::size_t section = text.find("# Classes");
  ASSERT_NE(section, std::string::npos);
  std::string ids = text.substr(text.find('\n', section));
  re2::RE2::GlobalReplace(&ids, R"(\([^)]*\))", "");  // words that explain an id
  std::set<std::string> listed;
  re2::StringPiece rest(ids);
  std::string id;
  while (re2::RE2::FindAndConsume(&rest, R"((\w+))", &id)) listed.insert(id);
  EXPECT_GE(listed.size(), 29U);
  for (const std::string& wanted : listed) EXPECT_NE(find_explanation_class(wanted), nullptr) << wanted;
}

TEST(LogRuleFile, HasNoFieldsThatNobodyReads) {
  const std::set<std::string> kClassFields = {"id", "title", "summary", "why", "experiment", "next_steps", "send"};
  const std::set<std::string> kRuleFields = {"id",       "class",   "strength", "confidence", "when",      "unless",
                                             "evidence", "summary", "why",      "experiment", "next_steps"};
  const std::set<std::string> kConfidences = {"none", "low", "medium", "high"};
  const nlohmann::json rules = file();
  for (const nlohmann::json& entry : rules.at("classes"))
    for (const auto& [key, value] : entry.items()) EXPECT_THAT(kClassFields, Contains(key)) << entry.at("id");
  for (const nlohmann::json& entry : rules.at("rules")) {
    for (const auto& [key, value] : entry.items()) EXPECT_THAT(kRuleFields, Contains(key)) << entry.at("id");
    EXPECT_THAT(kConfidences, Contains(entry.at("confidence").get<std::string>())) << entry.at("id");
  }
}

TEST(LogRules, AreSound) {
  std::set<std::string> seen;
  for (const LogRule& rule : log_rules()) {
    SCOPED_TRACE(rule.id);
    EXPECT_NE(find_explanation_class(rule.class_id), nullptr) << rule.class_id;
    EXPECT_TRUE(seen.insert(rule.id).second || find_log_pattern(rule.id) >= 0) << "twice";
    EXPECT_GT(rule.strength, 0);
    EXPECT_LE(rule.strength, 100);
    EXPECT_EQ(rule.confidence == Confidence::none, rule.class_id == "not_decidable");
    ASSERT_FALSE(rule.when.empty());
    for (const std::vector<std::string>& clause : rule.when) {
      EXPECT_FALSE(clause.empty());
      for (const std::string& condition : clause) EXPECT_TRUE(is_condition(condition)) << condition;
    }
    for (const std::string& condition : rule.unless) EXPECT_TRUE(is_condition(condition)) << condition;
    for (const std::string& pattern : rule.evidence) EXPECT_GE(find_log_pattern(pattern), 0) << pattern;
    for (const std::string& text : {rule.summary, rule.why, rule.experiment}) {
      expect_sound_template(text);
      expect_optional_parts_have_values(text);
    }
    for (const std::string& step : rule.next_steps) expect_sound_template(step);
    if (!rule.next_steps.empty()) {
      EXPECT_TRUE(ends_with_a_command_or_what_to_send(rule.next_steps.back())) << rule.next_steps.back();
    }
  }
}

TEST(LogRules, EveryClassThatALogCanShowHasOne) {
  // What only tensors or another run tell.
  const std::set<std::string> kNotInLogs = {"fp16_rounding", "fp16_overflow", "performance", "garbage_not_npu"};
  std::set<std::string> decided;
  for (const LogRule& rule : log_rules()) decided.insert(rule.class_id);
  for (const ExplanationClass& type : explanation_classes())
    EXPECT_TRUE(decided.contains(type.id) || kNotInLogs.contains(type.id)) << type.id;
}

// --- Which rule decides ----------------------------------------------------------------------------------------------

std::string deciding(std::string_view log) {
  const LogRecord record = read_log(log);
  const std::vector<RuleMatch> matches = match_rules(record);
  return matches.empty() ? "" : matches.front().rule->id;
}

std::string class_of(std::string_view log) { return explain_log(log).class_id; }

TEST(MatchRules, TheStrongestFirstAndAmongEqualsTheFirstLine) {
  const LogRecord record = read_log(
      "Failed to create device\nFailed to load skel, error: 4000\nCONN Reset\nFailed to finalize graph (id: 1) with "
      "err 1002\n");
  const std::vector<RuleMatch> matches = match_rules(record);
  ASSERT_GE(matches.size(), 3U);
  EXPECT_TRUE(std::is_sorted(matches.begin(), matches.end(), [](const RuleMatch& a, const RuleMatch& b) {
    return a.rule->strength != b.rule->strength ? a.rule->strength > b.rule->strength : a.line < b.line;
  }));
  EXPECT_EQ(matches[0].line, 2U);
  EXPECT_EQ(matches[0].rule->class_id, "skel_load_failed");
}

TEST(MatchRules, EventsStandInTheOrderOfTheLogAndOnce) {
  const LogRecord record = read_log(
      "could not create op: q::a\n\"n\" generated: could not create op\nOp creation failure, op id=0x1 (q::a) "
      "total_inputs=1\n");
  for (const RuleMatch& match : match_rules(record)) {
    EXPECT_TRUE(std::is_sorted(match.events.begin(), match.events.end(),
                               [](const LogEvent* a, const LogEvent* b) { return a->first.line < b->first.line; }));
    EXPECT_EQ(std::set(match.events.begin(), match.events.end()).size(), match.events.size()) << match.rule->id;
  }
}

TEST(MatchRules, NothingHoldsForNothing) {
  EXPECT_THAT(match_rules(LogRecord{}), IsEmpty());
  const LogRecord ordinary = read_log("an ordinary line\n");
  const std::vector<RuleMatch> matches = match_rules(ordinary);
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].rule->id, "silent");
}

TEST(MatchRules, AnExceptionLiftsARule) {
  const std::string denied =
      "avc:  denied  { read } for comm=\"a\" name=\"adsprpc-smd\" scontext=a tcontext=u:object_r:xdsp_device:s0 "
      "tclass=c\n";
  EXPECT_EQ(deciding(denied), "selinux-alone");
  EXPECT_EQ(deciding(denied + "open_hal_session: opened device fd 12\n"), "silent") << "the denial did no harm";
  EXPECT_EQ(deciding(denied + "Failed to load skel, error: 4000\n"), "selinux");
  EXPECT_EQ(deciding("Can't Find type=5 backend, use 0 instead\n"), "fallback-without-qnn");
  EXPECT_EQ(deciding("Can't Find type=5 backend, use 0 instead\nMNN_QNN: Loaded HTP backend.\n"), "fallback");
}

TEST(MatchRules, OneNumberMeansWhatItsStageAndItsNeighboursSay) {
  const std::string finalize = "Failed to finalize graph (id: 1) with err 1002\n";
  EXPECT_EQ(class_of(finalize), "not_decidable");
  EXPECT_EQ(class_of("could not create op: q::flat\n" + finalize), "finalize_op_not_created");
  EXPECT_EQ(class_of("graph requires estimated allocation of 2347229 KB, limit is 2097152 KB\n" + finalize),
            "finalize_graph_too_large");
  EXPECT_EQ(class_of("A single op, \"q::N\" (Op ID: 2f), requires 0x2400000 bytes of TCM, which is greater than the "
                     "TCM size of 0x800000!\n" +
                     finalize),
            "finalize_tcm");
  EXPECT_EQ(class_of("Failed to map weights buffer to device!\nFailed to initialize graph with id 258 context 7 "
                     "deviceId 0 with err 1002\n"),
            "finalize_weights_not_mapped");
  EXPECT_EQ(class_of("QNN: Failed to validate binary: 1002\n"), "context_refused");
}

TEST(MatchRules, ConsequencesDoNotDecide) {
  EXPECT_EQ(
      class_of("Failed to load skel, error: 4000\nTransport layer setup failed: 14001\nFailed to create device\n"),
      "skel_load_failed");
  EXPECT_EQ(
      class_of("Stub lib id mismatch: expected (v2.28.0), detected (v2.25.17)\nTransport layer setup failed: 14001\n"),
      "sdk_mix");
  EXPECT_EQ(class_of("Failed to validate op a with error 3110\n\"b\" generated: could not create op\n"),
            "validation_refused");
}

TEST(MatchRules, BoundInputsTell6000FromOther6000) {
  EXPECT_EQ(deciding("Tensor usage is 1.\nError in file QNNBackend.cpp, line 1: error code 6000\n"),
            "inputs-not-bound");
  EXPECT_EQ(deciding("Error in file QNNBackend.cpp, line 1: error code 6000\n"), "mnn-6000");
}

TEST(ExplainRecord, LastStepIsACommandAndWhatToSendStandsBefore) {
  const Explanation explanation = explain_log("Failed to load skel, error: 4000\n");
  ASSERT_GE(explanation.next_steps.size(), 2U);
  EXPECT_TRUE(ends_with_a_command_or_what_to_send(explanation.next_steps.back()));
  EXPECT_THAT(explanation.next_steps[explanation.next_steps.size() - 2],
              StartsWith("If that does not settle it, send:"));
}

TEST(ExplainRecord, OtherClassesAreNamedOnce) {
  const Explanation explanation = explain_log(
      "Failed to load skel, error: 4000\nTransport layer setup failed: 14001\nCONN Reset\nCONN "
      "Reset\nstd::bad_alloc\n");
  EXPECT_THAT(explanation.also, Contains("dsp_restart"));
  EXPECT_THAT(explanation.also, Not(Contains(explanation.class_id)));
  EXPECT_EQ(std::set(explanation.also.begin(), explanation.also.end()).size(), explanation.also.size());
}

TEST(ExplainRecord, WhatIsNotDecidableSaysWhatIsThere) {
  EXPECT_EQ(explain_log("").summary, "Not decidable from this: the log is empty.");
  EXPECT_EQ(explain_log("a\nb\n").summary, "Not decidable from this: no error line in 2 lines.");
  std::string unknown;
  for (int i = 0; i < 20; ++i) unknown += "QNN_LOG[1]:  <E> words that nobody has seen\n";
  EXPECT_EQ(explain_log(unknown).summary, "Not decidable from this: 20 error lines, none of them known.");
  const Explanation number = explain_log("my graph call failed: 1002\n");
  EXPECT_EQ(number.class_id, "not_decidable");
  EXPECT_THAT(number.summary, testing::HasSubstr("1002"));
}

TEST(ExplainRecord, EvidenceIsBoundedAndHasTheDecidingLine) {
  std::string log;
  for (const LogPattern& pattern : log_patterns())
    if (pattern.role == PatternRole::symptom) log += pattern.example + '\n';
  log += "Stub lib id mismatch: expected (v2.28.0), detected (v2.25.17)\n";
  const Explanation explanation = explain_log(log);
  EXPECT_EQ(explanation.class_id, "sdk_mix");
  EXPECT_LE(explanation.evidence.size(), 16U);
  EXPECT_TRUE(std::is_sorted(explanation.evidence.begin(), explanation.evidence.end(),
                             [](const EvidenceLine& a, const EvidenceLine& b) { return a.line < b.line; }));
  EXPECT_TRUE(std::any_of(explanation.evidence.begin(), explanation.evidence.end(),
                          [](const EvidenceLine& line) { return line.text.starts_with("Stub lib id mismatch"); }));
}

TEST(ExplainRecord, NoTemplateIsLeftInWhatItSays) {
  for (const LogPattern& pattern : log_patterns()) {
    const Explanation explanation = explain_log(pattern.example + '\n');
    SCOPED_TRACE(pattern.id);
    for (const std::string& text : {explanation.summary, explanation.why, explanation.experiment}) {
      EXPECT_EQ(text.find('{'), std::string::npos) << text;
      EXPECT_EQ(text.find("``"), std::string::npos) << text;
      EXPECT_EQ(text.find('?'), std::string::npos) << text;
    }
    EXPECT_FALSE(explanation.summary.empty());
    for (const std::string& step : explanation.next_steps) EXPECT_EQ(step.find('{'), std::string::npos) << step;
  }
}

}  // namespace
}  // namespace qnndbg
