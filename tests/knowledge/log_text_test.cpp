#include "knowledge/log_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace qnndbg {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Property;
using testing::SizeIs;

// --- Control sequences -----------------------------------------------------------------------------------------------

TEST(ControlSequences, ColoursAndCursorsGo) {
  EXPECT_EQ(without_control_sequences("\x1b[31mer\x1b[0mror\x1b[K 6001\x1b[?25h"), "error 6001");
  EXPECT_EQ(without_control_sequences("\x1b[38;2;255;0;0mred\x1b[m"), "red");
}

TEST(ControlSequences, TitlesAndLinksGo) {
  EXPECT_EQ(without_control_sequences("\x1b]0;adb shell\x07$ run"), "$ run");
  EXPECT_EQ(without_control_sequences("\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\"), "text");
}

TEST(ControlSequences, ATitleThatNeverEndsTakesOnlyItsIntroducer) {
  EXPECT_EQ(without_control_sequences("\x1b]error 6001"), "error 6001");
  EXPECT_EQ(without_control_sequences("\x1b]title\nerror\x07"), "title\nerror\x07");
}

TEST(ControlSequences, OnesThatAreCutOffTakeNoNewline) {
  EXPECT_EQ(without_control_sequences("a\x1b\nb\x1b[3\nc\x1b"), "a\nb\nc");
}

TEST(ControlSequences, Utf16BecomesReadable) {
  const std::string text = "err \x1b[31m1002\x1b[0m\n";
  std::string wide;
  for (const char c : text) wide += {c, '\0'};
  EXPECT_EQ(without_control_sequences(wide), "err 1002\n");
}

TEST(ControlSequences, OtherBytesStay) {
  std::string text;
  for (int c = 1; c < 256; ++c)
    if (c != 0x1b) text += static_cast<char>(c);
  EXPECT_EQ(without_control_sequences(text), text);
}

// --- Printable text --------------------------------------------------------------------------------------------------

TEST(PrintableLine, TrimsAndBlanksControlCharacters) {
  EXPECT_EQ(printable_line(" \t\ra\tb\x01"
                           "c\x7f.\r\n",
                           100),
            "a b c .");
  EXPECT_EQ(printable_line("", 100), "");
  EXPECT_EQ(printable_line(" \r\n", 100), "");
}

TEST(PrintableLine, KeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(printable_line("Größe 大 \U0001F600", 100), "Größe 大 \U0001F600");
  EXPECT_EQ(printable_line("a\xff\xc3(", 100), "a\ufffd\ufffd(");
  EXPECT_EQ(printable_line("\xed\xa0\x80", 100), "\ufffd\ufffd\ufffd") << "a surrogate is no character";
  EXPECT_EQ(printable_line("\xc0\xaf", 100), "\ufffd\ufffd") << "overlong";
  EXPECT_EQ(printable_line("\xf4\x90\x80\x80", 100), "\ufffd\ufffd\ufffd\ufffd") << "beyond U+10FFFF";
  EXPECT_EQ(printable_line("cut \xe5\xa4", 100), "cut \ufffd\ufffd");
}

TEST(PrintableLine, CutsBetweenCharacters) {
  EXPECT_EQ(printable_line("abcdef", 6), "abcdef");
  EXPECT_EQ(printable_line("abcdefg", 6), "abcdef\u2026");
  EXPECT_EQ(printable_line("aaaa大大", 5), "aaaa大\u2026");
}

// --- Blocks ----------------------------------------------------------------------------------------------------------

using Blocks = std::vector<std::string>;

/// What comes out when `text` is fed in portions that end at `cuts`.
Blocks blocks_of(std::string_view text, std::vector<std::size_t> cuts = {}) {
  Blocks blocks;
  LineBlocks cutter([&](std::string_view block) { blocks.emplace_back(block); });
  cuts.push_back(text.size());
  std::size_t from = 0;
  for (const std::size_t cut : cuts) {
    cutter.feed(text.substr(from, cut - from));
    from = cut;
  }
  cutter.finish();
  return blocks;
}

/// Lines and pieces of lines: what readers of blocks see, however blocks are put together.
Blocks pieces_of(const Blocks& blocks) {
  Blocks pieces;
  for (std::string_view block : blocks) {
    while (!block.empty()) {
      const std::size_t length = std::min(block.find('\n'), block.size() - 1) + 1;
      pieces.emplace_back(block.substr(0, length));
      block.remove_prefix(length);
    }
  }
  return pieces;
}

std::string joined(const Blocks& blocks) {
  std::string text;
  for (const std::string& block : blocks) text += block;
  return text;
}

TEST(LineBlocks, EndAtLineEnds) {
  EXPECT_THAT(blocks_of("a\nb\nc"), ElementsAre("a\nb\n", "c"));
  EXPECT_THAT(blocks_of("a\nb\n", {1}), ElementsAre("a\n", "b\n"));
  EXPECT_THAT(blocks_of(""), IsEmpty());
}

TEST(LineBlocks, NothingIsHandedOverOfControlSequencesAlone) {
  // A program that resets its colours at the end leaves a last line without text.
  EXPECT_THAT(blocks_of("done\n\x1b[0m"), ElementsAre("done\n"));
  EXPECT_THAT(blocks_of("\0\0"s), IsEmpty());
  EXPECT_THAT(blocks_of("\0\n"s), ElementsAre("\n"));
}

TEST(LineBlocks, LongLinesAreCutAtBlanksAndLoseNothing) {
  std::string words;
  while (words.size() < 3 * kMaxLinePiece) words += "word ";
  const Blocks blocks = blocks_of(words + "\nnext\n");
  EXPECT_THAT(blocks, Each(SizeIs(testing::Le(kMaxLinePiece))));
  EXPECT_EQ(joined(blocks), words + "\nnext\n");
  EXPECT_EQ(blocks[0].back(), ' ');
  EXPECT_EQ(blocks[1].back(), ' ');
}

TEST(LineBlocks, TheLongestLineThatIsNotCut) {
  const std::string longest = std::string(kMaxLinePiece - 1, 'x') + '\n';
  EXPECT_THAT(blocks_of(longest + longest), ElementsAre(longest, longest));
  const std::string cut = std::string(kMaxLinePiece, 'x') + '\n';
  EXPECT_THAT(blocks_of(cut), ElementsAre(std::string(kMaxLinePiece, 'x'), "\n"));
  const std::string open(kMaxLinePiece, 'x');
  EXPECT_THAT(blocks_of(open), ElementsAre(open));
}

TEST(LineBlocks, PortionsDoNotMatter) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    const int lines = static_cast<int>(random() % 12);
    for (int i = 0; i < lines; ++i) {
      const std::size_t length = random() % 8 == 0 ? random() % (3 * kMaxLinePiece) : random() % 100;
      for (std::size_t k = 0; k < length; ++k)
        text += random() % 30 == 0 ? ' ' : static_cast<char>('a' + random() % 26);
      if (i + 1 < lines || random() % 2 == 0) text += '\n';
    }
    std::vector<std::size_t> cuts;
    for (std::size_t i = random() % 40; i > 0; --i) cuts.push_back(random() % (text.size() + 1));
    std::sort(cuts.begin(), cuts.end());
    ASSERT_EQ(pieces_of(blocks_of(text, cuts)), pieces_of(blocks_of(text))) << "round " << round;
    ASSERT_EQ(joined(blocks_of(text, cuts)), text);
  }
}

TEST(LineBlocks, SingleBytes) {
  const std::string text = "one\n" + std::string(2 * kMaxLinePiece + 7, 'y') + "\r\nlast";
  std::vector<std::size_t> every;
  for (std::size_t i = 1; i < text.size(); ++i) every.push_back(i);
  EXPECT_EQ(pieces_of(blocks_of(text, every)), pieces_of(blocks_of(text)));
}

}  // namespace
}  // namespace qnndbg
