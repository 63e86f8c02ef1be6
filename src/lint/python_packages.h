// Installed Python packages, read from their dist-info directories; no Python code runs.
// Format: https://packaging.python.org/en/latest/specifications/core-metadata/
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace qnndbg::lint {

struct PythonRequirement {
  std::string name{};      // normalized, see below
  std::string versions{};  // ">=1.24.2,<3"; empty: any
};

struct PythonPackage {
  std::string name{};  // normalized: lower case, "-" for every run of "-", "_" and "."
  std::string version{};
  std::string directory{};                        // that it is installed in
  std::vector<PythonRequirement> requirements{};  // those without conditions
};

/// "onnxruntime-qnn" of "onnxruntime_qnn".
std::string normalized_package(std::string_view name);

/// The packages of a site-packages directory whose normalized names are listed, by name. A directory that cannot be
/// read has none; a dist-info without readable METADATA is left out.
std::vector<PythonPackage> read_python_packages(const std::filesystem::path& directory,
                                                const std::vector<std::string>& names);

/// Whether a version satisfies a list of conditions, by the release numbers alone ("1.24.2rc1" counts as 1.24.2).
/// Conditions with other operators than >=, >, <=, <, ==, != are taken as satisfied.
bool satisfies(std::string_view version, std::string_view conditions);

}  // namespace qnndbg::lint
