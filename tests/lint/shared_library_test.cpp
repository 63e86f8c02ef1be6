#include "lint/shared_library.h"

#include <unistd.h>

#include "lint/made_up_files.h"

namespace qnndbg::lint {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBuild = "v2.51.0.260929181845";

using SharedLibraryTest = LintTest;

TEST_F(SharedLibraryTest, TellsMachineAndBuild) {
  const SharedLibrary library = read_shared_library(write("libQnnHtp.so", x86_64(std::string("\0AISW ", 6) + kBuild)));
  EXPECT_EQ(library.machine, Machine::x86_64);
  EXPECT_EQ(library.build, kBuild);
  EXPECT_EQ(library.name, "libQnnHtp.so");
  EXPECT_EQ(library.problem, "");
  EXPECT_EQ(read_shared_library(write("a", aarch64(kBuild))).machine, Machine::aarch64);
  EXPECT_EQ(read_shared_library(write("b", hexagon(kBuild))).machine, Machine::hexagon);
  EXPECT_EQ(read_shared_library(write("c", elf64(EM_PPC64, kBuild))).machine, Machine::other);
}

TEST_F(SharedLibraryTest, ALibraryWithoutBuildIdIsNoProblem) {
  const SharedLibrary library = read_shared_library(write("libQnnSystem.so", x86_64("version 2.51 of something")));
  EXPECT_EQ(library.build, "");
  EXPECT_EQ(library.problem, "");
}

TEST_F(SharedLibraryTest, FindsTheBuildIdAcrossBlocks) {
  constexpr std::size_t kBlock = std::size_t{1} << 20U;
  constexpr std::size_t kHeaders = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
  for (const std::size_t before : {std::size_t{3}, std::size_t{10}, std::size_t{14}, std::size_t{18}}) {
    const std::string text = std::string(kBlock - kHeaders - before, '-') + kBuild + std::string(100, '-');
    EXPECT_EQ(read_shared_library(write("split", x86_64(text))).build, kBuild) << before;
  }
  EXPECT_EQ(read_shared_library(write("end", x86_64(std::string(3 * kBlock, '-') + kBuild))).build, kBuild);
}

TEST_F(SharedLibraryTest, SaysWhatIsWrongWithAFile) {
  const std::string whole = x86_64(kBuild);
  EXPECT_EQ(read_shared_library(write("empty", "")).problem, "is empty");
  EXPECT_EQ(read_shared_library(write("text", "#!/bin/sh\n" + std::string(100, ' '))).problem, "is not an ELF file");
  EXPECT_EQ(read_shared_library(write("short", whole.substr(0, 20))).problem, "is not an ELF file");
  EXPECT_EQ(read_shared_library(write("cut", whole.substr(0, whole.size() - 1))).problem,
            fmt::format("is cut off after {} bytes", whole.size() - 1));
  EXPECT_EQ(read_shared_library(write("headers", whole.substr(0, sizeof(Elf64_Ehdr)))).problem,
            fmt::format("is cut off after {} bytes", sizeof(Elf64_Ehdr)));
  std::string big_endian = whole;
  big_endian[EI_DATA] = ELFDATA2MSB;
  EXPECT_EQ(read_shared_library(write("endian", big_endian)).problem, "has a damaged ELF header");
}

TEST_F(SharedLibraryTest, HostileHeadersAreOnlyProblems) {
  for (const std::uint64_t value : {std::uint64_t{0x7fffffffffffffff}, UINT64_MAX, UINT64_MAX - 100}) {
    std::string table = x86_64(kBuild);
    std::memcpy(table.data() + offsetof(Elf64_Ehdr, e_phoff), &value, sizeof value);
    EXPECT_NE(read_shared_library(write("table", table)).problem, "");
    std::string segment = x86_64(kBuild);
    std::memcpy(segment.data() + sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_offset), &value, sizeof value);
    EXPECT_NE(read_shared_library(write("segment", segment)).problem, "");
  }
  std::string many = x86_64(kBuild);
  many[offsetof(Elf64_Ehdr, e_phnum)] = many[offsetof(Elf64_Ehdr, e_phnum) + 1] = '\xff';
  EXPECT_NE(read_shared_library(write("many", many)).problem, "");
}

TEST_F(SharedLibraryTest, WhatIsNoFileIsNotRead) {
  fs::create_symlink("loop", root_ / "loop");
  fs::create_symlink("nowhere", root_ / "dangling");
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);
  for (const char* name : {"loop", "dangling", "pipe", "missing", "."})
    EXPECT_TRUE(read_shared_library(root_ / name).problem.starts_with("cannot be read: ")) << name;
}

TEST_F(SharedLibraryTest, NamesOfOneFileShareItsInode) {
  const fs::path file = write("file", x86_64(kBuild));
  fs::create_symlink("file", root_ / "link");
  const SharedLibrary one = read_shared_library(file);
  const SharedLibrary other = read_shared_library(root_ / "link");
  EXPECT_EQ(one.inode, other.inode);
  EXPECT_EQ(one.device, other.device);
  EXPECT_NE(one.inode, read_shared_library(write("copy", x86_64(kBuild))).inode);
}

TEST(BuildId, IsRecognizedByItsForm) {
  EXPECT_EQ(find_build_id("x v2.30.0.250109154455_113461 y"), "v2.30.0.250109154455_113461");
  EXPECT_EQ(find_build_id("rev v1.2 then v2.51.0.260929181845."), "v2.51.0.260929181845");
  EXPECT_EQ(find_build_id("v2.28.0.241029"), "v2.28.0.241029");
  EXPECT_EQ(find_build_id("v2.28.0.241029_"), "v2.28.0.241029");
  EXPECT_EQ(find_build_id("v2.51.0"), "");
  EXPECT_EQ(find_build_id("v2.51.0.26092"), "") << "too short for a date";
  EXPECT_EQ(find_build_id("v2.51.0.260929181845123"), "") << "too long for a time";
  EXPECT_EQ(find_build_id("v251.0.0.260929"), "");
  EXPECT_EQ(find_build_id(std::string(100000, 'v')), "");
}

TEST(BuildId, ReleaseLeavesPlatformsNumberOut) {
  EXPECT_EQ(release_of("v2.30.0.250109154455_113461"), "2.30.0.250109154455");
  EXPECT_EQ(release_of("v2.51.0.260929181845"), "2.51.0.260929181845");
  EXPECT_EQ(release_of(""), "");
}

TEST_F(SharedLibraryTest, FindsTextsAcrossBlocks) {
  constexpr std::size_t kBlock = std::size_t{1} << 20U;
  const fs::path file = write("file", std::string(kBlock - 3, '-') + "MNN_QNN: " + std::string(10, '-'));
  const std::string_view texts[] = {"MNN_QNN: ", "ANeural"};
  EXPECT_EQ(find_texts(file, texts).value(), (std::vector<bool>{true, false}));
  EXPECT_FALSE(find_texts(root_ / "missing", texts).has_value());
}

}  // namespace
}  // namespace qnndbg::lint
