// What the text says and how it is escaped; tests/cli/run.py renders it with an implementation of CommonMark.
#include "report/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/markdown_text.h"
#include "report/sample.h"

namespace qnndbg {
namespace {

using testing::bug_sample;
using testing::clean_sample;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Markdown, BeginsWithTheVerdictAndEndsWithTheCommand) {
  const std::string text = to_markdown(bug_sample(), "1.2.3", "qnn-debug diagnose --model mini.mnn");
  EXPECT_THAT(text, StartsWith("## qnn-debug 1.2.3: `bug`\n\n1 operator is broken\n\nmini.mnn: 10 operators, "));
  EXPECT_TRUE(text.ends_with("### Command\n\n```text\nqnn-debug diagnose --model mini.mnn\n```\n")) << text;
}

TEST(Markdown, AFindingHasPlaceCauseFiguresEvidenceAndWhatToOpen) {
  const std::string text = to_markdown(bug_sample(), "1.2.3", "");
  EXPECT_THAT(text,
              HasSubstr("\n### error `QD0207`: Interp `upsample` computes something else than the model asks for\n"));
  EXPECT_THAT(text, HasSubstr("- **Where:** operator `#5` of 10, tensor `t5`, NHWC 1x32x32x24\n"));
  EXPECT_THAT(text, HasSubstr("- **Cause:** `resize_coordinate_mode_wrong`, proven\n"));
  EXPECT_THAT(text,
              HasSubstr("- **Local error:** 411 bound units, max \\|error\\| 0.371 = 0.132 of max \\|reference\\|\n"));
  EXPECT_THAT(text,
              HasSubstr("- **Open:** `source/backend/qnn/execution/QNNInterp.cpp`, `align_corners of ResizeBilinear`: "
                        "`true` was used, the model means `false`\n"));
  EXPECT_THAT(text, HasSubstr("```text\nreplaying with align_corners = true gives"));
  EXPECT_THAT(text, Not(HasSubstr("### Command")));
}

TEST(Markdown, CoverageAndWhatWasNotJudgedAreThere) {
  Diagnosis d = clean_sample();
  d.operators[4].status = OpStatus::not_judged;
  d.coverage.not_judged = {{.op_index = 4, .op = "op4", .op_type = "Plugin", .reason = "type not implemented"}};
  const std::string text = to_markdown(d, "1.2.3", "");
  EXPECT_THAT(text, HasSubstr("10 operators: 9 right, 1 not judged. 9 of 10 dumped operators judged.\n"));
  EXPECT_THAT(text, HasSubstr("- `#4` `Plugin` `op4`: type not implemented\n"));
}

TEST(Markdown, LongListsAreCutAndSaySo) {
  Diagnosis d = bug_sample();
  d.findings.assign(25, d.findings[0]);
  EXPECT_THAT(to_markdown(d, "1.2.3", ""), HasSubstr("\nand 5 more findings; the document"));
}

TEST(MarkdownText, CodeSpansHoldAnyName) {
  EXPECT_EQ(markdown_code("conv1"), "`conv1`");
  EXPECT_EQ(markdown_code("a`b"), "``a`b``");
  EXPECT_EQ(markdown_code("`"), "`` ` ``");
  EXPECT_EQ(markdown_code("``x"), "``` ``x ```");
  EXPECT_EQ(markdown_code(" x "), "`  x  `");
  EXPECT_EQ(markdown_code("a\nb"), "`a\\nb`");
  EXPECT_EQ(markdown_code(""), "(no name)");
}

TEST(MarkdownText, SentencesAreTextAndReadWell) {
  EXPECT_EQ(markdown_sentence("Check bias_dropped: it is 0.5 of 3."), "Check bias_dropped: it is 0.5 of 3.");
  EXPECT_EQ(markdown_sentence("Interp `up_x` is _odd_"), "Interp `up_x` is \\_odd\\_");
  EXPECT_EQ(markdown_sentence("<b> [x](y) *z* a|b"), "\\<b\\> \\[x\\](y) \\*z\\* a\\|b");
  EXPECT_EQ(markdown_sentence("see http://x.example and www.x.example"), "see http\\://x.example and www\\.x.example");
  EXPECT_EQ(markdown_sentence("@team #12"), "\\@&#8203;team \\#&#8203;12");
  EXPECT_EQ(markdown_sentence("a `` b"), "a \\`\\` b");
  EXPECT_EQ(markdown_sentence("a ` b"), "a \\` b");
}

TEST(MarkdownText, NothingEndsABlock) {
  EXPECT_EQ(markdown_block("a\n"), "```text\na\n```\n");
  EXPECT_EQ(markdown_block("```\n"), "````text\n```\n````\n");
}

}  // namespace
}  // namespace qnndbg
