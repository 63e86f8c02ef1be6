// The inputs that a run was given: inputs.json, or NAME=FILE.npy on the command line.
//
// inputs.json: {"inputs": [{"name", "dims", "dtype", "layout", "file"}], "outputs": [names]}; files are raw
// little-endian, relative to the json file, and must not leave its directory. layout "NHWC" is brought to the model's
// N, C, H, W order.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace qnndbg {

/// Input tensors by name, logical order, f32 (float kinds) or i32 (integer kinds).
using InputMap = std::map<std::string, Tensor, std::less<>>;

/// Reads `argument`s of --inputs: each is a path of an inputs.json or NAME=FILE.npy. Later ones replace earlier ones of
/// the same name. Errors name the file and the field.
Result<InputMap> read_inputs(const std::vector<std::string>& arguments);

/// inputs.json from memory; files are resolved against `directory`; `name` stands in messages.
Result<InputMap> parse_inputs_json(std::string_view text, const std::string& name,
                                   const std::filesystem::path& directory);

/// Joins `relative` to `directory` and refuses absolute paths and any that leaves it (.. or a symbolic link).
Result<std::filesystem::path> resolve_inside(const std::filesystem::path& directory, std::string_view relative);

}  // namespace qnndbg
