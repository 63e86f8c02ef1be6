// Qualcomm's own library, for the tests that need the real one: named by QNN_DEBUG_TEST_HTP, or the package
// onnxruntime-qnn in .venv of the source tree.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace qnndbg::qnn {

/// Empty: it is not there.
inline std::string installed_library() {
  namespace fs = std::filesystem;
  if (const char* named = std::getenv("QNN_DEBUG_TEST_HTP")) return named;
  std::error_code error;
  const fs::path packages = fs::path(QNNDBG_SOURCE_DIR) / ".venv" / "lib";
  for (const fs::directory_entry& python : fs::directory_iterator(packages, error)) {
    const fs::path library = python.path() / "site-packages" / "onnxruntime_qnn" / "libQnnHtp.so";
    if (fs::exists(library, error)) return library.string();
  }
  return {};
}

}  // namespace qnndbg::qnn
