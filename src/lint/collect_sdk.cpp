#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <system_error>

#include "lint/collect_parts.h"

namespace qnndbg::lint {
namespace fs = std::filesystem;
namespace {

/// The programs that MNN2QNNModel starts, in the directory where it looks for them.
constexpr std::string_view kHostTools = "bin/x86_64-linux-clang";
constexpr std::string_view kRequiredTools[] = {"qnn-context-binary-generator", "qnn-model-lib-generator"};

constexpr std::string_view kHostLibraries = "lib/x86_64-linux-clang";
constexpr std::string_view kPhoneLibraries = "lib/aarch64-android";

/// "2.30.0.250109" at the beginning of the text: two dots at least. Empty: none.
std::string version_at(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string_view version = text.substr(0, end);
  while (version.ends_with('.')) version.remove_suffix(1);
  const bool plain = version.size() <= 40 && !version.starts_with('.');
  return plain && std::count(version.begin(), version.end(), '.') >= 2 ? std::string(version) : std::string();
}

/// The value of the first "version:" line of sdk.yaml.
std::string version_in_yaml(const fs::path& path) {
  constexpr int kMostLines = 200;
  constexpr std::size_t kLongestLine = 1000;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  std::ifstream file(path);
  std::string line(kLongestLine, '\0');
  for (int i = 0; i < kMostLines && file.getline(line.data(), static_cast<std::streamsize>(line.size())); ++i) {
    const std::string_view text = std::string_view(line).substr(0, line.find('\0'));
    const std::size_t key = text.find("version:");
    if (key == std::string_view::npos) continue;
    const std::size_t value = text.find_first_not_of(" '\"", key + std::string_view("version:").size());
    if (value == std::string_view::npos) continue;
    if (std::string version = version_at(text.substr(value)); !version.empty()) return version;
  }
  return {};
}

std::string version_of(const fs::path& root) {
  std::string version = version_in_yaml(root / "sdk.yaml");
  if (!version.empty()) return version;
  std::error_code error;
  const fs::path real = fs::canonical(root, error);
  return error ? std::string() : version_at(real.filename().string());
}

std::vector<std::string> missing_tools(const fs::path& root) {
  std::vector<std::string> missing;
  for (const std::string_view tool : kRequiredTools) {
    const fs::path path = root / kHostTools / tool;
    std::error_code error;
    if (!fs::is_regular_file(path, error) || ::access(path.c_str(), X_OK) != 0)
      missing.push_back(fmt::format("{}/{}", kHostTools, tool));
  }
  return missing;
}

/// lib/aarch64-android and every lib/hexagon-vNN/unsigned.
Deployment phone_part(const fs::path& root) {
  Deployment part{.place = Place::sdk_device, .directories = {list_libraries(root / kPhoneLibraries)}};
  bool truncated = false;
  const Result<std::vector<std::string>> names = list_names(root / "lib", truncated);
  if (!names) return part;
  for (const std::string& name : *names)
    if (name.starts_with("hexagon-v")) part.directories.push_back(list_libraries(root / "lib" / name / "unsigned"));
  return part;
}

/// One directory per version in each.
constexpr std::string_view kUsualPlaces[] = {"/opt/qcom/aistack/qairt", "/opt/qcom/aistack/qnn"};

}  // namespace

std::vector<std::string> find_sdks() {
  std::vector<std::string> found;
  for (const std::string_view place : kUsualPlaces) {
    bool truncated = false;
    const Result<std::vector<std::string>> names = list_names(place, truncated);
    if (!names) continue;
    for (const std::string& name : *names)
      if (!version_at(name).empty()) found.push_back(fmt::format("{}/{}", place, name));
  }
  return found;
}

SdkRoot collect_sdk(const std::string& source, const std::string& path, Machine host,
                    std::vector<Deployment>& deployments) {
  SdkRoot sdk{.source = source, .path = path, .problem = {}, .version = {}, .missing_tools = {}};
  std::error_code error;
  if (!fs::exists(path, error))
    sdk.problem = "does not exist";
  else if (!fs::is_directory(path, error))
    sdk.problem = "is not a directory";
  else if (!fs::is_directory(fs::path(path) / "include/QNN", error) && !fs::is_directory(fs::path(path) / "lib", error))
    sdk.problem = "has neither include/QNN nor lib";
  if (!sdk.problem.empty()) return sdk;
  sdk.version = version_of(path);
  if (host == Machine::x86_64) {
    sdk.missing_tools = missing_tools(path);
    deployments.push_back({.place = Place::sdk_host, .directories = {list_libraries(fs::path(path) / kHostLibraries)}});
  }
  deployments.push_back(phone_part(path));
  return sdk;
}

}  // namespace qnndbg::lint
