// An inputs.json from a stranger, beside one real file (x.raw, 16 bytes) so that loading is reached too.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "dump/inputs.h"

namespace {

std::filesystem::path directory_with_data() {
  std::string path = (std::filesystem::temp_directory_path() / "qnndbg-inputs-fuzz-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) std::abort();
  std::ofstream(std::filesystem::path(path) / "x.raw", std::ios::binary) << "0123456789abcdef";
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const struct Directory {
    std::filesystem::path path = directory_with_data();
    ~Directory() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  } kDirectory;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto inputs = qnndbg::parse_inputs_json(text, "inputs.json", kDirectory.path);
  if (!inputs) {
    if (inputs.error().message.empty()) std::abort();
    return 0;
  }
  for (const auto& [name, tensor] : *inputs) {
    // x.raw is the only file, so nothing larger can have been loaded.
    if (name.empty() || tensor.size() > 16) std::abort();
  }
  return 0;
}
