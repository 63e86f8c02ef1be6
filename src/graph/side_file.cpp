#include "graph/side_file.h"

#include <algorithm>
#include <system_error>

namespace qnndbg {
namespace fs = std::filesystem;

Result<SideFiles> SideFiles::open(const fs::path& model, const std::optional<fs::path>& given) {
  SideFiles files;
  files.model_ = model;
  files.given_ = given.has_value();
  fs::path path = given.value_or(fs::path(model) += ".weight");
  Result<MappedFile> map = MappedFile::open(path);
  if (given && !map) return fail(map.error());
  files.common_.emplace(File{std::move(path), std::move(map)});
  return files;
}

void SideFiles::add(const std::string& external_path) {
  if (given_ || named_.contains(external_path)) return;
  Result<fs::path> path = inside(model_.parent_path(), external_path);
  if (path && !files_.contains(*path)) files_.emplace(*path, File{*path, MappedFile::open(*path)});
  named_.emplace(external_path, std::move(path));
}

Result<fs::path> SideFiles::inside(const fs::path& directory, const std::string& relative) {
  const auto refuse = [&](std::string_view why) {
    return fail("the side file \"{}\" that the model names {}; if you have the right one, pass it with --weights",
                relative.substr(0, 200), why);
  };
  if (relative.find('\0') != std::string::npos) return refuse("contains a null character");
  std::error_code error;
  const fs::path root = fs::weakly_canonical(directory.empty() ? fs::path(".") : directory, error);
  if (error) return fail("{}: {}", directory.string(), error.message());
  fs::path path = fs::weakly_canonical(root / relative, error);
  if (error) return refuse("cannot be reached: " + error.message());
  const auto [rest, below] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  if (rest != root.end()) return refuse("lies outside the model's directory");
  return path;
}

Result<const SideFiles::File*> SideFiles::find(const std::optional<std::string>& external_path) const {
  if (external_path && !given_) {
    const auto named = named_.find(*external_path);
    if (named == named_.end())
      return fail("the weights lie in a side file, which a model read from memory does not have");
    if (!named->second) return fail(named->second.error());
    return &files_.at(*named->second);
  }
  if (!common_) return fail("the weights lie in a side file, which a model read from memory does not have");
  return &*common_;
}

Result<std::span<const std::byte>> SideFiles::read(const std::optional<std::string>& external_path, std::int64_t offset,
                                                   std::int64_t size) const {
  const Result<const File*> file = find(external_path);
  if (!file) return fail(file.error());
  if (!(*file)->map) {
    return fail("the weights lie in a side file: {}; pass its place with --weights", (*file)->map.error().message);
  }
  const std::span<const std::byte> bytes = (*file)->map->bytes();
  const auto available = static_cast<std::int64_t>(bytes.size());
  if (offset < 0 || size < 0 || offset > available || size > available - offset) {
    return fail("{}: the model expects {} bytes at {}, but the file ends at {}; is it the side file of this model?",
                (*file)->path.string(), size, offset, available);
  }
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

}  // namespace qnndbg
