#include "cli/log_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "cli/interrupt.h"
#include "cli/progress.h"

namespace qnndbg::cli {
namespace {

constexpr std::size_t kPortion = 1 << 20;  // bytes read at a time
constexpr std::int64_t kMebibyte = 1 << 20;
/// Below it reading takes no time that anybody would notice.
constexpr std::int64_t kShowProgressFrom = 64 * kMebibyte;

struct Closer {
  void operator()(const int* descriptor) const {
    if (*descriptor != STDIN_FILENO) ::close(*descriptor);
  }
};

Result<LogRecord> read_all(int descriptor, const std::string& name, std::int64_t size) {
  LogReader reader;
  Progress progress;
  const auto buffer = std::make_unique<std::array<char, kPortion>>();
  std::int64_t done = 0;
  // Ctrl-C ends `adb logcat | qnn-debug explain -`; what came before it is what the user wants explained.
  while (!interrupted()) {
    const ssize_t count = ::read(descriptor, buffer->data(), buffer->size());
    if (interrupted()) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail("{}: {}", name, std::strerror(errno));
    if (count == 0) break;
    reader.feed({buffer->data(), static_cast<std::size_t>(count)});
    done += count;
    if (size >= kShowProgressFrom)
      progress(static_cast<int>(done / kMebibyte), static_cast<int>(size / kMebibyte), "MiB read");
  }
  return std::move(reader).finish();
}

}  // namespace

Result<Explanation> explain_log_file(const std::string& file) {
  const bool standard_input = file == "-";
  const std::string name = standard_input ? "standard input" : file;
  const int descriptor = standard_input ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail("{}: {}", name, std::strerror(errno));
  const std::unique_ptr<const int, Closer> closer(&descriptor);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return fail("{}: {}", name, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return fail("{}: is a directory; give the log file in it", name);
  Result<LogRecord> record = read_all(descriptor, name, S_ISREG(status.st_mode) ? status.st_size : 0);
  if (!record) return fail(std::move(record.error()));
  return explain_record(std::move(*record));
}

}  // namespace qnndbg::cli
