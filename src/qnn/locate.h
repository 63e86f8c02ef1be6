// Where Qualcomm's libraries are: named by the user, in an installed SDK, or in the cache that `htp install` fills.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tensor/result.h"

namespace qnndbg::qnn {

/// What may say where to look, in the order in which it counts. Empty: not told.
struct LibraryQuery {
  std::string library = {};          // --library: libQnnHtp.so, or the directory that it is in
  std::string sdk = {};              // --sdk: root of an installed QAIRT or QNN SDK
  std::string sdk_variable = {};     // value of QNN_SDK_ROOT
  std::filesystem::path cache = {};  // cache_root(); empty: there is none
};

enum class LibraryOrigin : unsigned char { named, sdk, sdk_variable, cache };

/// "--library", "--sdk", "QNN_SDK_ROOT", "qnn-debug htp install"
std::string_view name_of(LibraryOrigin origin);

struct LibraryPlace {
  std::string htp;     // libQnnHtp.so
  std::string system;  // libQnnSystem.so beside it; it need not be there
  LibraryOrigin origin = LibraryOrigin::named;
};

/// Only the first of what was told is looked at. Errors: it is not there; nothing was told and nothing is installed.
Result<LibraryPlace> find_library(const LibraryQuery& query);

/// The directory of all installed versions, from the values of XDG_CACHE_HOME and HOME. Empty: neither helps.
std::filesystem::path cache_root(std::string_view xdg_cache_home, std::string_view home);

}  // namespace qnndbg::qnn
