#include "report/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

namespace qnndbg {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::EndsWith;
using testing::Ge;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr std::string_view kRefused =
    "QNN_LOG[1]: Dimension at index 1 cannot be broadcast between in[0] (28) and in[1] (96).\n"
    "QNN_LOG[1]:  <E> validateNativeOps master op validator mul_1:qti.aisw:ElementWiseMultiply failed 3110\n"
    "QNN validate failed for node 'mul_1' type 'ElementWiseMultiply', error: 3110\n";

std::string text_of(std::string_view log, const TextStyle& style = {}) {
  return explanation_text(explain_log(log), {}, style);
}

nlohmann::json json_of(std::string_view log) { return nlohmann::json::parse(explanation_json(explain_log(log), {})); }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The rows of evidence, without their gutter.
std::vector<std::string> evidence_of(const std::string& text) {
  std::vector<std::string> result;
  const re2::RE2 row("^ *\\d+ \\| (.*)$");
  for (const std::string& line : lines_of(text))
    if (std::string message; re2::RE2::FullMatch(line, row, &message)) result.push_back(message);
  return result;
}

/// Every log of the knowledge tests: all stacks and all classes that a log can show.
std::vector<std::pair<std::string, std::string>> all_logs() {
  std::vector<std::pair<std::string, std::string>> logs;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(QNNDBG_SOURCE_DIR) / "tests" / "knowledge" / "logs")) {
    if (entry.path().extension() != ".log") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    logs.emplace_back(entry.path().filename(), std::string(std::istreambuf_iterator<char>(file), {}));
  }
  return logs;
}

TEST(ExplanationText, SaysClassEvidenceCodeAndStepsInThisOrder) {
  const std::string text = text_of(kRefused);
  EXPECT_THAT(text, StartsWith("error[validation_refused]: QNN refused `mul_1` (ElementWiseMultiply): Dimension at "));
  const std::vector<std::size_t> places = {text.find("\n      1 | Dimension at index 1"),
                                           text.find("\n   | code "),
                                           text.find("\n   = why "),
                                           text.find("\n   = control "),
                                           text.find("\nnext\n"),
                                           text.find("\nclass validation_refused, confidence high; 3 lines read, ")};
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end())) << text;
  EXPECT_NE(places.back(), std::string::npos) << text;
}

TEST(ExplanationText, UndecidedLogsAreNoErrors) {
  EXPECT_THAT(text_of("all is well\n"),
              AllOf(StartsWith("not decidable: no error line in 1 line.\n"), Not(HasSubstr("error["))));
  EXPECT_THAT(text_of(""), StartsWith("not decidable: the log is empty.\n"));
}

TEST(ExplanationText, EvidenceIsTheMessageWhateverTheLoggerPutsBeforeIt) {
  for (const char* prefix :
       {"", "QNN_LOG[1]:  <E> ", "[QNN_LOG:1] <E> ", "QnnDsp <E> ", "     0.1ms [ ERROR ] QnnDsp <E> ", "[ ERROR ] ",
        "[ERROR] [Qnn ExecuTorch]: QnnDsp <E> ", "[ERROR][Qnn ExecuTorch]:  <E> ",
        "10-01 09:37:08.953  8291  8351 E QnnDsp  : QnnDsp <E> ",
        "2026-09-08 12:39:48.741 22119-22151 QnnDsp                  org.example.app          E  QnnDsp <E> ",
        "2026-06-22 18:31:10.802432592 [V:onnxruntime:Default, qnn_backend_manager.cc:452 QnnLogging]  <E> ",
        "[onnxruntime]  <E> ", "[ERROR] Tue Jun 9 14:03:11 2026 [src/backends/qnn/QNNBackend.cpp:131] "}) {
    const std::vector<std::string> evidence =
        evidence_of(text_of(prefix + std::string("Failed to load skel, error: 4000\n")));
    ASSERT_THAT(evidence, SizeIs(1)) << prefix;
    EXPECT_EQ(evidence.front(), "Failed to load skel, error: 4000") << prefix;
  }
}

TEST(ExplanationText, MessageThatLooksLikeAPrefixStays) {
  EXPECT_EQ(evidence_of(text_of("[QNN] Don't Support NC4HW4 stridedslice now\n")).front(),
            "[QNN] Don't Support NC4HW4 stridedslice now");
}

TEST(ExplanationText, VerboseShowsTheWholeLine) {
  TextStyle style;
  style.verbosity = 1;
  EXPECT_THAT(text_of("     0.1ms [ ERROR ] QnnDsp <E> Failed to load skel, error: 4000\n", style),
              HasSubstr("      1 | 0.1ms [ ERROR ] QnnDsp <E> Failed to load skel, error: 4000\n"));
}

TEST(ExplanationText, LongLinesKeepBothEndsAndTheGutter) {
  TextStyle style;
  style.width = 60;
  const std::string path(300, 'x');
  const std::string text = text_of(
      "MNN_QNN: Failed to open QNN libs. dlerror() returns " + path + " library \"libQnnHtp.so\" not found\n", style);
  const std::vector<std::string> lines = lines_of(text);
  const auto first =
      std::find_if(lines.begin(), lines.end(), [](const auto& line) { return line.starts_with("      1 | "); });
  ASSERT_NE(first, lines.end()) << text;
  EXPECT_THAT(*first, HasSubstr("MNN_QNN: Failed to open"));
  EXPECT_THAT(*(first + 1), StartsWith("        | "));
  EXPECT_THAT(text, HasSubstr("not found\n"));
  EXPECT_THAT(text, Not(HasSubstr(path)));
}

TEST(ExplanationText, ANodeOfWhichTheHeadlineSaysAllHasNoRow) {
  EXPECT_THAT(text_of(kRefused), Not(HasSubstr("| node")));
  Explanation named = explain_log(kRefused);
  named.facts.nodes.front().op = "fuse";
  named.facts.nodes.front().op_index = 7;
  EXPECT_THAT(explanation_text(named, {}, {}),
              HasSubstr("| node      `mul_1` (ElementWiseMultiply): operator #7 `fuse` of the model\n"));
}

TEST(ExplanationText, StepsBelongToTheRuntimeThatWroteTheLog) {
  const std::string mnn = text_of(kRefused);
  EXPECT_THAT(mnn, AllOf(HasSubstr("source/backend/qnn/execution"), HasSubstr("qnn-debug diagnose --model")));
  const std::string line = "2026-06-22 18:31:10.8 [V:onnxruntime:Default, qnn_backend_manager.cc:452 QnnLogging]  <E> ";
  const std::string ort = text_of(line + "Wrong number of Inputs 1\n" + line +
                                  "validateNativeOps master op validator k:qti.aisw:TopK failed 3110\n");
  EXPECT_THAT(ort,
              AllOf(HasSubstr("a log of ONNX Runtime"), HasSubstr("qnn-debug explain run.log"),
                    Not(HasSubstr("source/backend/qnn")), Not(HasSubstr("qnn-debug diagnose")), Not(HasSubstr("MNN"))));
}

TEST(ExplanationText, FitsItsWidth) {
  for (const int width : {60, 80, 120}) {
    TextStyle style;
    style.width = width;
    for (const auto& [name, log] : all_logs()) {
      for (const std::string& line : lines_of(text_of(log, style))) {
        const std::size_t content = line.find_first_not_of(" |.0123456789=");
        const bool one_word = content == std::string::npos || line.find(' ', content) == std::string::npos;
        const bool last = line.starts_with("class ");
        EXPECT_TRUE(columns_of(line) <= static_cast<std::size_t>(width) || one_word || last)
            << name << " at " << width << ": " << line;
      }
    }
  }
}

TEST(ExplanationText, LeavesNothingOfATemplate) {
  for (const auto& [name, log] : all_logs()) {
    const Explanation e = explain_log(log);
    std::string words = e.summary + e.why + e.experiment;
    for (const std::string& step : e.next_steps) {
      EXPECT_FALSE(step.empty()) << name;
      words += step;
    }
    EXPECT_EQ(words.find_first_of("{}?"), std::string::npos) << name << ": " << words;
    EXPECT_THAT(words, Not(HasSubstr("if_"))) << name;
    for (const auto& [value, content] : e.facts.values) EXPECT_FALSE(content.empty()) << name << ' ' << value;
  }
  for (const ExplanationClass& type : explanation_classes())
    EXPECT_EQ(class_text(type, {}, {}).find_first_of("{}[]?"), std::string::npos) << class_text(type, {}, {});
}

TEST(ExplanationText, ColourAddsNothingButColour) {
  TextStyle colored;
  colored.color = true;
  const re2::RE2 sgr("\x1b\\[[0-9;]*m");
  for (const auto& [name, log] : all_logs()) {
    std::string plain = text_of(log, colored);
    re2::RE2::GlobalReplace(&plain, sgr, "");
    EXPECT_EQ(plain, text_of(log)) << name;
  }
}

TEST(ExplanationText, ForeignTextCannotHarmTheTerminal) {
  const std::string evil = "\x1b[2J\u202e\n";
  Explanation e = explain_log(kRefused);
  e.summary = e.why = e.experiment = evil;
  e.next_steps = {evil};
  e.evidence.front().text = evil;
  e.facts.nodes.front().name = e.facts.nodes.front().type = e.facts.nodes.front().op = evil;
  e.facts.nodes.front().op_index = 1;
  e.facts.soc = e.facts.arch = evil;
  e.facts.versions["sdk"] = evil;
  const std::string text = explanation_text(e, {}, {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(text.find("\u202e"), std::string::npos) << text;
}

TEST(ExplanationText, SeenBeforeNamesTheCaseAndHowToSeeIt) {
  SimilarCase similar;
  similar.known.id = "C28";
  similar.known.title = "A constant stayed in float";
  similar.similarity = 0.7;
  similar.shared = {"code 3110", "operator RmsNorm", "stage validate", "stack mnn"};
  EXPECT_EQ(seen_before_text({{similar}}, {}),
            "   = seen      C28 A constant stayed in float (code 3110, operator RmsNorm, stage validate;\n"
            "               qnn-debug case show C28)\n");
  EXPECT_EQ(seen_before_text({}, {}), "");
}

TEST(FindingPages, EndWithTheCommandForTheirFamily) {
  for (const FindingType& type : finding_types()) {
    const std::vector<std::string> steps = finding_type_steps(type);
    ASSERT_THAT(steps, SizeIs(Ge(2U))) << type.id;
    EXPECT_EQ(steps.front(), type.next);
    EXPECT_THAT(steps.back(), HasSubstr(": qnn-debug ")) << type.id;
    EXPECT_THAT(finding_type_text(type, {}),
                AllOf(StartsWith(std::string(type.id) + ' ' + std::string(type.cause)), HasSubstr("\nnext\n")))
        << type.id;
  }
  EXPECT_THAT(finding_type_steps(finding_type("bias_dropped")).back(), HasSubstr("qnn-debug replay"));
  EXPECT_THAT(finding_type_steps(finding_type("node_rejected")).back(), HasSubstr("qnn-debug explain run.log"));
  EXPECT_THAT(finding_type_steps(finding_type("input_not_copied")).back(), HasSubstr("qnn-debug diagnose"));
}

TEST(ExplanationJson, EveryKindHasTheSameMembers) {
  const auto members = [](const nlohmann::json& document) {
    std::vector<std::string> names;
    for (const auto& [name, value] : document.items())
      if (name != "finding") names.push_back(name);
    return names;
  };
  const nlohmann::json log = json_of(kRefused);
  ParsedCode code;
  code.number = 1002;
  code.raw = 1002;
  for (const std::string& text :
       {code_explanation_json(code, "", {}), code_explanation_json(code, "finalize", {}),
        finding_type_json(finding_types().front()), class_json(explanation_classes().front(), {})}) {
    const nlohmann::json document = nlohmann::json::parse(text);
    EXPECT_EQ(members(document), members(log));
    EXPECT_EQ(members(document["facts"]), members(log["facts"]));
    EXPECT_FALSE(document["next_steps"].empty());
  }
}

TEST(ExplanationJson, KeepsTheWholeLineAndTheReasons) {
  const nlohmann::json document = json_of(kRefused);
  EXPECT_EQ(document["class"], "validation_refused");
  EXPECT_EQ(document["evidence"][1]["text"],
            "QNN_LOG[1]:  <E> validateNativeOps master op validator mul_1:qti.aisw:ElementWiseMultiply failed 3110");
  const nlohmann::json& node = document["facts"]["nodes"][0];
  EXPECT_EQ(node["name"], "mul_1");
  EXPECT_EQ(node["fate"], "refused");
  EXPECT_EQ(node["code"], 3110);
  EXPECT_EQ(node["reasons"][0]["line"], 1);
  EXPECT_EQ(document["codes"][0]["line"], 2);
}

TEST(ExplanationJson, ManyNodesAreCounted) {
  std::string log;
  for (int i = 0; i < 300; ++i) log += "MNN_QNN: Not registered type 17, up_" + std::to_string(i) + ".\n";
  const nlohmann::json facts = json_of(log)["facts"];
  EXPECT_EQ(facts["nodes"].size() + facts["nodes_left_out"].get<std::size_t>(), 300U);
  EXPECT_LE(facts["nodes"].size(), 256U);
}

TEST(ExplanationJson, ANumberThatIsNoCodeHasOneStep) {
  ParsedCode code;
  code.number = 99999;
  code.raw = 99999;
  const nlohmann::json document = nlohmann::json::parse(code_explanation_json(code, "", {}));
  EXPECT_EQ(document["class"], "not_decidable");
  EXPECT_THAT(document["next_steps"], SizeIs(1));
}

TEST(LogPartOfADiagnosis, IsNullWithoutALog) {
  EXPECT_TRUE(log_json(std::nullopt).is_null());
  const Json part = log_json(explain_log(kRefused));
  EXPECT_EQ(part["class"], "validation_refused");
  EXPECT_EQ(part["lines"], 3);
  EXPECT_EQ(part["codes"][0]["number"], 3110);
  EXPECT_EQ(part["codes"][0]["stage"], "validate");
}

TEST(ExplanationFingerprint, HasWhatCasesAreFoundBy) {
  const Fingerprint print = fingerprint_of(explain_log(kRefused));
  EXPECT_THAT(print.classes, testing::ElementsAre("validation_refused"));
  EXPECT_THAT(print.codes, testing::ElementsAre(3110));
  EXPECT_THAT(print.operators, testing::ElementsAre("ElementWiseMultiply"));
  EXPECT_THAT(print.patterns, testing::Contains("broadcast-impossible"));
  EXPECT_THAT(fingerprint_of(explain_log("all is well\n")).classes, testing::IsEmpty());
}

}  // namespace
}  // namespace qnndbg
