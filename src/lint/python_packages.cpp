#include "lint/python_packages.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <map>
#include <system_error>

#include "lint/run_program.h"

namespace qnndbg::lint {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostEntries = 20000;   // of a site-packages directory
constexpr std::size_t kMostMetadata = 65536;  // bytes; the header fields come first
constexpr std::string_view kDistInfo = ".dist-info";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}

/// "numpy>=1.21.6" or "numpy (>=1.21.6)". A requirement with extras in its name or a condition behind ";" has no name.
PythonRequirement requirement_of(std::string_view text) {
  if (text.find(';') != std::string_view::npos || text.find('[') != std::string_view::npos) return {};
  const auto end =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_name_character) - text.begin());
  PythonRequirement requirement{.name = normalized_package(text.substr(0, end)), .versions = {}};
  for (const char c : text.substr(end))
    if (c != '(' && c != ')' && c != ' ') requirement.versions += c;
  return requirement;
}

std::string read_beginning(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostMetadata, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

PythonPackage package_of(const fs::path& dist_info) {
  PythonPackage package{.name = {}, .version = {}, .directory = dist_info.parent_path().string(), .requirements = {}};
  for (const std::string& line : split_list(read_beginning(dist_info / "METADATA"), '\n')) {
    if (trimmed(line).empty()) break;  // the description follows
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = std::string_view(line).substr(0, colon);
    const std::string_view value = trimmed(std::string_view(line).substr(colon + 1));
    if (key == "Name") package.name = normalized_package(value);
    if (key == "Version") package.version = value;
    if (key == "Requires-Dist") package.requirements.push_back(requirement_of(value));
  }
  std::erase_if(package.requirements, [](const PythonRequirement& one) { return one.name.empty(); });
  return package;
}

/// The numbers before the first other character: {1, 24, 2}.
std::vector<int> release_numbers(std::string_view version) {
  std::vector<int> numbers;
  while (!version.empty()) {
    int number = 0;
    const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    if (!version.starts_with('.')) break;
    version.remove_prefix(1);
  }
  while (!numbers.empty() && numbers.back() == 0) numbers.pop_back();  // 1.24 is 1.24.0
  return numbers;
}

bool satisfies_one(const std::vector<int>& version, std::string_view condition) {
  const std::size_t digits = condition.find_first_of("0123456789");
  if (digits == std::string_view::npos || condition.find('*') != std::string_view::npos) return true;
  const std::string_view sign = trimmed(condition.substr(0, digits));
  const std::vector<int> other = release_numbers(condition.substr(digits));
  if (sign == ">=") return version >= other;
  if (sign == ">") return version > other;
  if (sign == "<=") return version <= other;
  if (sign == "<") return version < other;
  if (sign == "==") return version == other;
  return sign != "!=" || version != other;
}

}  // namespace

std::string normalized_package(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool separator = c == '-' || c == '_' || c == '.';
    if (separator && out.ends_with('-')) continue;
    out += separator ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

std::vector<PythonPackage> read_python_packages(const fs::path& directory, const std::vector<std::string>& names) {
  std::vector<PythonPackage> packages;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (std::size_t seen = 0; !error && entry != fs::directory_iterator() && seen < kMostEntries; ++seen) {
    const std::string file = entry->path().filename().string();
    const std::string package_name = normalized_package(file.substr(0, file.find('-')));
    if (file.ends_with(kDistInfo) && std::find(names.begin(), names.end(), package_name) != names.end()) {
      PythonPackage package = package_of(entry->path());
      if (package.name == package_name && !package.version.empty()) packages.push_back(std::move(package));
    }
    entry.increment(error);
  }
  std::sort(packages.begin(), packages.end(), [](const PythonPackage& a, const PythonPackage& b) {
    return std::tie(a.name, a.version) < std::tie(b.name, b.version);
  });
  return packages;
}

bool satisfies(std::string_view version, std::string_view conditions) {
  const std::vector<int> numbers = release_numbers(version);
  const std::vector<std::string> list = split_list(conditions, ',');
  return std::all_of(list.begin(), list.end(),
                     [&](const std::string& condition) { return satisfies_one(numbers, trimmed(condition)); });
}

}  // namespace qnndbg::lint
