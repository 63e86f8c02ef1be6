// What a context binary holds, read through libQnnSystem.so, which lies beside libQnnHtp.so.
//
// A binary comes from anywhere, and the library reads it with its own parser: use Worker::read_binary.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qnn/call_error.h"
#include "qnn/specs.h"

namespace qnndbg::qnn {

struct BinaryTensor {
  std::string name;
  std::uint32_t kind = 0;  // TensorKind's numbers
  std::uint32_t type = 0;  // QNN's number (tensor/dtype.h)
  std::vector<std::uint32_t> dims;
  QuantizationSpec quantization;                    // kinds none, tensor and axis
  std::uint32_t encoding_number = abi::kUndefined;  // QNN's, also for those that `quantization` cannot hold
};

struct BinaryGraph {
  std::string name;
  std::vector<BinaryTensor> inputs;
  std::vector<BinaryTensor> outputs;
};

struct BinaryInfo {
  std::uint32_t version = 0;  // of the description
  std::uint32_t backend_id = 0;
  std::string build_id;  // of the SDK that made it
  std::string core_api;
  std::string backend_api;
  std::string soc_version;  // the library's words; may be empty
  int soc = 0;              // QNN's number; 0: not told
  int arch = 0;             // HTP architecture; 0: not told
  std::vector<BinaryGraph> graphs = {};
};

/// `library` is libQnnSystem.so. Errors: as Library::open; the bytes are no context binary (QNN's 30010), or a
/// description of a version that is not known.
CallResult<BinaryInfo> read_context_binary(const std::filesystem::path& library, ByteView binary);

}  // namespace qnndbg::qnn
