#include "report/style.h"

#include <gtest/gtest.h>

#include <limits>

#include "report/sparkline.h"
#include "report/table.h"

namespace qnndbg {
namespace {

TEST(TerminalSafe, EscapesWhatCouldDriveATerminal) {
  EXPECT_EQ(terminal_safe("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(terminal_safe("\x1b[31mred\x07\x7f"), "\\x1b[31mred\\x07\\x7f");
  EXPECT_EQ(terminal_safe("\xc2\x9b"
                          "31m"),
            "\\x9b31m");  // CSI as one character
  EXPECT_EQ(terminal_safe("abc\xe2\x80\xae"
                          "cba"),
            "abc\\u202ecba");  // right-to-left override
  EXPECT_EQ(terminal_safe("\xff\xfe half \xe4\xb8"), "\\xff\\xfe half \\xe4\\xb8");
}

TEST(TerminalSafe, KeepsOrdinaryText) {
  EXPECT_EQ(terminal_safe("conv2d_61/BiasAdd:0"), "conv2d_61/BiasAdd:0");
  EXPECT_EQ(terminal_safe("\"quoted\" C:\\model"), "\"quoted\" C:\\model");
  EXPECT_EQ(terminal_safe("中文 é"), "中文 é");
  EXPECT_EQ(terminal_safe(""), "");
}

TEST(TerminalSafe, CutsTextsThatNobodyReads) {
  const std::string cut = terminal_safe(std::string(1'000'000, 'x'));
  EXPECT_LT(cut.size(), 5000U);
  EXPECT_NE(cut.find("(1000000 bytes)"), std::string::npos);
}

TEST(Shorten, LosesTheMiddle) {
  EXPECT_EQ(shorten("backbone/block3/conv2d_61", 15, true), "backbon…nv2d_61");
  EXPECT_EQ(shorten("backbone/block3/conv2d_61", 15, false), "backbo...v2d_61");
  EXPECT_EQ(shorten("short", 15, true), "short");
  EXPECT_EQ(shorten("abcdef", 2, false), "ab");
}

TEST(Shorten, NeverCutsACharacterAndCountsWideOnesTwice) {
  for (std::size_t columns = 0; columns < 20; ++columns) {
    const std::string cut = shorten("中文字符的名字很长很长", columns, true);
    EXPECT_LE(columns_of(cut), columns);
    EXPECT_EQ(terminal_safe(cut), cut) << "not valid UTF-8 at " << columns;
  }
}

TEST(Shorten, IsQuickOnHugeNames) { EXPECT_EQ(columns_of(shorten(std::string(20'000'000, 'x'), 40, true)), 40U); }

TEST(Figure, HasThreeDigitsAndNoFiller) {
  EXPECT_EQ(figure(0), "0");
  EXPECT_EQ(figure(1), "1");
  EXPECT_EQ(figure(0.37), "0.37");
  EXPECT_EQ(figure(411.26), "411");
  EXPECT_EQ(figure(1234.5), "1230");
  EXPECT_EQ(figure(999.7), "1000");
  EXPECT_EQ(figure(0.0161), "0.0161");
  EXPECT_EQ(figure(0.00161), "1.61e-3");
  EXPECT_EQ(figure(0.0099999), "0.01");
  EXPECT_EQ(figure(131008), "1.31e5");
  EXPECT_EQ(figure(-2.5e-7), "-2.5e-7");
  EXPECT_EQ(figure(100), "100");
  EXPECT_EQ(figure(std::numeric_limits<double>::infinity()), "not finite");
  EXPECT_EQ(figure(std::numeric_limits<double>::quiet_NaN()), "not finite");
  EXPECT_EQ(figure(std::numeric_limits<double>::denorm_min()), "4.94e-324");
}

TEST(Wrap, BreaksAtSpacesAndIndents) {
  EXPECT_EQ(wrap("one two three four", 2, 10), "one two\n  three\n  four");
  EXPECT_EQ(wrap("averyveryverylongword x", 0, 5), "averyveryverylongword\nx");
  EXPECT_EQ(wrap("", 4, 20), "");
}

TEST(Plural, CountsOne) {
  EXPECT_EQ(plural(1, "operator"), "1 operator");
  EXPECT_EQ(plural(0, "operator"), "0 operators");
}

TEST(Paint, IsNothingWithoutColour) {
  TextStyle style;
  EXPECT_EQ(paint(style, Paint::error, "x"), "x");
  style.color = true;
  EXPECT_EQ(paint(style, Paint::error, "x"), "\x1b[1;31mx\x1b[0m");
  EXPECT_EQ(paint(style, Paint::none, "x"), "x");
}

TEST(Sparkline, ShowsTheWorstOfEachGroupOnALogScale) {
  const Sparkline line = sparkline({0.1, 10.0, std::nullopt, std::nullopt, 0.05, 1.0}, 3);
  EXPECT_EQ(line.group, 2U);
  EXPECT_EQ(line.blocks, "█·▅");
  EXPECT_EQ(line.high, 10);
}

TEST(Sparkline, ShowsWhatIsNotFiniteAsTheHighest) {
  EXPECT_EQ(sparkline({std::numeric_limits<double>::quiet_NaN(), 0.1}, 2).blocks, "█▁");
  EXPECT_EQ(sparkline({std::numeric_limits<double>::infinity(), 100.0, 0.1}, 1).blocks, "█");
  EXPECT_EQ(sparkline({}, 10).blocks, "");
}

TEST(Table, AlignsAndShortens) {
  TextStyle style;
  style.width = 30;
  const std::vector<TableColumn> columns = {
      {.title = "#", .right = true}, {.title = "name", .shortens = true}, {.title = "error", .right = true}};
  const std::string table = render_table(
      style, columns, {{.cells = {"#1", "backbone/block3/conv2d_61", "0.5"}}, {.cells = {"#10", "x", "411"}}}, 1);
  EXPECT_EQ(table,
            "   #  name               error\n"
            "  #1  backbone…onv2d_61    0.5\n"
            " #10  x                    411\n");
}

}  // namespace
}  // namespace qnndbg
