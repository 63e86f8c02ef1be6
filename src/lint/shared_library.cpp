#include "lint/shared_library.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <system_error>

namespace qnndbg::lint {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20U;
constexpr std::uint64_t kMostSearched = std::uint64_t{1} << 28U;  // the largest QNN library has 0.4 of it
constexpr std::size_t kOverlap = 256;                             // longer than any text that is searched

/// An open file that is read in place: a file that another process shortens makes a short read, where a mapping would
/// raise SIGBUS.
class File {
 public:
  static Result<File> open(const std::filesystem::path& path) {
    // O_NONBLOCK: opening a pipe otherwise waits for its writer.
    File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.fd_ < 0 || ::fstat(file.fd_, &file.status_) != 0)
      return fail("{}", std::error_code(errno, std::generic_category()).message());
    if (!S_ISREG(file.status_.st_mode)) return fail("not a regular file");
    return file;
  }
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), status_(other.status_) {}
  File& operator=(File&&) = delete;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }

  std::uint64_t size() const { return static_cast<std::uint64_t>(status_.st_size); }
  const struct stat& status() const { return status_; }

  /// Bytes read; fewer than asked for at the end of the file, 0 on an error.
  std::size_t read(std::uint64_t offset, char* out, std::size_t count) const {
    std::size_t done = 0;
    while (done < count) {
      const ssize_t got = ::pread(fd_, out + done, count - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  explicit File(int fd) : fd_(fd) {}

  int fd_;
  struct stat status_ = {};
};

/// Gives the file's blocks, each with the end of the one before, until `visit` returns true. `last` is true for the
/// block behind which nothing is read.
void search_blocks(const File& file, const std::function<bool(std::string_view block, bool last)>& visit) {
  const std::uint64_t end = std::min(file.size(), kMostSearched);
  std::string buffer(kOverlap + kBlock, '\0');
  std::size_t kept = 0;
  for (std::uint64_t offset = 0; offset < end;) {
    const std::size_t got = file.read(offset, buffer.data() + kept, kBlock);
    if (got == 0) return;
    const std::size_t filled = kept + got;
    if (visit(std::string_view(buffer).substr(0, filled), offset + got >= end)) return;
    kept = std::min(filled, kOverlap);
    std::memmove(buffer.data(), buffer.data() + filled - kept, kept);
    offset += got;
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_at(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - begin;
}

/// Length of a build id at the beginning of the text; 0: there is none.
std::size_t build_id_length(std::string_view text) {
  constexpr std::array<std::size_t, 4> kMost = {2, 3, 3, 14};  // digits of version, and of a time to the second
  constexpr std::array<std::size_t, 4> kLeast = {1, 1, 1, 6};
  std::size_t end = 1;  // behind the "v"
  for (std::size_t part = 0; part < kMost.size(); ++part) {
    if (part > 0) {
      if (end >= text.size() || text[end] != '.') return 0;
      ++end;
    }
    const std::size_t digits = digits_at(text, end);
    if (digits < kLeast[part] || digits > kMost[part]) return 0;
    end += digits;
  }
  if (end >= text.size() || text[end] != '_') return end;
  const std::size_t number = digits_at(text, end + 1);
  return number == 0 || number > 12 ? end : end + 1 + number;
}

std::uint64_t little_endian(const char* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i > 0; --i) value = value << 8U | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

/// End of the last segment's bytes, by the program headers: where a whole file reaches at least. nullopt: the headers
/// themselves are cut off.
std::optional<std::uint64_t> end_of_segments(const File& file, const char* header, bool wide) {
  const std::uint64_t table = wide ? little_endian(header + offsetof(Elf64_Ehdr, e_phoff), 8)
                                   : little_endian(header + offsetof(Elf32_Ehdr, e_phoff), 4);
  const std::uint64_t count =
      little_endian(header + (wide ? offsetof(Elf64_Ehdr, e_phnum) : offsetof(Elf32_Ehdr, e_phnum)), 2);
  const std::size_t entry = wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
  std::string headers(static_cast<std::size_t>(count) * entry, '\0');  // at most 65535 of them
  if (file.read(table, headers.data(), headers.size()) != headers.size()) return std::nullopt;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const char* at = headers.data() + i * entry;
    const std::uint64_t offset = wide ? little_endian(at + offsetof(Elf64_Phdr, p_offset), 8)
                                      : little_endian(at + offsetof(Elf32_Phdr, p_offset), 4);
    const std::uint64_t size = wide ? little_endian(at + offsetof(Elf64_Phdr, p_filesz), 8)
                                    : little_endian(at + offsetof(Elf32_Phdr, p_filesz), 4);
    if (offset > UINT64_MAX - size) return std::nullopt;
    end = std::max(end, offset + size);
  }
  return end;
}

/// Sets machine, and problem if the loader would refuse the file.
void read_header(const File& file, SharedLibrary& library) {
  std::array<char, sizeof(Elf64_Ehdr)> header{};
  const std::size_t got = file.read(0, header.data(), header.size());
  if (got < sizeof(Elf32_Ehdr) || std::memcmp(header.data(), ELFMAG, SELFMAG) != 0) {
    library.problem = file.size() == 0 ? "is empty" : "is not an ELF file";
    return;
  }
  const bool wide = header[EI_CLASS] == ELFCLASS64;
  if (header[EI_DATA] != ELFDATA2LSB || (!wide && header[EI_CLASS] != ELFCLASS32) || (wide && got < header.size())) {
    library.problem = "has a damaged ELF header";
    return;
  }
  library.machine =
      machine_of(static_cast<unsigned>(little_endian(header.data() + offsetof(Elf64_Ehdr, e_machine), 2)));
  const std::optional<std::uint64_t> end = end_of_segments(file, header.data(), wide);
  if (!end || *end > file.size()) library.problem = fmt::format("is cut off after {} bytes", file.size());
}

}  // namespace

std::string_view name_of(Machine machine) {
  switch (machine) {
    case Machine::unknown: return "unknown";
    case Machine::x86_64: return "x86-64";
    case Machine::aarch64: return "aarch64";
    case Machine::arm: return "arm";
    case Machine::hexagon: return "Hexagon";
    case Machine::other: return "another machine";
  }
  return "unknown";
}

Machine machine_of(unsigned e_machine) {
  constexpr unsigned kHexagon = 164;  // EM_QDSP6; older <elf.h> lack the name
  switch (e_machine) {
    case EM_X86_64: return Machine::x86_64;
    case EM_AARCH64: return Machine::aarch64;
    case EM_ARM: return Machine::arm;
    case kHexagon: return Machine::hexagon;
    default: return Machine::other;
  }
}

std::string find_build_id(std::string_view bytes) {
  for (std::size_t at = bytes.find('v'); at != std::string_view::npos; at = bytes.find('v', at + 1)) {
    const std::size_t length = build_id_length(bytes.substr(at, kOverlap));
    if (length > 0) return std::string(bytes.substr(at, length));
  }
  return {};
}

std::string_view release_of(std::string_view build) {
  build = build.substr(0, build.find('_'));
  if (build.starts_with('v')) build.remove_prefix(1);
  return build;
}

SharedLibrary read_shared_library(const std::filesystem::path& path) {
  SharedLibrary library{.path = path.string(), .name = path.filename().string()};
  const Result<File> file = File::open(path);
  if (!file) {
    library.problem = fmt::format("cannot be read: {}", file.error().message);
    return library;
  }
  library.device = file->status().st_dev;
  library.inode = file->status().st_ino;
  read_header(*file, library);
  if (!library.problem.empty()) return library;
  search_blocks(*file, [&](std::string_view block, bool last) {
    library.build = find_build_id(block);
    // One that reaches the block's end may go on in the next, which begins with it again.
    if (!last && block.ends_with(library.build)) library.build.clear();
    return !library.build.empty();
  });
  return library;
}

Result<std::vector<bool>> find_texts(const std::filesystem::path& path, std::span<const std::string_view> texts) {
  const Result<File> file = File::open(path);
  if (!file) return fail("{}: {}", path.string(), file.error().message);
  std::vector<bool> found(texts.size());
  search_blocks(*file, [&](std::string_view block, bool /*last*/) {
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (!found[i]) found[i] = block.find(texts[i]) != std::string_view::npos;
    return std::all_of(found.begin(), found.end(), [](bool one) { return one; });
  });
  return found;
}

}  // namespace qnndbg::lint
