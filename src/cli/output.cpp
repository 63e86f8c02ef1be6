#include "cli/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "cli/exit_status.h"

namespace qnndbg::cli {
namespace fs = std::filesystem;
namespace {

/// Writes everything or returns errno.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int close_after(int descriptor, int error) {
  // Some file systems report a failed write only here.
  const int close_error = ::close(descriptor) == 0 ? 0 : errno;
  return error != 0 ? error : close_error;
}

mode_t file_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

Result<void> write_directly(const fs::path& path, std::string_view text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return fail("{}: cannot be opened for writing: {}", path.string(), std::strerror(errno));
  const int error = close_after(descriptor, write_all(descriptor, text));
  if (error != 0) return fail("{}: cannot be written: {}", path.string(), std::strerror(error));
  return {};
}

Result<void> write_by_rename(const fs::path& path, std::string_view text) {
  std::string temporary = path.string() + ".XXXXXX";
  const int descriptor = ::mkstemp(temporary.data());
  if (descriptor < 0) return fail("{}: cannot be created: {}", path.string(), std::strerror(errno));
  int error = write_all(descriptor, text);
  if (error == 0 && ::fchmod(descriptor, file_mode()) != 0) error = errno;
  error = close_after(descriptor, error);
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(temporary.c_str());
  return fail("{}: cannot be written: {}", path.string(), std::strerror(error));
}

}  // namespace

Result<void> write_stdout(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error != 0) return fail("standard output cannot be written: {}", std::strerror(error));
  return {};
}

Result<void> write_file(const fs::path& path, std::string_view text) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return fail("{}: is a directory", path.string());
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_directly(path, text);
  // Through a symbolic link the file that it names is replaced, not the link.
  const fs::path target = fs::exists(status) ? fs::canonical(path, error) : path;
  return write_by_rename(error ? path : target, text);
}

Result<void> write_output(const std::string& path, std::string_view text) {
  return path.empty() || path == "-" ? write_stdout(text) : write_file(path, text);
}

int deliver(const std::string& path, std::string_view text, const Console& console) {
  const Result<void> written = write_output(path, text);
  if (written) return kExitClean;
  console.error("{}", written.error().message);
  return kExitFailed;
}

}  // namespace qnndbg::cli
