// What a device left behind: the directory that MNN's QNN backend writes with MNN_QNN_DUMP_INTERMEDIATE_OUTPUTS.
//
// Per execution N there is manifest_%06N.tsv (tab separated; header: index name file data_type dimensions
// quant_encoding scale offset) and one raw file per tensor: dense, little-endian, QNN element type, device order.
//
// Nothing in the directory is trusted: a line or a file that is not as it should be becomes a DumpEntry with a
// `problem`, and the rest goes on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "tensor/mapped_file.h"
#include "tensor/tensor.h"

namespace qnndbg {

/// One manifest line.
struct DumpEntry {
  int line = 0;                // 1-based line of the manifest
  std::string name;            // as the backend calls the tensor: "t20", "t20_cast", "stem_c_ReluTensor"
  std::filesystem::path file;  // inside the dump directory
  DType type = DType::f16;
  Dims dims;                         // device order
  std::optional<Encoding> encoding;  // present when quant_encoding is 0 (scale and offset)
  std::uint32_t quant_encoding = 0;  // QNN's number; 2147483647: none
  std::string problem;               // why it cannot be used, with file and line; empty: usable
};

/// One graph execution: one manifest.
struct Execution {
  std::uint64_t number = 0;
  std::filesystem::path manifest;
  std::vector<DumpEntry> entries;     // manifest order, including unusable ones
  std::vector<std::string> problems;  // about the manifest itself (bad header, torn last line) and every unusable entry
  /// True when the header is right, the last line ends with a newline and every file is there with its full size.
  bool complete = false;
};

class Dump {
 public:
  /// Reads the directory: lists manifests, parses only what select() asks for. Errors: no such directory, no manifest
  /// in it.
  static Result<Dump> open(const std::filesystem::path& directory);

  const std::filesystem::path& directory() const { return directory_; }
  /// Execution numbers found, ascending.
  const std::vector<std::uint64_t>& numbers() const { return numbers_; }

  /// Parses one execution and checks every file's size against dims x type.
  Result<Execution> read(std::uint64_t number) const;

  /// The last complete execution; if none is complete, the last one (its `problems` say why).
  Result<Execution> read_last_complete() const;

  /// Maps an entry's raw file. Errors: the entry has a problem, or the file changed since it was read.
  static Result<MappedFile> map(const DumpEntry& entry);

 private:
  std::filesystem::path directory_;
  std::vector<std::uint64_t> numbers_;
};

/// Parses manifest text. File columns are resolved against `directory` and must not leave it; files are not looked at
/// (so that it can be fuzzed). `manifest` stands in messages.
Execution parse_manifest(std::string_view text, const std::filesystem::path& manifest,
                         const std::filesystem::path& directory);

/// What a dumped name stands for.
struct DumpRole {
  enum class Kind : std::uint8_t {
    tensor,       // "t20": the model's tensor itself
    cast,         // "t20_cast": its fp16 side at the graph's ends
    dequant,      // "t20_dequant": its quantized side at the graph's output
    stage,        // "<node>_<stage>": inside an operator
    quant_stage,  // "QnnTensor_7": inserted by the backend
    attention,    // "_mnn_...": attention state
    unknown,
  };
  Kind kind = Kind::unknown;
  int tensor = -1;    // tensor, cast, dequant
  int op = -1;        // stage
  std::string stage;  // stage: what follows "<node>_"
};

/// Maps dumped names to the graph: t<i> first, then the longest operator node name that is a prefix followed by '_'.
class DumpNames {
 public:
  explicit DumpNames(const Graph& graph);
  DumpRole role(std::string_view name) const;

 private:
  std::unordered_map<std::string, int> node_to_op_;
  std::size_t tensor_count_ = 0;
};

}  // namespace qnndbg
