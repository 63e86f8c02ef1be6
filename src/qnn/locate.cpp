#include "qnn/locate.h"

#include <system_error>

#include "qnn/package.h"

namespace qnndbg::qnn {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kHtp = "libQnnHtp.so";
constexpr std::string_view kSystem = "libQnnSystem.so";
constexpr std::string_view kSdkLibraries = "lib/x86_64-linux-clang";

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

LibraryPlace place_of(const fs::path& htp, LibraryOrigin origin) {
  return {.htp = htp.string(), .system = (htp.parent_path() / kSystem).string(), .origin = origin};
}

Result<LibraryPlace> in_sdk(const fs::path& sdk, LibraryOrigin origin) {
  const fs::path htp = sdk / kSdkLibraries / kHtp;
  if (!is_there(htp)) return fail("{}: no SDK for this machine: {} is not there", name_of(origin), htp.string());
  return place_of(htp, origin);
}

Result<LibraryPlace> named(const fs::path& library) {
  std::error_code error;
  const fs::path htp = fs::is_directory(library, error) ? library / kHtp : library;
  if (!is_there(htp)) return fail("{} is not there", htp.string());
  return place_of(htp, LibraryOrigin::named);
}

}  // namespace

std::string_view name_of(LibraryOrigin origin) {
  switch (origin) {
    case LibraryOrigin::named: return "--library";
    case LibraryOrigin::sdk: return "--sdk";
    case LibraryOrigin::sdk_variable: return "QNN_SDK_ROOT";
    case LibraryOrigin::cache: return "qnn-debug htp install";
  }
  return "";
}

Result<LibraryPlace> find_library(const LibraryQuery& query) {
  if (!query.library.empty()) return named(query.library);
  if (!query.sdk.empty()) return in_sdk(query.sdk, LibraryOrigin::sdk);
  if (!query.sdk_variable.empty()) return in_sdk(query.sdk_variable, LibraryOrigin::sdk_variable);
  const fs::path installed = query.cache.empty() ? fs::path() : query.cache / pinned_package().version / kHtp;
  if (!installed.empty() && is_there(installed)) return place_of(installed, LibraryOrigin::cache);
  return fail(
      "Qualcomm's HTP library is not installed: `qnn-debug htp install` gets it from PyPI; --sdk or QNN_SDK_ROOT names "
      "an "
      "installed QAIRT SDK");
}

fs::path cache_root(std::string_view xdg_cache_home, std::string_view home) {
  // The XDG Base Directory Specification says that a relative XDG_CACHE_HOME is to be ignored.
  const fs::path inside = fs::path("qnn-debug") / "htp";
  if (fs::path(xdg_cache_home).is_absolute()) return fs::path(xdg_cache_home) / inside;
  return home.empty() ? fs::path() : fs::path(home) / ".cache" / inside;
}

}  // namespace qnndbg::qnn
