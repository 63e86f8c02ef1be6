#include "dump/dump.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>

#include "dump/inputs.h"
#include "dump/paths.h"

namespace qnndbg {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "manifest_";
constexpr std::string_view kSuffix = ".tsv";
/// A line takes about 100 bytes, so this is room for more than 100,000 tensors.
constexpr std::uintmax_t kLargestManifest = 16u << 20;

std::string manifest_name(std::uint64_t number) { return fmt::format("{}{:06}{}", kPrefix, number, kSuffix); }

/// The number of "manifest_000012.tsv"; nullopt for every other spelling, so that one number means one file.
std::optional<std::uint64_t> manifest_number(const std::string& name) {
  if (name.size() < kPrefix.size() + kSuffix.size() || !name.starts_with(kPrefix) || !name.ends_with(kSuffix)) {
    return std::nullopt;
  }
  const char* const first = name.data() + kPrefix.size();
  const char* const last = name.data() + name.size() - kSuffix.size();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(first, last, number);
  if (error != std::errc() || end != last || manifest_name(number) != name) return std::nullopt;
  return number;
}

std::int64_t expected_bytes(const DumpEntry& entry) {
  return element_count(entry.dims) * static_cast<std::int64_t>(size_of(entry.type));
}

std::string size_mismatch(const DumpEntry& entry, std::int64_t actual) {
  return fmt::format("{} has {} bytes, {} {} needs {}", printable(entry.file.filename().string()), actual,
                     to_string(entry.dims), name_of(entry.type), expected_bytes(entry));
}

Result<struct stat> stat_inside(const fs::path& directory, const fs::path& file) {
  struct stat info{};
  // A plain file directly in the directory, as MNN writes it, needs no walk along its path: thousands of entries cost
  // one system call each.
  const fs::path relative = file.lexically_relative(directory);
  const bool nested = relative.has_parent_path();
  if (!nested && ::lstat(file.c_str(), &info) == 0 && !S_ISLNK(info.st_mode)) return info;
  if (auto inside = resolve_inside(directory, relative.string()); !inside) return fail(inside.error());
  if (::stat(file.c_str(), &info) != 0) {
    const std::string name = printable(relative.string());
    if (errno == ENOENT) return fail("{} is missing", name);
    return fail("{}: {}", name, std::generic_category().message(errno));
  }
  return info;
}

/// Why the entry's raw file cannot be used.
Result<void> check_file(const fs::path& directory, const DumpEntry& entry) {
  const auto info = stat_inside(directory, entry.file);
  if (!info) return fail(info.error());
  if (!S_ISREG(info->st_mode)) return fail("{} is not a regular file", printable(entry.file.filename().string()));
  if (info->st_size != expected_bytes(entry)) return fail("{}", size_mismatch(entry, info->st_size));
  return {};
}

Result<std::string> read_text(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) return fail("{}: no such file", path.string());
  if (!fs::is_regular_file(status)) return fail("{}: not a regular file", path.string());
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return fail("{}: {}", path.string(), error.message());
  if (size > kLargestManifest) return fail("{}: {} bytes are too many for a manifest", path.string(), size);
  std::string text(size, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(size));
  if (!stream.is_open() || stream.bad()) return fail("{}: cannot be read", path.string());
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

}  // namespace

Result<Dump> Dump::open(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) return fail("{}: no such dump directory", directory.string());
  Dump dump;
  dump.directory_ = directory;
  fs::directory_iterator files(directory, error);
  for (; !error && files != fs::directory_iterator(); files.increment(error)) {
    if (auto number = manifest_number(files->path().filename().string())) dump.numbers_.push_back(*number);
  }
  if (error) return fail("{}: {}", directory.string(), error.message());
  if (dump.numbers_.empty()) {
    return fail("{}: no manifest_*.tsv in it, so it is not a dump of MNN's QNN backend", directory.string());
  }
  std::sort(dump.numbers_.begin(), dump.numbers_.end());
  return dump;
}

Result<Execution> Dump::read(std::uint64_t number) const {
  if (!std::binary_search(numbers_.begin(), numbers_.end(), number)) {
    const std::string range = numbers_.empty() ? "none" : fmt::format("{} to {}", numbers_.front(), numbers_.back());
    return fail("{}: no execution {} in the dump (there: {})", directory_.string(), number, range);
  }
  auto manifest = resolve_inside(directory_, manifest_name(number));
  if (!manifest) return fail("{}: {}", directory_.string(), manifest.error().message);
  auto text = read_text(*manifest);
  if (!text) return fail(text.error());
  Execution execution = parse_manifest(*text, *manifest, directory_);
  execution.number = number;
  for (DumpEntry& entry : execution.entries) {
    if (!entry.problem.empty()) continue;
    if (auto usable = check_file(directory_, entry); !usable) {
      entry.problem = fmt::format("{}:{}: {}", manifest_name(number), entry.line, usable.error().message);
      execution.problems.push_back(entry.problem);
      execution.complete = false;
    }
  }
  return execution;
}

Result<Execution> Dump::read_last_complete() const {
  if (numbers_.empty()) return fail("no dump is open");
  Result<Execution> last = read(numbers_.back());
  if (last && last->complete) return last;
  for (auto number = std::next(numbers_.rbegin()); number != numbers_.rend(); ++number) {
    auto execution = read(*number);
    if (execution && execution->complete) return execution;
  }
  return last;
}

Result<MappedFile> Dump::map(const DumpEntry& entry) {
  if (!entry.problem.empty()) return fail("{}", entry.problem);
  auto file = MappedFile::open(entry.file);
  if (!file) return fail(file.error());
  const auto size = static_cast<std::int64_t>(file->bytes().size());
  if (size != expected_bytes(entry))
    return fail("{}: changed while in use: {}", entry.name, size_mismatch(entry, size));
  return file;
}

}  // namespace qnndbg
