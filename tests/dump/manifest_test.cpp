#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "dump/dump.h"

namespace qnndbg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::string_literals;

const std::string kHeader = "index\tname\tfile\tdata_type\tdimensions\tquant_encoding\tscale\toffset\n";
const std::string kGood = "0\tt91\ta.raw\t562\t1x10\t2147483647\t0\t0\n";

Execution parse(std::string_view text) { return parse_manifest(text, "/dump/manifest_000000.tsv", "/dump"); }

/// Parses a manifest whose second line is a good one, whose third is `line`, and whose fourth is good again, and
/// returns the third's entry after checking that the other two did not suffer.
DumpEntry between_good_lines(const std::string& line) {
  const Execution execution = parse(kHeader + kGood + line + "2\tt92\tb.raw\t534\t2x3\t2147483647\t0\t0\n");
  EXPECT_THAT(execution.entries, SizeIs(3));
  if (execution.entries.size() != 3) return {};
  EXPECT_EQ(execution.entries[0].problem, "");
  EXPECT_EQ(execution.entries[2].problem, "");
  EXPECT_EQ(execution.entries[2].dims, (Dims{2, 3}));
  const DumpEntry& entry = execution.entries[1];
  EXPECT_EQ(execution.complete, entry.problem.empty());
  if (entry.problem.empty()) {
    EXPECT_THAT(execution.problems, IsEmpty());
  } else {
    EXPECT_THAT(execution.problems, ElementsAre(entry.problem));
    EXPECT_THAT(entry.problem, testing::StartsWith("manifest_000000.tsv:3: "));
  }
  return entry;
}

TEST(Manifest, ReadsEveryColumn) {
  const Execution execution = parse(kHeader + "7\tstem_c_ReluTensor\tx.raw\t776\t1x32x32x16\t0\t0.0196531266\t-3\n");
  EXPECT_TRUE(execution.complete);
  EXPECT_THAT(execution.problems, IsEmpty());
  EXPECT_EQ(execution.manifest, "/dump/manifest_000000.tsv");
  ASSERT_THAT(execution.entries, SizeIs(1));
  const DumpEntry& entry = execution.entries[0];
  EXPECT_EQ(entry.line, 2);
  EXPECT_EQ(entry.name, "stem_c_ReluTensor");
  EXPECT_EQ(entry.file, "/dump/x.raw");
  EXPECT_EQ(entry.type, DType::sfixed8);
  EXPECT_EQ(entry.dims, (Dims{1, 32, 32, 16}));
  EXPECT_EQ(entry.quant_encoding, 0u);
  ASSERT_TRUE(entry.encoding.has_value());
  EXPECT_DOUBLE_EQ(entry.encoding->scale, 0.0196531266);
  EXPECT_EQ(entry.encoding->offset, -3);
  EXPECT_EQ(entry.problem, "");
}

TEST(Manifest, OnlyEncodingZeroHasScaleAndOffset) {
  for (const char* encoding : {"1", "2", "3", "4", "5", "2147483647"}) {
    const DumpEntry entry = between_good_lines("1\tt5\tc.raw\t776\t4\t"s + encoding + "\t0\t0\n");
    EXPECT_FALSE(entry.encoding.has_value()) << encoding;
    EXPECT_EQ(std::to_string(entry.quant_encoding), encoding);
    EXPECT_EQ(entry.problem, "");
  }
}

TEST(Manifest, NoExtentsAreAScalar) {
  EXPECT_THAT(between_good_lines("1\tt5\tc.raw\t562\t\t2147483647\t0\t0\n").dims, IsEmpty());
}

// A scale that no quantizer can have is a finding about the run, not a reason to drop the tensor.
TEST(Manifest, KeepsScalesThatAreNoScales) {
  for (const char* scale : {"nan", "-nan", "inf", "0", "-0.5"}) {
    const DumpEntry entry = between_good_lines("1\tt5\tc.raw\t776\t4\t0\t"s + scale + "\t0\n");
    EXPECT_EQ(entry.problem, "") << scale;
    ASSERT_TRUE(entry.encoding.has_value()) << scale;
    EXPECT_FALSE(entry.encoding->scale > 0 && std::isfinite(entry.encoding->scale)) << scale;
  }
}

struct BadLine {
  const char* what;
  std::string line;
  const char* message;
};
void PrintTo(const BadLine& bad, std::ostream* out) { *out << bad.what; }

class ManifestBadLine : public testing::TestWithParam<BadLine> {};

TEST_P(ManifestBadLine, IsAProblemOfItsEntryAlone) {
  EXPECT_THAT(between_good_lines(GetParam().line).problem, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, ManifestBadLine,
    testing::Values(
        BadLine{"empty", "\n", "1 columns instead of 8"},
        BadLine{"too few", "1\tt5\tc.raw\t562\t4\t2147483647\t0\n", "7 columns instead of 8"},
        BadLine{"too many", "1\tt5\tc.raw\t562\t4\t2147483647\t0\t0\tx\n", "9 columns instead of 8"},
        BadLine{"index", "one\tt5\tc.raw\t562\t4\t2147483647\t0\t0\n", "index 'one' is not a number"},
        BadLine{"no name", "1\t\tc.raw\t562\t4\t2147483647\t0\t0\n", "the name is empty"},
        BadLine{"long name", "1\t" + std::string(2000, 'n') + "\tc.raw\t562\t4\t2147483647\t0\t0\n",
                "longer than 1024"},
        BadLine{"duplicate", "1\tt91\tc.raw\t562\t4\t2147483647\t0\t0\n", "'t91' is already taken"},
        BadLine{"no file", "1\tt5\t\t562\t4\t2147483647\t0\t0\n", "the file name is empty"},
        BadLine{"absolute file", "1\tt5\t/etc/passwd\t562\t4\t2147483647\t0\t0\n", "'/etc/passwd' is absolute"},
        BadLine{"parent", "1\tt5\t../c.raw\t562\t4\t2147483647\t0\t0\n", "'../c.raw' leads out of the directory"},
        BadLine{"inner parent", "1\tt5\ta/../c.raw\t562\t4\t2147483647\t0\t0\n", "leads out of the directory"},
        BadLine{"type number", "1\tt5\tc.raw\t561\t4\t2147483647\t0\t0\n", "data_type '561'"},
        BadLine{"type text", "1\tt5\tc.raw\tfp16\t4\t2147483647\t0\t0\n", "data_type 'fp16'"},
        BadLine{"huge type", "1\tt5\tc.raw\t4294967830\t4\t2147483647\t0\t0\n", "data_type '4294967830'"},
        BadLine{"dims text", "1\tt5\tc.raw\t562\t1xfour\t2147483647\t0\t0\n", "dimensions '1xfour' do not parse"},
        BadLine{"dims gap", "1\tt5\tc.raw\t562\t1xx4\t2147483647\t0\t0\n", "dimensions '1xx4' do not parse"},
        BadLine{"dims end", "1\tt5\tc.raw\t562\t1x4x\t2147483647\t0\t0\n", "dimensions '1x4x' do not parse"},
        BadLine{"dims space", "1\tt5\tc.raw\t562\t1 x4\t2147483647\t0\t0\n", "do not parse"},
        BadLine{"negative", "1\tt5\tc.raw\t562\t1x-4\t2147483647\t0\t0\n", "'1x-4' have an extent below one"},
        BadLine{"zero", "1\tt5\tc.raw\t562\t1x0\t2147483647\t0\t0\n", "'1x0' have an extent below one"},
        BadLine{"beyond 64 bits", "1\tt5\tc.raw\t562\t99999999999999999999\t2147483647\t0\t0\n", "do not parse"},
        BadLine{"absurd", "1\tt5\tc.raw\t562\t65536x65536x65536x65536\t2147483647\t0\t0\n", "65536"},
        BadLine{"rank", "1\tt5\tc.raw\t562\t1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1\t2147483647\t0\t0\n",
                "more than 16 axes"},
        BadLine{"encoding", "1\tt5\tc.raw\t562\t4\t-1\t0\t0\n", "quant_encoding '-1' is not a number"},
        BadLine{"scale", "1\tt5\tc.raw\t776\t4\t0\t0.1x\t0\n", "scale '0.1x' is not a number"},
        BadLine{"no scale", "1\tt5\tc.raw\t776\t4\t0\t\t0\n", "scale '' is not a number"},
        BadLine{"offset", "1\tt5\tc.raw\t776\t4\t0\t0.1\t0.5\n", "offset '0.5' is not a 32-bit integer"},
        BadLine{"wide offset", "1\tt5\tc.raw\t776\t4\t0\t0.1\t4294967296\n",
                "offset '4294967296' is not a 32-bit integer"},
        BadLine{"CRLF", "1\tt5\tc.raw\t562\t4\t2147483647\t0\t0\r\n", "ends in CRLF, unlike the header"},
        BadLine{"NUL in the name", "1\tt5\0\tc.raw\t562\t4\t2147483647\t0\t0\n"s, "holds a NUL byte"},
        BadLine{"NUL in the file", "1\tt5\tc.raw\0.x\t562\t4\t2147483647\t0\t0\n"s, "holds a NUL byte"}));

TEST(Manifest, ControlCharactersDoNotReachTheTerminal) {
  const DumpEntry entry = between_good_lines("1\tt5\tc.raw\t\x1b[2J\t4\t2147483647\t0\t0\n");
  EXPECT_THAT(entry.problem, HasSubstr("'\\x1b[2J'"));
  EXPECT_THAT(entry.problem, testing::Not(HasSubstr("\x1b")));
}

TEST(Manifest, WrongHeaderLeavesNoEntries) {
  for (const std::string& text :
       {"index\tname\tfile\n" + kGood, "#" + kHeader + kGood, "\xEF\xBB\xBF" + kHeader + kGood, kGood,
        "\n" + kHeader + kGood, std::string(100'000, '\0')}) {
    const Execution execution = parse(text);
    EXPECT_FALSE(execution.complete);
    EXPECT_THAT(execution.entries, IsEmpty());
    EXPECT_THAT(execution.problems, ElementsAre(HasSubstr("manifest_000000.tsv:1: not the header")));
  }
}

TEST(Manifest, EmptyAndHeaderOnlyFilesAreNotComplete) {
  EXPECT_THAT(parse("").problems, ElementsAre(HasSubstr("manifest_000000.tsv:1: is empty")));
  EXPECT_FALSE(parse("").complete);
  EXPECT_THAT(parse(kHeader).problems, ElementsAre(HasSubstr("lists no tensor")));
  EXPECT_FALSE(parse(kHeader).complete);
  const std::string cut = kHeader.substr(0, kHeader.size() - 1);
  EXPECT_THAT(parse(cut).problems, ElementsAre(HasSubstr("cut off after the header")));
  EXPECT_FALSE(parse(cut).complete);
}

TEST(Manifest, TornLastLineIsKeptOnlyIfWhole) {
  const Execution whole = parse(kHeader + kGood + "1\tt5\tc.raw\t562\t4\t2147483647\t0\t0");
  EXPECT_FALSE(whole.complete);
  ASSERT_THAT(whole.entries, SizeIs(2));
  EXPECT_EQ(whole.entries[1].problem, "");
  EXPECT_THAT(whole.problems, ElementsAre(HasSubstr("manifest_000000.tsv:3: the last line has no newline")));

  const std::string line = "1\tt5\tc.raw\t562\t4\t2147483647\t0\t0";
  for (std::size_t length = 1; length < line.size(); ++length) {
    const Execution torn = parse(kHeader + kGood + line.substr(0, length));
    EXPECT_FALSE(torn.complete) << length;
    EXPECT_THAT(torn.entries, SizeIs(1)) << length;
    EXPECT_THAT(torn.problems, ElementsAre(HasSubstr("manifest_000000.tsv:3: the last line is cut off"))) << length;
  }
}

TEST(Manifest, TornOffsetIsNotTrusted) {
  const Execution torn = parse(kHeader + "0\tt5\tc.raw\t776\t4\t0\t0.5\t-12");
  ASSERT_THAT(torn.entries, SizeIs(1));
  EXPECT_THAT(torn.entries[0].problem, HasSubstr("its offset may be incomplete"));
}

TEST(Manifest, CrlfThroughoutIsReadAndSaid) {
  std::string text = kHeader + kGood;
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, "\r");
  const Execution execution = parse(text);
  EXPECT_TRUE(execution.complete);
  ASSERT_THAT(execution.entries, SizeIs(1));
  EXPECT_EQ(execution.entries[0].problem, "");
  EXPECT_THAT(execution.problems, ElementsAre(HasSubstr("lines end in CRLF")));
}

TEST(Manifest, AFileThatIsNoManifestBelowItsHeaderIsGivenUp) {
  const Execution execution = parse(kHeader + std::string(1'000'000, '\n'));
  EXPECT_FALSE(execution.complete);
  EXPECT_THAT(execution.problems, SizeIs(1001));
  EXPECT_THAT(execution.problems.back(), HasSubstr("the rest of the file is not read"));
}

}  // namespace
}  // namespace qnndbg
