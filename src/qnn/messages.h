// What the tool asks of its worker and what comes back, field by field (archive.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qnn/archive.h"
#include "qnn/session.h"
#include "qnn/system_library.h"

namespace qnndbg::qnn {

enum class RequestKind : std::uint32_t {
  open = 1,
  operations,
  known_socs,
  validate,
  finalize,
  execute,
  context_binary,
  read_binary,
};

struct ValidateRequest {
  NodeSpec node;
  std::vector<TensorSpec> tensors;
};
struct FinalizeRequest {
  GraphSpec graph;
  FinalizeOptions options;
};
struct ExecuteRequest {
  std::vector<NamedData> inputs;
  Profiling profiling = Profiling::off;
};
struct ReadBinaryRequest {
  std::string library;
  ByteView binary;
};
/// For requests that need nothing said.
struct NoArguments {
  std::uint8_t unused = 0;
};

/// Either what was asked for or an error.
template <class T>
struct Reply {
  bool good = false;
  T value{};
  CallError error{.failure = Failure::protocol, .message = {}};
};

// Types of an element must not be empty in bytes: Reader bounds counts by that.

template <class A>
void fields(A& a, QuantizationSpec& v) {
  a(v.kind), a(v.axis), a(v.bitwidth), a(v.scales), a(v.offsets);
  a(v.blocks_per_slice), a(v.block_scale_bits), a(v.block_scales);
}
template <class A>
void fields(A& a, TensorSpec& v) {
  a(v.name), a(v.kind), a(v.type), a(v.dims), a(v.quantization), a(v.data);
}
template <class A>
void fields(A& a, ParamSpec& v) {
  a(v.name), a(v.value);
}
template <class A>
void fields(A& a, NodeSpec& v) {
  a(v.name), a(v.package), a(v.type), a(v.params), a(v.inputs), a(v.outputs);
}
template <class A>
void fields(A& a, GraphSpec& v) {
  a(v.name), a(v.tensors), a(v.nodes);
}
template <class A>
void fields(A& a, NamedData& v) {
  a(v.name), a(v.data);
}
template <class A>
void fields(A& a, LogLine& v) {
  a(v.level), a(v.text);
}
template <class A>
void fields(A& a, CallError& v) {
  a(v.failure), a(v.message), a(v.code), a(v.function), a(v.node), a(v.signal), a(v.exit_status), a(v.log), a(v.output);
}
template <class A>
void fields(A& a, Target& v) {
  a(v.soc), a(v.arch);
}
template <class A>
void fields(A& a, SessionOptions& v) {
  a(v.library), a(v.target), a(v.log_level);
}
template <class A>
void fields(A& a, LibraryInfo& v) {
  a(v.path), a(v.provider), a(v.build_id), a(v.core_api), a(v.backend_api), a(v.api_checked);
}
template <class A>
void fields(A& a, SessionInfo& v) {
  a(v.library), a(v.target);
}
template <class A>
void fields(A& a, OperationId& v) {
  a(v.package), a(v.name);
}
template <class A>
void fields(A& a, KnownSoc& v) {
  a(v.soc), a(v.name), a(v.arch);
}
template <class A>
void fields(A& a, Verdict& v) {
  a(v.accepted), a(v.code), a(v.log);
}
template <class A>
void fields(A& a, NodeRefusal& v) {
  a(v.node), a(v.function), a(v.verdict);
}
template <class A>
void fields(A& a, ProfileEvent& v) {
  a(v.name), a(v.type), a(v.unit), a(v.value), a(v.children);
}
template <class A>
void fields(A& a, GraphConfig& v) {
  a(v.precision), a(v.optimization_level);
}
template <class A>
void fields(A& a, FinalizeOptions& v) {
  a(v.config), a(v.profiling), a(v.validate_nodes), a(v.skip_refused);
}
template <class A>
void fields(A& a, FinalizeReport& v) {
  a(v.refused), a(v.log), a(v.profile), a(v.microseconds);
}
template <class A>
void fields(A& a, ExecuteReport& v) {
  a(v.outputs), a(v.log), a(v.profile), a(v.microseconds);
}
template <class A>
void fields(A& a, BinaryTensor& v) {
  a(v.name), a(v.kind), a(v.type), a(v.dims), a(v.quantization), a(v.encoding_number);
}
template <class A>
void fields(A& a, BinaryGraph& v) {
  a(v.name), a(v.inputs), a(v.outputs);
}
template <class A>
void fields(A& a, BinaryInfo& v) {
  a(v.version), a(v.backend_id), a(v.build_id), a(v.core_api), a(v.backend_api), a(v.soc_version), a(v.soc), a(v.arch);
  a(v.graphs);
}
template <class A>
void fields(A& a, ValidateRequest& v) {
  a(v.node), a(v.tensors);
}
template <class A>
void fields(A& a, FinalizeRequest& v) {
  a(v.graph), a(v.options);
}
template <class A>
void fields(A& a, ExecuteRequest& v) {
  a(v.inputs), a(v.profiling);
}
template <class A>
void fields(A& a, ReadBinaryRequest& v) {
  a(v.library), a(v.binary);
}
template <class A>
void fields(A& a, NoArguments& v) {
  a(v.unused);
}
template <class A, class T>
void fields(A& a, Reply<T>& v) {
  a(v.good);
  if (v.good)
    a(v.value);
  else
    a(v.error);
}

}  // namespace qnndbg::qnn
