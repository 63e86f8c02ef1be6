// From bytes to a verified wire::Net, and from there to a Graph.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "graph/graph.h"
#include "graph/mnn_wire.h"

namespace qnndbg {

/// Runs the FlatBuffers verifier; after that every accessor of the Net and all below it is safe. Also requires the
/// operator list and the tensor names, as MNN does. Precondition: bytes begin at a multiple of 8.
Result<const wire::Net*> verified_net(std::span<const std::byte> bytes);

/// Builds the graph; `file_bytes` bounds how much may be copied out of a file whose parts are shared. Errors: a tensor
/// index out of range, a tensor made twice, an operator that reads what is made later, an input of a type that is no
/// number.
Result<Graph> read_graph(const wire::Net& net, std::size_t file_bytes);

/// "Deconvolution" for MNN's OpType number 17; "OpType 1234" for a number without a name.
std::string operator_type_name(int number);

/// MNN's storage format behind a wire number; unknown for numbers without a name and for NHWC4.
MnnFormat format_of(wire::Layout layout);

/// True if everything that computes is a QNN Plugin: what MNN's offline converter writes.
bool is_offline_plugin(const wire::Net& net);

}  // namespace qnndbg
