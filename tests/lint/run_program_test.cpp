#include "lint/run_program.h"

#include "lint/made_up_files.h"

namespace qnndbg::lint {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLong{20000};

using RunProgramTest = LintTest;

Result<ProgramOutput> shell(const std::string& script, milliseconds limit = kLong) {
  return run_program("/bin/sh", {"-c", script}, limit);
}

TEST(RunProgram, ReturnsOutputAndStatus) {
  const Result<ProgramOutput> output = shell("echo out; echo err >&2; exit 3");
  ASSERT_TRUE(output.has_value());
  EXPECT_EQ(output->text, "out\nerr\n");
  EXPECT_EQ(output->status, 3);
}

TEST(RunProgram, ASignalIsAStatus) { EXPECT_EQ(shell("kill -9 $$").value().status, 128 + 9); }

TEST(RunProgram, HasNoInput) { EXPECT_EQ(shell("cat; echo end").value().text, "end\n"); }

TEST(RunProgram, ArgumentsReachNoShell) {
  EXPECT_EQ(run_program("/bin/echo", {"$HOME; exit", "`id`"}, kLong).value().text, "$HOME; exit `id`\n");
}

TEST(RunProgram, IsKilledWithItsChildrenWhenItTakesTooLong) {
  const auto begin = steady_clock::now();
  const Result<ProgramOutput> output = shell("sleep 60; echo done", milliseconds(200));
  ASSERT_FALSE(output.has_value());
  EXPECT_EQ(output.error().message, "/bin/sh did not end within 0.2 s");
  EXPECT_LT(steady_clock::now() - begin, milliseconds(10000));
}

TEST(RunProgram, IsStoppedOnRequest) {
  const auto begin = steady_clock::now();
  const Result<ProgramOutput> output = run_program("/bin/sleep", {"60"}, kLong, [] { return true; });
  ASSERT_FALSE(output.has_value());
  EXPECT_EQ(output.error().message, "/bin/sleep was stopped");
  EXPECT_LT(steady_clock::now() - begin, milliseconds(10000));
}

TEST(RunProgram, ADaemonThatKeepsTheOutputOpenIsNotWaitedFor) {
  const auto begin = steady_clock::now();
  EXPECT_EQ(shell("sleep 15 & echo started").value().text, "started\n");
  EXPECT_LT(steady_clock::now() - begin, milliseconds(10000));
}

TEST(RunProgram, KeepsTheBeginningOfALongOutput) {
  const Result<ProgramOutput> output = shell("head -c 3000000 /dev/zero");
  ASSERT_TRUE(output.has_value());
  EXPECT_EQ(output->text.size(), std::size_t{256} << 10U);
  EXPECT_EQ(output->status, 0);
}

TEST_F(RunProgramTest, WhatCannotBeStartedIsAnError) {
  EXPECT_FALSE(run_program((root_ / "missing").string(), {}, kLong).has_value());
  EXPECT_FALSE(run_program(write("plain", "text").string(), {}, kLong).has_value());
}

TEST_F(RunProgramTest, FindsTheFirstExecutableFileOfAPath) {
  write("one/tool", "not executable");
  std::filesystem::create_directories(root_ / "two/tool");
  const std::string tool = write_program("three/tool", "#!/bin/sh\n").string();
  const std::string path = fmt::format("{0}/one:{0}/two::{0}/three", root_.string());
  EXPECT_EQ(find_program(path, "tool"), tool);
  EXPECT_EQ(find_program(path, "other"), "");
  EXPECT_EQ(find_program("", "tool"), "");
}

TEST_F(RunProgramTest, NeverFindsProgramsOfTheWorkingDirectory) {
  write_program("tool", "#!/bin/sh\n");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(root_);
  EXPECT_EQ(find_program(".::", "tool"), "");
  std::filesystem::current_path(before);
}

TEST(SplitList, KeepsEmptyEntries) {
  EXPECT_EQ(split_list("a::b", ':'), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split_list("a:", ':'), (std::vector<std::string>{"a", ""}));
  EXPECT_TRUE(split_list("", ':').empty());
}

TEST(ShellQuoted, IsReadBackByAShell) {
  EXPECT_EQ(shell_quoted("/a/b-c.so"), "/a/b-c.so");
  for (const std::string word : {"", "a b", "it's", "$HOME", "a;b", "\"q\"", "new\nline"})
    EXPECT_EQ(shell("printf %s " + shell_quoted(word)).value().text, word);
}

}  // namespace
}  // namespace qnndbg::lint
