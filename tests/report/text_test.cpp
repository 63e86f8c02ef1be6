#include "report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "report/sample.h"

namespace qnndbg {
namespace {

using testing::bug_sample;
using testing::clean_sample;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TextStyle plain(int verbosity = 0) {
  TextStyle style;
  style.version = "1.2.3";
  style.command = "qnn-debug diagnose --model mini.mnn --dump dump";
  style.verbosity = verbosity;
  return style;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string without_escapes(std::string text) {
  for (std::size_t begin = text.find('\x1b'); begin != std::string::npos; begin = text.find('\x1b'))
    text.erase(begin, text.find('m', begin) - begin + 1);
  return text;
}

TEST(Text, HeadlineTellsWhatWasJudged) {
  EXPECT_EQ(lines_of(to_text(clean_sample(), plain())).front(),
            "qnn-debug 1.2.3   mini.mnn: 10 operators, 10 dumped tensors, fp16, HTP architecture not told (--soc)");
  Diagnosis d = clean_sample();
  d.run.arch = "v75";
  d.run.soc = "57";
  EXPECT_THAT(to_text(d, plain()), HasSubstr("HTP v75, SoC 57\n"));
}

TEST(Text, VerdictIsTheLastLine) {
  EXPECT_EQ(lines_of(to_text(bug_sample(), plain())).back(), "verdict: bug   1 operator is broken   0.21 s");
  EXPECT_THAT(lines_of(to_text(clean_sample(), plain())).back(), StartsWith("verdict: clean "));
}

TEST(Text, FindingHasPlaceFiguresCauseAndWhatToOpen) {
  const std::string text = to_text(bug_sample(), plain());
  EXPECT_THAT(text, HasSubstr("error[QD0207]: Interp `upsample` computes something else than the model asks for\n"
                              "  --> operator #5 of 10, tensor t5  NHWC 1x32x32x24 (logical 1x24x32x32)\n"
                              "   |  input     t4  0.4 bound units  (its own operator is right)\n"
                              "   |  output    t5  411 bound units\n"));
  EXPECT_THAT(text, HasSubstr("max |error| 0.371 = 0.132 of max |reference|, 48 % of the elements outside the bound"));
  EXPECT_THAT(text, HasSubstr("   |  cause     resize_coordinate_mode_wrong   proven\n"));
  EXPECT_THAT(text,
              HasSubstr("   = open       source/backend/qnn/execution/QNNInterp.cpp, align_corners of ResizeBilinear"));
  EXPECT_THAT(text, HasSubstr("   = try        compare the node's parameters with the model's\n"));
}

TEST(Text, FiguresWithoutABoundAreLeftOut) {
  Diagnosis d = bug_sample();
  d.findings[0].local_error->bound_ratio.reset();
  d.operators[4].bound_ratio.reset();
  const std::string text = to_text(d, plain());
  EXPECT_THAT(text, HasSubstr("   |  input     t4  (its own operator is right)\n"));
  EXPECT_THAT(text, HasSubstr("   |  output    t5\n   |            max |error| 0.371"));
}

TEST(Text, TableShowsTheNeighboursOfTheCulprit) {
  const std::string text = to_text(bug_sample(), plain());
  EXPECT_THAT(text, HasSubstr("      #4  Convolution `op4`    0.4 units       3e-3        4e-3  right\n"
                              "   >  #5  Interp `upsample`    411 units       4e-3       0.132  broken\n"
                              "      #6  Convolution `op6`    0.6 units       5e-3        6e-3  inherited\n"));
}

TEST(Text, SparklineMarksTheCulprit) {
  EXPECT_THAT(to_text(bug_sample(), plain()), HasSubstr("\n  ▁▁▂▂▂█▃▃▃▃\n       ^ upsample\n"));
}

TEST(Text, SparklineNeedsUnicodeAndWidth) {
  TextStyle style = plain();
  style.unicode = false;
  EXPECT_THAT(to_text(bug_sample(), style), Not(HasSubstr("along the network")));
  style = plain();
  style.width = 50;
  EXPECT_THAT(to_text(bug_sample(), style), Not(HasSubstr("along the network")));
}

TEST(Text, CoverageCountsEveryStatus) {
  EXPECT_THAT(
      to_text(bug_sample(), plain()),
      HasSubstr("10 operators: 1 broken, 5 right, 4 right but fed by a broken one\n9 of 10 dumped operators judged\n"));
}

TEST(Text, CleanRunSaysHowNearTheLineItIsAndThatTheRestIsRounding) {
  const std::string text = to_text(clean_sample(), plain());
  EXPECT_THAT(text, HasSubstr("Every one of 9 judged operators is within its error bound."));
  EXPECT_THAT(text, HasSubstr("Convolution `op9` (#9)"));
  EXPECT_THAT(text, HasSubstr("0.9 of it"));
  EXPECT_THAT(
      text, HasSubstr("Output t9 of `op9` differs from the fp32 baseline by 9e-3 of its maximum (max |error| 0.018)."));
  EXPECT_THAT(text, HasSubstr("That is rounding"));
  EXPECT_THAT(text, HasSubstr("Largest steps of the end-to-end error: "));
}

TEST(Text, OnlyAnUnclearRunSaysHowToSeeMore) {
  EXPECT_THAT(to_text(clean_sample(), plain()), Not(HasSubstr("next:")));
  EXPECT_THAT(to_text(bug_sample(), plain()), HasSubstr("next: qnn-debug diagnose --model mini.mnn --dump dump -v\n"));
  EXPECT_THAT(to_text(bug_sample(), plain(1)), Not(HasSubstr("next:")));
}

TEST(Text, VerbosityAddsReasonsAndThenAllOperators) {
  Diagnosis d = clean_sample();
  d.coverage.not_judged = {
      {.op_index = 3, .op = "op3", .op_type = "Convolution", .reason = "its input t2 is not in the dump"}};
  d.operators[3].status = OpStatus::not_judged;
  const std::string reason = "#3 Convolution `op3`: its input t2 is not in the dump";
  EXPECT_THAT(to_text(d, plain()), Not(HasSubstr(reason)));
  EXPECT_THAT(to_text(d, plain()), HasSubstr("1 not judged (-v says why)"));
  EXPECT_THAT(to_text(d, plain(1)), HasSubstr(reason));
  EXPECT_THAT(to_text(d, plain(1)), Not(HasSubstr("#7  Convolution")));
  EXPECT_THAT(to_text(d, plain(2)), HasSubstr("#7  Convolution"));
}

TEST(Text, ManyFindingsAreCutWithACount) {
  Diagnosis d = bug_sample();
  d.findings.resize(100, d.findings.front());
  const std::string text = to_text(d, plain());
  EXPECT_LT(lines_of(text).size(), 120U);
  EXPECT_THAT(text, HasSubstr("and 80 more findings (-v)"));
}

TEST(Text, WarningsTakeOneLine) {
  Diagnosis d = clean_sample();
  Finding f;
  f.id = "QD0901";
  f.kind = FindingKind::warning;
  f.title = "the scale of t4 differs from the model's by 2e-5";
  f.op_index = 4;
  f.evidence = {"only with -v"};
  d.findings = {f};
  EXPECT_THAT(to_text(d, plain()),
              HasSubstr("warning[QD0901]: the scale of t4 differs from the model's by 2e-5 (operator #4 of 10)\n"));
  EXPECT_THAT(to_text(d, plain()), Not(HasSubstr("only with -v")));
  EXPECT_THAT(to_text(d, plain(1)), HasSubstr("only with -v"));
}

TEST(Text, ColourAddsNothingButColour) {
  for (const Diagnosis& d : {bug_sample(), clean_sample()}) {
    TextStyle style = plain(2);
    const std::string without = to_text(d, style);
    EXPECT_EQ(without.find('\x1b'), std::string::npos);
    style.color = true;
    const std::string with = to_text(d, style);
    EXPECT_NE(with.find('\x1b'), std::string::npos);
    EXPECT_EQ(without_escapes(with), without);
  }
}

TEST(Text, HostileNamesReachNoTerminalRaw) {
  const std::string hostile = "a\nb\x1b[31m\xff\xc2\x9b\xe2\x80\xae\x07";
  Diagnosis d = bug_sample();
  d.model.file = d.summary = d.run.soc = d.run.arch = hostile;
  d.notes = {hostile};
  for (OperatorRow& row : d.operators) {
    row.name = row.type = row.reason = hostile;
    row.inputs.push_back(hostile);
  }
  for (TensorRow& row : d.tensors) row.layout = row.name = hostile;
  Finding& f = d.findings[0];
  f.id = f.op = f.op_type = f.tensor = f.dump_tensor = f.node = f.title = f.cause = hostile;
  f.evidence = f.ties = f.next_steps = {hostile};
  f.suspect = Suspect{hostile, hostile, hostile, hostile};
  d.coverage.not_judged = {{.op_index = 1, .op = hostile, .op_type = hostile, .reason = hostile}};
  TextStyle style = plain(2);
  style.command = hostile;
  style.unicode = false;
  for (const int verbosity : {0, 1, 2}) {
    style.verbosity = verbosity;
    const std::string text = to_text(d, style);
    const auto is_plain = [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); };
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), is_plain)) << text;
    EXPECT_THAT(text, Not(HasSubstr("\nb")));
  }
}

TEST(Text, SurvivesEmptyAndAbsurdDiagnoses) {
  EXPECT_THAT(to_text(Diagnosis{}, plain(2)), HasSubstr("verdict: inconclusive"));
  Diagnosis d = bug_sample();
  d.findings[0].op_index = 4711;  // no such operator
  d.findings[0].consequence_of = 4712;
  d.findings[0].local_error->bound_ratio = std::numeric_limits<double>::infinity();
  d.operators[5].bound_ratio = std::numeric_limits<double>::quiet_NaN();
  d.operators[2].inputs = {"t2"};  // reads itself
  EXPECT_THAT(to_text(d, plain(2)), HasSubstr("not finite bound units"));
}

TEST(Text, LinesKeepToTheWidth) {
  Diagnosis d = bug_sample();
  d.findings[0].title = "short";
  for (const int width : {80, 100, 120}) {
    TextStyle style = plain();
    style.width = width;
    style.command.clear();
    for (const std::string& line : lines_of(to_text(d, style))) {
      if (line.starts_with("  -->")) continue;  // the place stays whole, so that it can be searched for
      EXPECT_LE(columns_of(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

}  // namespace
}  // namespace qnndbg
