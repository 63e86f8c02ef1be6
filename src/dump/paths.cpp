#include "dump/paths.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "dump/inputs.h"

namespace qnndbg {

namespace fs = std::filesystem;

Result<void> check_relative_path(std::string_view relative) {
  if (relative.empty()) return fail("the file name is empty");
  if (relative.find('\0') != std::string_view::npos) return fail("file name {} holds a NUL byte", printable(relative));
  const fs::path path(relative);
  if (path.is_absolute()) return fail("file name {} is absolute; it must lie in the directory", printable(relative));
  if (std::find(path.begin(), path.end(), "..") != path.end()) {
    return fail("file name {} leads out of the directory", printable(relative));
  }
  return {};
}

Result<fs::path> resolve_inside(const fs::path& directory, std::string_view relative) {
  if (auto checked = check_relative_path(relative); !checked) return fail(checked.error());
  fs::path joined = directory / fs::path(relative);
  std::error_code error;
  const fs::path root = fs::canonical(directory, error);
  if (error) return fail("{}: {}", directory.string(), error.message());
  const fs::path target = fs::weakly_canonical(joined, error);
  if (error) return fail("{}: {}", joined.string(), error.message());
  const auto [in_root, in_target] = std::mismatch(root.begin(), root.end(), target.begin(), target.end());
  if (in_root != root.end() || in_target == target.end()) {
    return fail("file name {} leads out of the directory through a symbolic link", printable(relative));
  }
  return joined;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string out = "'";
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + (text.size() > kShown ? "...'" : "'");
}

}  // namespace qnndbg
