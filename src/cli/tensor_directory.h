// A directory of tensors: index.json (schema "qnn-debug/tensors/1") and one tN.npy per tensor. docs/cli.md describes
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "diagnose/baseline.h"

namespace qnndbg::cli {

class TensorDirectory {
 public:
  /// Makes the directory, or takes over an earlier one of ours, whose files are deleted. A directory that holds
  /// anything else is an error unless `force` is set; other people's files are never deleted.
  static Result<TensorDirectory> create(const std::filesystem::path& path, const std::string& model, bool force);

  /// Writes tN.npy. File names come from the tensor's number alone.
  Result<void> add(const BaselineTensor& tensor, const std::string& op);

  /// Writes the final index.json, which says that the directory is complete.
  Result<void> finish();

  std::size_t count() const { return rows_.size(); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  TensorDirectory(std::filesystem::path path, std::string model) : path_(std::move(path)), model_(std::move(model)) {}

  std::filesystem::path path_;
  std::string model_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
  std::uint64_t bytes_ = 0;
};

}  // namespace qnndbg::cli
