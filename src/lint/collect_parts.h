// Parts of collect(), by subject.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lint/collect.h"

namespace qnndbg::lint {

/// libQnn*.so and the prepare library of a directory, by name, without its subdirectories.
LibraryDirectory list_libraries(const std::filesystem::path& directory);

/// The file names of a directory, sorted, at most 65536; an Error says why there are none.
Result<std::vector<std::string>> list_names(const std::filesystem::path& directory, bool& truncated);

Mnn collect_mnn(const Request& request, const Variables& variables);

/// Packages of the first python3 on PATH; directories of packages that ship QNN libraries become `deployments`.
Python collect_python(const Request& request, const Variables& variables, std::vector<Deployment>& deployments);

/// What adb says. Directories of the phone become `deployments`.
Phone collect_phone(const Request& request, const Variables& variables, std::vector<Deployment>& deployments);

/// The SDK at a root; its libraries become `deployments`.
SdkRoot collect_sdk(const std::string& source, const std::string& path, Machine host,
                    std::vector<Deployment>& deployments);

/// Directories of SDKs where Qualcomm's installer puts them, by name.
std::vector<std::string> find_sdks();

/// A variable's value, empty when it is not set.
std::string value_of(const Variables& variables, std::string_view name);

}  // namespace qnndbg::lint
