// The package of PyPI that carries Qualcomm's libraries for x86-64, pinned in data/htp_package.json, and its
// installation into the user's cache.
//
// pip downloads it and checks its hash; Python's zipfile takes out the few files that are needed. Whoever downloads
// needs Python anyway; a zip library would be a dependency of the whole program for one command that is run once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lint/run_program.h"
#include "tensor/result.h"

namespace qnndbg::qnn {

struct Package {
  std::string name = {};                     // "onnxruntime-qnn"
  std::string version = {};                  // "2.7.0"
  std::string sdk = {};                      // the SDK whose libraries it carries: "QAIRT 2.51"
  std::string build = {};                    // their build id
  std::string wheel = {};                    // file name
  std::string sha256 = {};                   // of the wheel
  std::uint64_t bytes = 0;                   // of the wheel
  std::vector<std::string> pip_target = {};  // options of pip that choose this wheel whatever Python runs pip
  std::string licence = {};                  // its name and where it stands
  std::vector<std::string> files = {};       // paths in the wheel
};

const Package& pinned_package();

struct InstallRequest {
  std::filesystem::path cache = {};  // cache_root()
  std::string from = {};             // a wheel, or a directory with what is in it; empty: PyPI
  std::string search_path = {};      // value of PATH: where python3 is
  lint::Stop stop = {};
};

struct Installation {
  std::filesystem::path directory;
  bool was_there = false;
};

/// The directory of a package in the cache, and whether all of its files are in it.
Installation installation_of(const Package& package, const std::filesystem::path& cache);

/// Installs all files or none: they are gathered in a directory of their own beside the final one, which is renamed.
/// Errors: the cache cannot be written, python3 or pip is missing, no network, another wheel than the pinned one, a
/// directory with another build.
Result<Installation> install(const Package& package, const InstallRequest& request);

}  // namespace qnndbg::qnn
