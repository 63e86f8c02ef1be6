// What a shared library says about itself without being loaded: the machine it is for, whether the file is whole, and
// the SDK build it belongs to. Nothing here maps or executes a file; a hostile one costs at most its size in reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/result.h"

namespace qnndbg::lint {

/// Machine of an ELF header that matters here; `other` is a machine on which no QNN library runs.
enum class Machine : unsigned char { unknown, x86_64, aarch64, arm, hexagon, other };

/// "x86-64", "aarch64", "arm", "Hexagon", ...
std::string_view name_of(Machine machine);

/// The machine of an ELF header's e_machine.
Machine machine_of(unsigned e_machine);

struct SharedLibrary {
  std::string path{};
  std::string name{};                  // last component of the path
  Machine machine = Machine::unknown;  // unknown: see problem
  std::string build{};                 // "v2.51.0.260929181845"; empty when the file holds none, as some libraries do
  std::string problem{};               // why the loader would refuse the file; empty: nothing seen
  std::uint64_t device = 0;            // device and inode: two names of one file are not two copies
  std::uint64_t inode = 0;
};

/// Reads header and build id. Never fails: what is wrong with the file is its `problem`.
SharedLibrary read_shared_library(const std::filesystem::path& path);

/// The first build id in the bytes: "v", three numbers and a time of 6 to 14 digits with dots between, and an optional
/// "_" with a build number. Empty when there is none.
std::string find_build_id(std::string_view bytes);

/// The part of a build id that all files of one SDK share: "2.51.0.260929181845". The number after "_" differs from one
/// platform to the other within a release.
std::string_view release_of(std::string_view build);

/// Which of the texts occur in a file. Errors: the file cannot be read. Of larger files the first 256 MiB are searched.
Result<std::vector<bool>> find_texts(const std::filesystem::path& path, std::span<const std::string_view> texts);

}  // namespace qnndbg::lint
