// Tiny files that look like libraries, programs and packages.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace qnndbg::lint {

/// A directory that is gone with the test.
class LintTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "lint_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::filesystem::path write(const std::filesystem::path& name, const std::string& text) const {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::filesystem::path write_program(const std::filesystem::path& name, const std::string& text) const {
    const std::filesystem::path path = write(name, text);
    ::chmod(path.c_str(), 0755);
    return path;
  }

  std::filesystem::path root_;
};

/// A 64-bit ELF file of one segment that is all of it, with `text` in it.
inline std::string elf64(unsigned machine, const std::string& text) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = static_cast<Elf64_Half>(machine);
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_filesz = sizeof header + sizeof segment + text.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
         std::string(reinterpret_cast<const char*>(&segment), sizeof segment) + text;
}

/// The same with 32 bits: a Hexagon library.
inline std::string hexagon(const std::string& text) {
  constexpr Elf32_Half kHexagon = 164;
  Elf32_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = kHexagon;
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  Elf32_Phdr segment{};
  segment.p_filesz = static_cast<Elf32_Word>(sizeof header + sizeof segment + text.size());
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
         std::string(reinterpret_cast<const char*>(&segment), sizeof segment) + text;
}

inline std::string x86_64(const std::string& text) { return elf64(EM_X86_64, text); }
inline std::string aarch64(const std::string& text) { return elf64(EM_AARCH64, text); }

}  // namespace qnndbg::lint
