// Writes a dump as MNN's QNN backend does (see dump.h), so that what the library computed on this machine is read like
// what came from a phone.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace qnndbg {

/// One execution on its way to disk: raw files as they come, the manifest last, so that an execution that was cut short
/// has none.
class DumpWriter {
 public:
  /// `directory` must exist. Files of an earlier execution of this number are replaced.
  DumpWriter(std::filesystem::path directory, unsigned execution);

  struct Entry {
    std::string name;
    DType type = DType::f16;
    Dims dims;                         // device order
    std::optional<Encoding> encoding;  // per-tensor scale and offset
  };

  /// Errors: the size is not that of the dims, a name that the format cannot hold (tabs, newlines), the disk.
  Result<void> add(const Entry& entry, std::span<const std::byte> data);

  /// Writes the manifest. The writer is used up.
  Result<void> finish() &&;

 private:
  std::filesystem::path directory_;
  unsigned execution_;
  std::string lines_;
  std::size_t count_ = 0;
};

}  // namespace qnndbg
