#include "tensor/mapped_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "dump/temp_dir.h"

namespace qnndbg {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::string error_of(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return file ? "opened" : file.error().message;
}

class MappedFileTest : public testing::Test {
 protected:
  std::filesystem::path write(const char* name, const std::string& text) const { return scratch_.write(name, text); }

  TempDir scratch_;
  const std::filesystem::path& dir_ = scratch_.path();
};

TEST_F(MappedFileTest, ReadsTheBytes) {
  const std::string text("a\0b\n", 4);
  const auto file = MappedFile::open(write("file", text));
  ASSERT_TRUE(file);
  EXPECT_EQ(text_of(*file), text);
}

TEST_F(MappedFileTest, EmptyFileIsAnEmptySpan) {
  const auto file = MappedFile::open(write("empty", ""));
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(MappedFileTest, MovesHandOverTheMap) {
  auto first = MappedFile::open(write("one", "first"));
  auto second = MappedFile::open(write("two", "second"));
  ASSERT_TRUE(first && second);
  MappedFile moved(std::move(*first));
  EXPECT_EQ(text_of(moved), "first");
  moved = std::move(*second);
  EXPECT_EQ(text_of(moved), "second");
  moved = MappedFile();
  EXPECT_TRUE(moved.bytes().empty());
}

TEST_F(MappedFileTest, SurvivesUnlinking) {
  const auto path = write("gone", "still here");
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  std::filesystem::remove(path);
  EXPECT_EQ(text_of(*file), "still here");
}

TEST_F(MappedFileTest, ErrorsNameThePathAndTheReason) {
  EXPECT_THAT(error_of(dir_ / "missing"), AllOf(HasSubstr((dir_ / "missing").string()), HasSubstr("No such file")));
  EXPECT_THAT(error_of(dir_), HasSubstr("is a directory"));
  EXPECT_THAT(error_of("/dev/zero"), HasSubstr("is a device"));
  EXPECT_THAT(error_of(dir_ / "file" / "below"), HasSubstr("No such file"));
  std::filesystem::create_symlink("loop", dir_ / "loop");
  EXPECT_THAT(error_of(dir_ / "loop"), HasSubstr("symbolic links"));
  if (::geteuid() != 0) {
    ::chmod(write("secret", "x").c_str(), 0);
    EXPECT_THAT(error_of(dir_ / "secret"), HasSubstr("Permission denied"));
  }
}

TEST_F(MappedFileTest, PipeWithoutAWriterDoesNotHang) {
  const auto pipe = dir_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error_of(pipe), HasSubstr("is a pipe"));
}

TEST_F(MappedFileTest, ClosesItsDescriptors) {
  const auto path = write("file", "x");
  const int before = ::open(path.c_str(), O_RDONLY);
  ::close(before);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(MappedFile::open(path));
    ASSERT_FALSE(MappedFile::open(dir_));
  }
  const int after = ::open(path.c_str(), O_RDONLY);
  ::close(after);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace qnndbg
