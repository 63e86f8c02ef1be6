// Side files: weights that a converter kept out of the `.mnn` file (--saveExternalData).
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "tensor/mapped_file.h"
#include "tensor/result.h"

namespace qnndbg {

/// The side files of one model, mapped when the model is opened, so that weights can be read from several threads.
/// A file that is missing is an error only for the operator that needs it.
class SideFiles {
 public:
  /// No side file at all: every read fails (a model that was given as memory).
  SideFiles() = default;

  /// The side files of the model at `model`. `given` replaces all of them and must exist.
  static Result<SideFiles> open(const std::filesystem::path& model, const std::optional<std::filesystem::path>& given);

  /// Maps the file that an operator names itself (Op.externalPath), relative to the model's directory. The path comes
  /// from the model file: one that leads out of that directory, also through a symbolic link, is refused when it is
  /// read.
  void add(const std::string& external_path);

  /// `size` bytes at `offset` of the file for an operator with this external path (nullopt: the model's own side file).
  Result<std::span<const std::byte>> read(const std::optional<std::string>& external_path, std::int64_t offset,
                                          std::int64_t size) const;

 private:
  struct File {
    std::filesystem::path path;
    Result<MappedFile> map;
  };
  static Result<std::filesystem::path> inside(const std::filesystem::path& directory, const std::string& relative);
  Result<const File*> find(const std::optional<std::string>& external_path) const;

  std::filesystem::path model_;
  std::optional<File> common_;  // given by the user, or <model>.weight
  bool given_ = false;
  std::map<std::string, Result<std::filesystem::path>> named_;  // Op.externalPath -> canonical path
  std::map<std::filesystem::path, File> files_;
};

}  // namespace qnndbg
