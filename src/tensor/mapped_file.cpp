#include "tensor/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

namespace qnndbg {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string system_reason() { return std::error_code(errno, std::generic_category()).message(); }

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "is a directory";
  if (S_ISFIFO(mode)) return "is a pipe";
  if (S_ISSOCK(mode)) return "is a socket";
  return "is a device";
}

}  // namespace

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe for reading otherwise waits for a writer, for ever if none comes.
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return fail("{}: {}", path.string(), system_reason());
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) return fail("{}: {}", path.string(), system_reason());
  if (!S_ISREG(status.st_mode)) return fail("{}: {}, not a regular file", path.string(), kind_of(status.st_mode));
  MappedFile file;
  if (status.st_size == 0) return file;  // mmap refuses a length of zero
  if (static_cast<std::uintmax_t>(status.st_size) > std::numeric_limits<std::size_t>::max())
    return fail("{}: too large to map ({} bytes)", path.string(), status.st_size);
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) return fail("{}: cannot map {} bytes: {}", path.string(), size, system_reason());
  file.data_ = data;
  file.size_ = size;
  return file;
}

}  // namespace qnndbg
