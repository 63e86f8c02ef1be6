#include "dump/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "dump/inputs.h"
#include "dump/temp_dir.h"

namespace qnndbg {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kHeader = "index\tname\tfile\tdata_type\tdimensions\tquant_encoding\tscale\toffset\n";

std::string line(const std::string& name, const std::string& file, const std::string& dims = "1x2x3") {
  return "0\t" + name + "\t" + file + "\t534\t" + dims + "\t2147483647\t0\t0\n";
}

const std::string kTwelveBytes(12, 'x');  // 1x2x3 f16

Execution read_first(const TempDir& dir) {
  auto dump = Dump::open(dir.path());
  EXPECT_TRUE(dump.has_value()) << (dump ? "" : dump.error().message);
  auto execution = dump->read(dump->numbers().front());
  EXPECT_TRUE(execution.has_value()) << (execution ? "" : execution.error().message);
  return std::move(*execution);
}

TEST(Dump, OpenRefusesWhatIsNoDump) {
  TempDir dir;
  dir.write("execution_000000_tensor_0000_t0.raw", "");
  const auto empty = Dump::open(dir.path());
  ASSERT_FALSE(empty.has_value());
  EXPECT_THAT(empty.error().message, HasSubstr("no manifest_*.tsv"));
  const auto missing = Dump::open(dir.path() / "no");
  ASSERT_FALSE(missing.has_value());
  EXPECT_THAT(missing.error().message, HasSubstr("no such dump directory"));
  EXPECT_FALSE(Dump::open(dir.write("file", "")).has_value());
}

TEST(Dump, ListsNumbersInOrderAndOnlyAsMnnSpellsThem) {
  TempDir dir;
  for (const char* name :
       {"manifest_000010.tsv", "manifest_000002.tsv", "manifest_1000000.tsv",
        "manifest_18446744073709551615.tsv",                          // 2^64 - 1
        "manifest_18446744073709551616.tsv", "manifest_0000003.tsv",  // not a number, not its spelling
        "manifest_7.tsv", "manifest_.tsv", "manifest_-00001.tsv", "manifest_000004.tsv~", "manifest_00000x.tsv",
        "Manifest_000005.tsv"}) {
    dir.write(name, "");
  }
  const auto dump = Dump::open(dir.path());
  ASSERT_TRUE(dump.has_value());
  EXPECT_THAT(dump->numbers(), ElementsAre(2, 10, 1000000, UINT64_MAX));
}

TEST(Dump, ReadsACompleteExecution) {
  TempDir dir;
  dir.write("manifest_000003.tsv", kHeader + line("t1", "a.raw") + line("t2", "sub/b.raw"));
  dir.write("a.raw", kTwelveBytes);
  dir.write("sub/b.raw", kTwelveBytes);
  const Execution execution = read_first(dir);
  EXPECT_EQ(execution.number, 3u);
  EXPECT_TRUE(execution.complete);
  EXPECT_THAT(execution.problems, IsEmpty());
  ASSERT_THAT(execution.entries, SizeIs(2));
  const auto mapped = Dump::map(execution.entries[0]);
  ASSERT_TRUE(mapped.has_value());
  EXPECT_EQ(mapped->bytes().size(), 12u);
}

TEST(Dump, UnusableFilesAreProblemsOfTheirEntries) {
  TempDir dir, outside;
  const fs::path secret = outside.write("secret.raw", kTwelveBytes);
  dir.write("manifest_000000.tsv", kHeader + line("missing", "missing.raw") + line("empty", "empty.raw") +
                                       line("short", "short.raw") + line("long", "long.raw") +
                                       line("directory", "folder") + line("pipe", "pipe") + line("link", "link.raw") +
                                       line("linked", "linked/secret.raw") + line("loop", "loop") +
                                       line("good", "good.raw"));
  dir.write("empty.raw", "");
  dir.write("short.raw", std::string(11, 'x'));
  dir.write("long.raw", std::string(13, 'x'));
  dir.write("good.raw", kTwelveBytes);
  fs::create_directory(dir.path() / "folder");
  ASSERT_EQ(::mkfifo((dir.path() / "pipe").c_str(), 0600), 0);
  fs::create_symlink(secret, dir.path() / "link.raw");
  fs::create_directory_symlink(outside.path(), dir.path() / "linked");
  fs::create_symlink("loop", dir.path() / "loop");

  const Execution execution = read_first(dir);
  EXPECT_FALSE(execution.complete);
  EXPECT_THAT(execution.problems,
              ElementsAre("manifest_000000.tsv:2: 'missing.raw' is missing",
                          "manifest_000000.tsv:3: 'empty.raw' has 0 bytes, 1x2x3 f16 needs 12",
                          "manifest_000000.tsv:4: 'short.raw' has 11 bytes, 1x2x3 f16 needs 12",
                          "manifest_000000.tsv:5: 'long.raw' has 13 bytes, 1x2x3 f16 needs 12",
                          "manifest_000000.tsv:6: 'folder' is not a regular file",
                          "manifest_000000.tsv:7: 'pipe' is not a regular file",
                          HasSubstr(":8: file name 'link.raw' leads out of the directory through a symbolic link"),
                          HasSubstr(":9: file name 'linked/secret.raw' leads out of the directory"),
                          HasSubstr("manifest_000000.tsv:10: ")));
  ASSERT_THAT(execution.entries, SizeIs(10));
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(execution.entries[i].problem, execution.problems[i]);
    const auto mapped = Dump::map(execution.entries[i]);
    ASSERT_FALSE(mapped.has_value());
    EXPECT_EQ(mapped.error().message, execution.problems[i]);
  }
  EXPECT_EQ(execution.entries[9].problem, "");
  EXPECT_TRUE(Dump::map(execution.entries[9]).has_value());
}

TEST(Dump, LinksThatStayInsideAreFollowed) {
  TempDir dir;
  dir.write("manifest_000000.tsv", kHeader + line("t1", "link.raw"));
  dir.write("sub/data.raw", kTwelveBytes);
  fs::create_symlink("sub/data.raw", dir.path() / "link.raw");
  EXPECT_TRUE(read_first(dir).complete);
  // The dump directory itself may be a link too.
  fs::create_directory_symlink(dir.path(), dir.path() / "again");
  const auto dump = Dump::open(dir.path() / "again");
  ASSERT_TRUE(dump.has_value());
  const auto execution = dump->read(0);
  ASSERT_TRUE(execution.has_value());
  EXPECT_TRUE(execution->complete);
}

TEST(Dump, ManifestsThatCannotBeReadAreErrors) {
  TempDir dir, outside;
  fs::create_directory(dir.path() / "manifest_000000.tsv");
  fs::create_symlink(outside.write("m.tsv", kHeader), dir.path() / "manifest_000001.tsv");
  ASSERT_EQ(::mkfifo((dir.path() / "manifest_000002.tsv").c_str(), 0600), 0);
  dir.write("manifest_000003.tsv", "");
  fs::resize_file(dir.path() / "manifest_000003.tsv", 17u << 20);  // sparse
  const auto dump = Dump::open(dir.path());
  ASSERT_TRUE(dump.has_value());
  EXPECT_THAT(dump->read(0).error().message, HasSubstr("not a regular file"));
  EXPECT_THAT(dump->read(1).error().message, HasSubstr("leads out of the directory through a symbolic link"));
  EXPECT_THAT(dump->read(2).error().message, HasSubstr("not a regular file"));
  EXPECT_THAT(dump->read(3).error().message, HasSubstr("too many for a manifest"));
  EXPECT_THAT(dump->read(4).error().message, HasSubstr("no execution 4 in the dump (there: 0 to 3)"));
  EXPECT_FALSE(dump->read_last_complete().has_value());
}

TEST(Dump, LastCompleteExecutionWins) {
  TempDir dir;
  dir.write("a.raw", kTwelveBytes);
  dir.write("manifest_000000.tsv", kHeader + line("t0", "a.raw"));
  dir.write("manifest_000001.tsv", kHeader + line("t1", "a.raw"));
  dir.write("manifest_000002.tsv", kHeader + line("t2", "missing.raw"));
  dir.write("manifest_000003.tsv", kHeader.substr(0, 20));
  const auto dump = Dump::open(dir.path());
  ASSERT_TRUE(dump.has_value());
  const auto execution = dump->read_last_complete();
  ASSERT_TRUE(execution.has_value());
  EXPECT_EQ(execution->number, 1u);
  EXPECT_TRUE(execution->complete);
}

TEST(Dump, WithoutACompleteExecutionTheLastOneCarriesItsProblems) {
  TempDir dir;
  dir.write("manifest_000000.tsv", kHeader + line("t0", "missing0.raw"));
  dir.write("manifest_000001.tsv", kHeader + line("t1", "missing1.raw"));
  const auto dump = Dump::open(dir.path());
  ASSERT_TRUE(dump.has_value());
  const auto execution = dump->read_last_complete();
  ASSERT_TRUE(execution.has_value());
  EXPECT_EQ(execution->number, 1u);
  EXPECT_FALSE(execution->complete);
  EXPECT_THAT(execution->problems, ElementsAre(HasSubstr("missing1.raw")));
}

TEST(Dump, MapNoticesAFileThatChanged) {
  TempDir dir;
  dir.write("manifest_000000.tsv", kHeader + line("t1", "a.raw"));
  dir.write("a.raw", kTwelveBytes);
  const Execution execution = read_first(dir);
  dir.write("a.raw", "shorter");
  const auto mapped = Dump::map(execution.entries[0]);
  ASSERT_FALSE(mapped.has_value());
  EXPECT_THAT(mapped.error().message, HasSubstr("'a.raw' has 7 bytes, 1x2x3 f16 needs 12"));
}

TEST(Dump, ThousandsOfFilesAreListedQuickly) {
  TempDir dir;
  std::string manifest = kHeader;
  for (int i = 0; i < 5000; ++i) {
    const std::string file = fmt::format("execution_000000_tensor_{:04}_t{}.raw", i, i);
    dir.write(file, kTwelveBytes);
    manifest += line(fmt::format("t{}", i), file);
  }
  dir.write("manifest_000000.tsv", manifest);
  const auto start = std::chrono::steady_clock::now();
  const Execution execution = read_first(dir);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(execution.complete);
  EXPECT_THAT(execution.entries, SizeIs(5000));
  EXPECT_LT(seconds.count(), 2.0);  // measured: 0.03 s
}

TEST(ResolveInside, RefusesWhatLeaves) {
  TempDir dir, outside;
  dir.write("sub/file", "");
  fs::create_directory_symlink(outside.path(), dir.path() / "out");
  fs::create_directory_symlink(dir.path(), dir.path() / "self");
  const auto allowed = [&](std::string_view name) { return resolve_inside(dir.path(), name).has_value(); };
  EXPECT_TRUE(allowed("sub/file"));
  EXPECT_TRUE(allowed("sub/not-there-yet"));
  EXPECT_TRUE(allowed("./sub/./file"));
  EXPECT_TRUE(allowed("..data"));
  EXPECT_TRUE(allowed("self/sub/file"));
  EXPECT_EQ(*resolve_inside(dir.path(), "sub/file"), dir.path() / "sub/file");
  EXPECT_FALSE(allowed(""));
  EXPECT_FALSE(allowed("/etc/passwd"));
  EXPECT_FALSE(allowed((dir.path() / "sub/file").string()));
  EXPECT_FALSE(allowed(".."));
  EXPECT_FALSE(allowed("sub/../../x"));
  EXPECT_FALSE(allowed("sub/.."));
  EXPECT_FALSE(allowed("out"));
  EXPECT_FALSE(allowed("out/x"));
  EXPECT_FALSE(allowed(std::string_view("a\0b", 3)));
  // A sibling that only begins with the directory's name is not inside it.
  const fs::path sibling = dir.path().string() + "-sibling";
  fs::create_directories(sibling);
  fs::create_directory_symlink(sibling, dir.path() / "sibling");
  EXPECT_FALSE(allowed("sibling"));
  fs::remove_all(sibling);
}

}  // namespace
}  // namespace qnndbg
