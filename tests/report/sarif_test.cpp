#include "report/sarif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "knowledge/findings.h"
#include "report/sample.h"

namespace qnndbg {
namespace {

using nlohmann::json;
using testing::bug_sample;
using testing::clean_sample;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

json run_of(const Diagnosis& d, std::string_view command = "") {
  return json::parse(to_sarif(d, "1.2.3", command))["runs"][0];
}
json result_of(const Diagnosis& d) { return run_of(d)["results"][0]; }

TEST(Sarif, RulesAreTheTableOfFindings) {
  const json rules = run_of(clean_sample())["tool"]["driver"]["rules"];
  ASSERT_EQ(rules.size(), finding_types().size());
  std::set<std::string> ids;
  for (const json& rule : rules) {
    ids.insert(rule["id"].get<std::string>());
    EXPECT_THAT(rule["shortDescription"]["text"].get<std::string>(), MatchesRegex("An (input|operator) that .*\\."));
    EXPECT_THAT(rule["help"]["text"].get<std::string>(), HasSubstr("qnn-debug explain QD"));
  }
  EXPECT_EQ(ids.size(), rules.size()) << "ids are not unique";
}

TEST(Sarif, AResultPointsToTheOperatorAndToTheFileToOpen) {
  const json result = result_of(bug_sample());
  EXPECT_EQ(result["ruleId"], "QD0207");
  EXPECT_EQ(finding_types()[result["ruleIndex"].get<std::size_t>()].id, "QD0207");
  EXPECT_EQ(result["level"], "error");
  const json& place = result["locations"][0];
  EXPECT_EQ(place["physicalLocation"]["artifactLocation"]["uri"], "source/backend/qnn/execution/QNNInterp.cpp");
  EXPECT_EQ(place["physicalLocation"]["artifactLocation"]["uriBaseId"], "MNN_ROOT");
  EXPECT_FALSE(place["physicalLocation"].contains("region")) << "no line is known";
  EXPECT_EQ(place["logicalLocations"][0]["name"], "upsample");
  EXPECT_THAT(result["message"]["text"].get<std::string>(),
              StartsWith("Interp `upsample` computes something else than the model asks for. Cause: "
                         "resize_coordinate_mode_wrong, proven: replaying with"));
  EXPECT_EQ(result["properties"]["local_error"]["bound_ratio"], 411.26);
  const json run = run_of(bug_sample());
  EXPECT_TRUE(run["originalUriBaseIds"]["MNN_ROOT"]["description"]["text"].is_string());
  const std::size_t index = place["physicalLocation"]["artifactLocation"]["index"];
  EXPECT_EQ(run["artifacts"][index]["location"]["uri"], "source/backend/qnn/execution/QNNInterp.cpp");
  EXPECT_EQ(run["artifacts"][0]["location"]["uri"], "mini.mnn");
}

TEST(Sarif, WithoutAFileToOpenTheModelIsThePlace) {
  Diagnosis d = bug_sample();
  d.findings[0].suspect.reset();
  EXPECT_EQ(result_of(d)["locations"][0]["physicalLocation"]["artifactLocation"],
            (json{{"uri", "mini.mnn"}, {"index", 0}}));
  for (const char* outside : {"/etc/passwd", "../../secret", "a/../../b", ""}) {
    d.findings[0].suspect = Suspect{.file = outside, .parameter = "", .used = "", .meant = ""};
    EXPECT_EQ(result_of(d)["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "mini.mnn") << outside;
  }
  d.model.file.clear();
  EXPECT_FALSE(result_of(d)["locations"][0].contains("physicalLocation"));
}

TEST(Sarif, LevelsFollowTheKind) {
  Diagnosis d = bug_sample();
  for (const FindingKind kind : {FindingKind::bug, FindingKind::input, FindingKind::range, FindingKind::rejected,
                                 FindingKind::unregistered, FindingKind::load}) {
    d.findings[0].kind = kind;
    EXPECT_EQ(result_of(d)["level"], "error");
  }
  d.findings[0].kind = FindingKind::warning;
  EXPECT_EQ(result_of(d)["level"], "warning");
}

TEST(Sarif, AConsequenceNamesTheRefusedOperatorAndIsNotSuppressed) {
  Diagnosis d = bug_sample();
  d.findings[0].consequence_of = 3;
  const json result = result_of(d);
  EXPECT_EQ(result["relatedLocations"][0]["logicalLocations"][0]["name"], "op3");
  EXPECT_THAT(result["relatedLocations"][0]["message"]["text"].get<std::string>(), HasSubstr("#3 Convolution `op3`"));
  EXPECT_FALSE(result.contains("suppressions"));
}

TEST(Sarif, FingerprintsDependOnNoFigures) {
  Diagnosis d = bug_sample();
  const json before = result_of(d)["partialFingerprints"];
  EXPECT_EQ(before["qnnDebugFinding/v1"], "resize_coordinate_mode_wrong/Interp/1/upsample");
  d.findings[0].local_error->bound_ratio = 12;
  d.findings[0].evidence = {"something else"};
  d.findings[0].op_index = 7;
  EXPECT_EQ(result_of(d)["partialFingerprints"], before);
  d.findings.push_back(d.findings[0]);
  const json results = run_of(d)["results"];
  EXPECT_NE(results[0]["partialFingerprints"], results[1]["partialFingerprints"]);
}

TEST(Sarif, TheInvocationTellsTheStatusAndWhatWasNotJudged) {
  json invocation = run_of(clean_sample(), "qnn-debug diagnose")["invocations"][0];
  EXPECT_EQ(invocation["exitCode"], 0);
  EXPECT_EQ(invocation["executionSuccessful"], true);
  EXPECT_EQ(invocation["commandLine"], "qnn-debug diagnose");
  EXPECT_EQ(invocation["toolExecutionNotifications"], json::array());
  Diagnosis d = clean_sample();
  d.verdict = Verdict::inconclusive;
  d.coverage.not_judged = {{.op_index = 4, .op = "op4", .op_type = "Plugin", .reason = "type not implemented"}};
  d.notes = {"odd"};
  invocation = run_of(d)["invocations"][0];
  EXPECT_EQ(invocation["exitCode"], 1);
  EXPECT_FALSE(invocation.contains("commandLine"));
  const json& notes = invocation["toolExecutionNotifications"];
  ASSERT_EQ(notes.size(), 3U);
  EXPECT_THAT(notes[0]["message"]["text"].get<std::string>(), HasSubstr("inconclusive"));
  EXPECT_EQ(notes[1]["message"]["text"], "Plugin `op4` was not judged: type not implemented");
  EXPECT_EQ(notes[1]["locations"][0]["logicalLocations"][0]["name"], "op4");
  EXPECT_EQ(notes[2]["level"], "note");
}

TEST(Sarif, HostileNamesAreNoLinksAndNoPlaceholders) {
  Diagnosis d = bug_sample();
  d.findings[0].title = "Interp `[click](http://evil.example) {0} {1} \x1b[2J` is odd";
  const std::string text = result_of(d)["message"]["text"];
  EXPECT_THAT(text, HasSubstr("[click] (http"));
  EXPECT_THAT(text, Not(HasSubstr("{0}")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Sarif, NodesOfNoOperatorAreLocatedByTheirName) {
  Diagnosis d = bug_sample();
  d.findings[0].op.clear();
  d.findings[0].op_index = -1;
  d.findings[0].node = "Permute_5";
  EXPECT_EQ(result_of(d)["locations"][0]["logicalLocations"][0], (json{{"name", "Permute_5"}, {"kind", "node"}}));
  EXPECT_THAT(result_of(d)["partialFingerprints"]["qnnDebugFinding/v1"].get<std::string>(), HasSubstr("Permute_5"));
}

TEST(Sarif, NumbersThatAreNotFiniteAreNull) {
  Diagnosis d = bug_sample();
  d.findings[0].local_error->max_abs = std::numeric_limits<double>::infinity();
  EXPECT_EQ(result_of(d)["properties"]["local_error"]["max_abs"], nullptr);
  EXPECT_EQ(result_of(d)["properties"]["local_error"]["nonfinite"], 1);
}

TEST(Sarif, PathsBecomeUris) {
  EXPECT_EQ(uri_of_path("a b/c#d?.mnn"), "a%20b/c%23d%3F.mnn");
  EXPECT_EQ(uri_of_path("c:x/%41"), "c%3Ax/%2541");
  EXPECT_EQ(uri_of_path("/tmp/\xe4\xb8\xad.mnn"), "file:///tmp/%E4%B8%AD.mnn");
  EXPECT_EQ(uri_of_path(std::string_view("a\0b", 3)), "a%00b");
}

}  // namespace
}  // namespace qnndbg
