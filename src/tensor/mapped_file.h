// A file mapped read-only into memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "tensor/result.h"

namespace qnndbg {

/// Read-only memory map of a regular file. Unmapped on destruction. An empty file maps to an empty span.
/// Note that a file which another process truncates while it is mapped raises SIGBUS on access; open() therefore
/// checks only that the file is regular and readable, callers compare bytes().size() with what they expect.
class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Errors name the path and the reason (missing, a directory, a pipe, no permission).
  static Result<MappedFile> open(const std::filesystem::path& path);

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace qnndbg
