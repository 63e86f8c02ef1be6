#include "cli/text_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "cli/interrupt.h"

namespace qnndbg::cli {

std::string input_name(const std::string& file) { return file == "-" ? "standard input" : file; }

Result<std::string> read_text(const std::string& file, std::size_t largest) {
  const std::string name = input_name(file);
  const int descriptor = file == "-" ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail("{}: {}", name, std::strerror(errno));
  const std::unique_ptr<const int, void (*)(const int*)> closer(&descriptor, [](const int* d) {
    if (*d != STDIN_FILENO) ::close(*d);
  });
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t size = ::read(descriptor, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR && !interrupted()) continue;
    if (size < 0) return fail("{}: {}", name, std::strerror(errno));
    if (size == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(size));
    if (text.size() > largest) return fail("{}: more than {} bytes", name, largest);
  }
}

}  // namespace qnndbg::cli
