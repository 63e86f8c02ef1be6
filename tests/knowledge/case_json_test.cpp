#include "knowledge/case_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace qnndbg {
namespace {

using testing::HasSubstr;

/// A document with one case that has `extra` besides what a case must have.
std::string document(const std::string& extra = "",
                     const std::string& fingerprint = R"({"classes": ["wrong_output"]})") {
  return R"({"schema": "qnn-debug/known-cases/1", "cases": [{"id": "U-0123456789abcdef", "title": "t",
 "created": "2026-11-30", "updated": "2026-11-30", "fingerprint": )" +
         fingerprint + extra + "}]}";
}

std::string message(const std::string& text) {
  const auto cases = parse_case_document(text);
  return cases ? "accepted" : cases.error().message;
}

TEST(CaseDocument, SmallestCaseIsRead) {
  const auto cases = parse_case_document(document());
  ASSERT_TRUE(cases) << cases.error().message;
  ASSERT_EQ(cases->size(), 1U);
  EXPECT_EQ(cases->front().title, "t");
  EXPECT_EQ(cases->front().evidence, EvidenceGrade::unknown);
}

TEST(CaseDocument, EveryFieldSurvivesARoundTrip) {
  const std::string text = document(
      R"(, "symptom": "a\nb\tc", "cause": "\u00e4\u20ac\ud83d\ude00", "evidence": "inferred", "fix": "f", "notes": "n",
 "sources": ["x", "y"], "supersedes": "C04")",
      R"({"classes": ["wrong_output", "performance"], "codes": [1002, 65535], "patterns": ["op-creation-failure"],
 "operators": ["LayerNorm"], "kernels": ["q::k"], "stages": ["finalize"], "archs": ["75"], "socs": ["57"],
 "stacks": ["mnn"], "sdk_versions": ["2.42"], "mnn_versions": ["3.2"]})");
  const auto cases = parse_case_document(text);
  ASSERT_TRUE(cases) << cases.error().message;
  const KnownCase& known = cases->front();
  EXPECT_EQ(known.cause, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(known.fingerprint.archs, std::vector<std::string>{"v75"});
  const KnownCase* const one = &known;
  const auto again = parse_case_document(case_document({&one, 1}));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->front(), known);
  const auto line = parse_case(case_line(known));
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(*line, known);
  EXPECT_EQ(case_line(known).find('\n'), std::string::npos);
}

TEST(CaseDocument, RepetitionsInListsAreDropped) {
  const auto cases = parse_case_document(
      document("", R"({"classes": ["wrong_output", "wrong_output"], "codes": [5, 4, 5], "archs": ["75", "v75"]})"));
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_EQ(cases->front().fingerprint.classes, std::vector<std::string>{"wrong_output"});
  EXPECT_EQ(cases->front().fingerprint.codes, (std::vector<int>{5, 4}));
  EXPECT_EQ(cases->front().fingerprint.archs, std::vector<std::string>{"v75"});
}

TEST(CaseDocument, SyntaxErrorsNameLineAndColumn) {
  EXPECT_THAT(message(""), HasSubstr("line 1, column 1: not JSON"));
  EXPECT_THAT(message("{\n  \"schema\": x}"), HasSubstr("line 2, column 13: not JSON"));
  EXPECT_THAT(message(document() + "x"), HasSubstr("not JSON"));
  const std::string whole = document();
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_NE(message(whole.substr(0, size)), "accepted") << size;
}

TEST(CaseDocument, BytesThatAreNotUtf8AreRefused) {
  EXPECT_THAT(message(document(", \"fix\": \"a\xff\"")), HasSubstr("not UTF-8"));
  EXPECT_THAT(message(document(", \"fix\": \"\xc0\xaf\"")), HasSubstr("not UTF-8"));
  EXPECT_THAT(message(document(R"(, "fix": "\ud800")")), HasSubstr("not JSON"));
}

TEST(CaseDocument, ControlCharactersAreRefused) {
  EXPECT_THAT(message(document(R"(, "fix": "a\u0000b")")), HasSubstr("cases[0].fix: control character 0x00 at byte 1"));
  EXPECT_THAT(message(document(R"(, "notes": "\u001b[31m")")), HasSubstr("cases[0].notes: control character 0x1b"));
  EXPECT_THAT(message(document("", R"({"classes": ["wrong_output"], "kernels": ["a", "b\nc"]})")),
              HasSubstr("cases[0].fingerprint.kernels[1]: control character 0x0a"));
}

TEST(CaseDocument, WrongTypesAreNamedWithTheirPlace) {
  EXPECT_THAT(message("[]"), HasSubstr("not a document of known cases"));
  EXPECT_THAT(message("7"), HasSubstr("not a document of known cases"));
  EXPECT_THAT(message(R"({"cases": []})"), HasSubstr("\"schema\""));
  EXPECT_THAT(message(R"({"schema": "qnn-debug/known-cases/2", "cases": []})"), HasSubstr("schema: not"));
  EXPECT_THAT(message(R"({"schema": 1, "cases": []})"), HasSubstr("schema: not"));
  EXPECT_THAT(message(R"({"schema": "qnn-debug/known-cases/1"})"), HasSubstr("cases: not a list"));
  EXPECT_THAT(message(R"({"schema": "qnn-debug/known-cases/1", "cases": [7]})"), HasSubstr("cases[0]: not an object"));
  EXPECT_THAT(message(document(R"(, "fix": 7)")), HasSubstr("cases[0].fix: not a string"));
  EXPECT_THAT(message(document(R"(, "sources": "x")")), HasSubstr("cases[0].sources: not a list"));
  EXPECT_THAT(message(document(R"(, "sources": ["x", null])")), HasSubstr("cases[0].sources[1]: not a string"));
  EXPECT_THAT(message(document(R"(, "sources": [""])")), HasSubstr("cases[0].sources[0]: empty"));
  EXPECT_THAT(message(document(R"(, "evidence": "certain")")), HasSubstr("cases[0].evidence: not one of"));
  EXPECT_THAT(message(document("", "[]")), HasSubstr("cases[0].fingerprint: not an object"));
  for (const char* code : {"70000", "0", "-1", "1.5", "\"1002\"", "18446744073709551615", "1e3", "null"})
    EXPECT_THAT(message(document("", std::string(R"({"classes": ["wrong_output"], "codes": [1, )") + code + "]}")),
                HasSubstr("cases[0].fingerprint.codes[1]: not an error number"))
        << code;
}

TEST(CaseDocument, ValuesThatMeanNothingAreRefused) {
  EXPECT_THAT(message(document("", R"({"classes": ["wrong_outptu"]})")), HasSubstr("`wrong_outptu` is no class"));
  EXPECT_THAT(message(document("", "{}")), HasSubstr("cases[0].fingerprint.classes: missing"));
  EXPECT_THAT(message(document("", R"({"classes": ["wrong_output"], "archs": ["hexagon"]})")), HasSubstr("v75"));
  EXPECT_THAT(message(document("", R"({"classes": ["wrong_output"], "patterns": ["A b"]})")), HasSubstr("patterns[0]"));
  EXPECT_THAT(message(document("", R"({"classes": ["wrong_output"], "operators": [""]})")),
              HasSubstr("operators[0]: empty"));
  EXPECT_THAT(message(document(R"(, "supersedes": "U-0000000000000000")")), HasSubstr("cases[0].supersedes"));
  EXPECT_THAT(message(document(R"(, "supersedes": "C04", "annotates": "C05")")), HasSubstr("not both"));
  for (const char* id : {"", "C1", "U-0123456789ABCDEF", "U-123", "../x", "C12345678"}) {
    std::string text = document();
    text.replace(text.find("U-0123456789abcdef"), 18, id);
    EXPECT_THAT(message(text), HasSubstr("cases[0].id")) << id;
  }
  for (const char* date : {"", "yesterday", "2026-11-3", "2026-11-30T12:00", "2026-11-30 12:00:00Z"}) {
    std::string text = document();
    text.replace(text.find("2026-11-30"), 10, date);
    EXPECT_THAT(message(text), HasSubstr("cases[0].created")) << date;
  }
}

TEST(CaseDocument, UnknownAndRepeatedFieldsAreRefused) {
  EXPECT_THAT(message(document(R"(, "fixx": "x")")), HasSubstr("cases[0].fixx: unknown field"));
  EXPECT_THAT(message(document("", R"({"classes": ["wrong_output"], "code": [1]})")),
              HasSubstr("cases[0].fingerprint.code: unknown field"));
  EXPECT_THAT(message(document(R"(, "fix": "x", "fix": "y")")), HasSubstr("cases[0]: \"fix\" appears twice"));
  EXPECT_THAT(message(R"({"schema": "qnn-debug/known-cases/1", "cases": [], "more": 1})"),
              HasSubstr("more: unknown field"));
}

TEST(CaseDocument, AnIdMayAppearOnce) {
  std::string text = document();
  const std::string one = text.substr(text.find("[{") + 1, text.rfind("}]") - text.find("[{"));
  text.insert(text.rfind("]}"), ", " + one);
  EXPECT_THAT(message(text), HasSubstr("cases[1].id: U-0123456789abcdef appears twice"));
}

TEST(CaseDocument, SizesAreBounded) {
  EXPECT_EQ(message(document(", \"fix\": \"" + std::string(kLongestCaseText, 'x') + '"')), "accepted");
  EXPECT_THAT(message(document(", \"fix\": \"" + std::string(kLongestCaseText + 1, 'x') + '"')),
              HasSubstr("cases[0].fix: 65537 bytes, at most 65536"));
  std::string list = "\"a\"";
  for (std::size_t i = 1; i <= kLongestCaseList; ++i) list += fmt::format(", \"a{}\"", i);
  EXPECT_THAT(message(document(", \"sources\": [" + list + "]")), HasSubstr("cases[0].sources: 1001 entries"));
}

TEST(CaseDocument, DeepNestingIsRefusedWithoutDescending) {
  constexpr std::size_t kDeep = 1'000'000;
  EXPECT_THAT(message(std::string(kDeep, '[')), HasSubstr("nested more than"));
  EXPECT_THAT(message(document(", \"fix\": " + std::string(kDeep, '[') + std::string(kDeep, ']'))),
              HasSubstr("nested more than"));
  std::string objects;
  for (std::size_t i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(message(objects), HasSubstr("nested more than"));
}

TEST(CaseDocument, MoreElementsThanCasesAreRefused) {
  std::string text = R"({"schema": "qnn-debug/known-cases/1", "cases": [0)";
  for (std::size_t i = 0; i < kMostCases; ++i) text += ",0";
  EXPECT_THAT(message(text + "]}"), HasSubstr("cases: more than 100000 entries"));
}

TEST(CaseDraft, IdAndDatesMayBeMissing) {
  const auto draft = parse_case_draft(R"({"title": "t", "fingerprint": {"classes": ["performance"]}})");
  ASSERT_TRUE(draft) << draft.error().message;
  EXPECT_EQ(draft->title, "t");
  EXPECT_TRUE(draft->id.empty());
  EXPECT_FALSE(parse_case(R"({"title": "t", "fingerprint": {"classes": ["performance"]}})"));
}

TEST(CaseDraft, ADocumentIsNoCase) {
  const auto draft = parse_case_draft(document());
  ASSERT_FALSE(draft);
  EXPECT_THAT(draft.error().message, HasSubstr("case import"));
}

}  // namespace
}  // namespace qnndbg
