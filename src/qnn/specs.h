// Nodes, tensors and graphs in QNN's own terms, as plain data: what a caller describes, and what goes to the process
// that runs the library.
//
// Nodes name their tensors. Static data is not owned: it must live until the call that takes the description returns.
//
//   GraphSpec graph{.name = "g"};
//   graph.tensors.push_back({.name = "x", .kind = TensorKind::app_write, .type = DType::f16, .dims = {1, 8}});
//   graph.tensors.push_back({.name = "y", .kind = TensorKind::app_read, .type = DType::f16, .dims = {1, 8}});
//   graph.nodes.push_back({.name = "relu", .type = "Relu", .inputs = {"x"}, .outputs = {"y"}});
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "qnn/abi.h"
#include "tensor/dtype.h"
#include "tensor/result.h"

namespace qnndbg::qnn {

using TensorKind = abi::TensorKind;
using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

/// How stored integers stand for real numbers: real = (q + offset) * scale.
struct QuantizationSpec {
  enum class Kind : std::uint8_t { none, tensor, axis, blockwise };
  Kind kind = Kind::none;
  std::int32_t axis = 0;                   // Kind::axis, Kind::blockwise
  std::uint32_t bitwidth = 0;              // true width of narrower numbers in a wider type; 0: the type's own
  std::vector<float> scales = {};          // one, or one for each slice of the axis
  std::vector<std::int32_t> offsets = {};  // as many as scales; empty: all zero
  std::uint32_t blocks_per_slice = 0;      // Kind::blockwise
  std::uint32_t block_scale_bits = 0;      // Kind::blockwise: 1 to 16
  std::vector<std::uint16_t> block_scales =
      {};  // Kind::blockwise: factor of block b in slice a at a * blocks_per_slice + b
  bool operator==(const QuantizationSpec&) const = default;
};

struct TensorSpec {
  std::string name;
  TensorKind kind = TensorKind::native;
  DType type = DType::f32;
  std::vector<std::uint32_t> dims;  // QNN's order, the last one varies fastest
  QuantizationSpec quantization = {};
  ByteView data = {};  // TensorKind::static_data only
};

using ScalarSpec = std::variant<bool, std::int32_t, std::uint32_t, float>;

struct ParamSpec {
  std::string name;
  std::variant<ScalarSpec, TensorSpec> value;  // a tensor must be static
};

struct NodeSpec {
  std::string name;
  std::string package = "qti.aisw";  // QNN's name for its own operators
  std::string type;                  // "Conv2d"
  std::vector<ParamSpec> params = {};
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
};

struct GraphSpec {
  std::string name;
  std::vector<TensorSpec> tensors = {};
  std::vector<NodeSpec> nodes = {};  // in an order in which each input is there already
};

/// Values of one tensor.
struct NamedData {
  std::string name;
  ByteView data;
};

/// Bytes of a tensor's elements.
Result<std::uint64_t> byte_size(const TensorSpec& tensor);

/// Refuses what would make the library read beyond its buffers: more than 8 dimensions, sizes beyond 4 GiB, data whose
/// size is not that of the dims, data without kind static and the other way round, encodings that do not fit.
Result<void> check(const TensorSpec& tensor);

/// check() for every tensor and parameter, and: names are unique and not empty, nodes name tensors that are there.
Result<void> check(const GraphSpec& graph);

/// Makes every tensor between nodes an output of the graph, so that execute() returns it. The library fuses fewer nodes
/// then, as it does when MNN dumps its tensors.
void make_readable(GraphSpec& graph);

}  // namespace qnndbg::qnn
