// Which encoding holds for which tensor: declared ones, and those that MNN hands on while it marks a graph as quantized
// (docs/mnn-format.md, quantized tensors).
#include <algorithm>
#include <array>

#include "graph/graph.h"
#include "graph/mnn_wire.h"

namespace qnndbg {
namespace {

constexpr auto kKeepers = std::to_array<int>({
    wire::Kind_ReLU,      wire::Kind_ReLU6,         wire::Kind_Pooling,     wire::Kind_Pooling3D,
    wire::Kind_Interp,    wire::Kind_Concat,        wire::Kind_Reshape,     wire::Kind_Flatten,
    wire::Kind_Squeeze,   wire::Kind_Unsqueeze,     wire::Kind_ExpandDims,  wire::Kind_Permute,
    wire::Kind_Transpose, wire::Kind_Slice,         wire::Kind_SliceTf,     wire::Kind_StridedSlice,
    wire::Kind_GatherV2,  wire::Kind_Padding,       wire::Kind_Pack,        wire::Kind_Unpack,
    wire::Kind_Identity,  wire::Kind_ConvertTensor, wire::Kind_BroadcastTo,
});

}  // namespace

bool keeps_encoding(const OpNode& op) { return std::find(kKeepers.begin(), kKeepers.end(), op.type) != kKeepers.end(); }

void inherit_encodings(Graph& graph) {
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].encoding) graph.tensors[t].encoding_source = static_cast<int>(t);
  }
  for (const OpNode& op : graph.ops) {
    if (op.inputs.empty() || op.inputs.front() < 0 || !keeps_encoding(op)) continue;
    // Operands behind the first are parameters, or parts of a concatenation, which takes the first part's encoding.
    const int source = graph.tensors[static_cast<std::size_t>(op.inputs.front())].encoding_source;
    for (int output : op.outputs) {
      TensorNode& made = graph.tensors[static_cast<std::size_t>(output)];
      if (made.encoding_source < 0) made.encoding_source = source;
    }
  }
}

const Encoding* Graph::meant_encoding(int tensor) const {
  const int from = tensors[static_cast<std::size_t>(tensor)].encoding_source;
  return from < 0 ? nullptr : &*tensors[static_cast<std::size_t>(from)].encoding;
}

std::optional<DType> Graph::meant_quantized_type(int tensor) const {
  const int from = tensors[static_cast<std::size_t>(tensor)].encoding_source;
  return from < 0 ? std::nullopt : tensors[static_cast<std::size_t>(from)].quantized_type;
}

}  // namespace qnndbg
