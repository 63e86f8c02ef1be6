#include "qnn/system_library.h"

#include <algorithm>

#include "qnn/api.h"
#include "qnn/library.h"

namespace qnndbg::qnn {
namespace {

constexpr std::uint32_t kMostTensors = 1U << 20U;
constexpr std::uint32_t kMostGraphs = 4096;
constexpr std::uint32_t kMostRank = 64;
constexpr std::uint32_t kMostScales = 1U << 24U;

std::string text_of(const char* text) { return text == nullptr ? std::string() : std::string(text); }

struct SystemFunctions {
  abi::Status (*create)(abi::SystemContextHandle*);
  abi::Status (*binary_info)(abi::SystemContextHandle, void*, std::uint64_t, const abi::BinaryInfo**, std::uint64_t*);
  abi::Status (*free)(abi::SystemContextHandle);
};

CallResult<SystemFunctions> load(const std::filesystem::path& path) {
  CallResult<void*> symbol = load_symbol(path, abi::kGetSystemProvidersSymbol, "QNN's system library");
  if (!symbol) return fail(std::move(symbol.error()));
  const abi::SystemProvider** list = nullptr;
  std::uint32_t count = 0;
  const abi::Status status = reinterpret_cast<abi::GetSystemProviders>(*symbol)(&list, &count);
  if (status != abi::kSuccess) return fail(refusal("QnnSystemInterface_getProviders", path.string(), status));
  if (list == nullptr || count == 0 || list[0] == nullptr)
    return fail(Failure::library, "{}: the library offers no provider", path.string());
  const abi::SystemProvider& provider = *list[0];
  if (provider.version.major_number != 1)
    return fail(Failure::library,
                "{}: system API {} is none of 1.x, the only ones that this version of qnn-debug knows", path.string(),
                to_string(provider.version));
  // Before 1.2 (SDK 2.30; 1.1 is SDK 2.13) tensors and graphs have other sizes.
  if (provider.version.minor_number < 2)
    return fail(Failure::library, "{}: system API {} is too old to read context binaries: 1.2 or later is needed",
                path.string(), to_string(provider.version));
  // Slots: create, binary info, the same for const buffers (later), free.
  if (provider.slots[0] == nullptr || provider.slots[1] == nullptr || provider.slots[3] == nullptr)
    return fail(Failure::library, "{}: the library cannot read context binaries", path.string());
  return SystemFunctions{
      .create = reinterpret_cast<decltype(SystemFunctions::create)>(provider.slots[0]),
      .binary_info = reinterpret_cast<decltype(SystemFunctions::binary_info)>(provider.slots[1]),
      .free = reinterpret_cast<decltype(SystemFunctions::free)>(provider.slots[3]),
  };
}

void read_encoding(const abi::QuantizeParams& params, BinaryTensor& tensor) {
  tensor.encoding_number = static_cast<std::uint32_t>(params.kind);
  if (params.definition != abi::Definition::defined) return;
  QuantizationSpec& out = tensor.quantization;
  const auto add = [&out](const abi::ScaleOffset& value) {
    out.scales.push_back(value.scale);
    out.offsets.push_back(value.offset);
  };
  switch (params.kind) {
    case abi::EncodingKind::scale_offset:
      out.kind = QuantizationSpec::Kind::tensor;
      add(params.scale_offset);
      return;
    case abi::EncodingKind::bw_scale_offset:
      out.kind = QuantizationSpec::Kind::tensor;
      out.bitwidth = params.bw.bitwidth;
      add({.scale = params.bw.scale, .offset = params.bw.offset});
      return;
    case abi::EncodingKind::axis_scale_offset:
      if (params.axis.values == nullptr) return;
      out.kind = QuantizationSpec::Kind::axis;
      out.axis = params.axis.axis;
      for (std::uint32_t i = 0; i < std::min(params.axis.count, kMostScales); ++i) add(params.axis.values[i]);
      return;
    default: return;
  }
}

std::vector<BinaryTensor> read_tensors(const abi::Tensor* tensors, std::uint32_t count) {
  std::vector<BinaryTensor> out;
  if (tensors == nullptr) return out;
  for (std::uint32_t i = 0; i < std::min(count, kMostTensors); ++i) {
    // Both versions of a tensor agree in all that is read here.
    const abi::TensorFields& fields = tensors[i].fields;
    BinaryTensor tensor;
    tensor.name = text_of(fields.name);
    tensor.kind = static_cast<std::uint32_t>(fields.kind);
    tensor.type = fields.type;
    if (fields.dims != nullptr) tensor.dims.assign(fields.dims, fields.dims + std::min(fields.rank, kMostRank));
    read_encoding(fields.quantization, tensor);
    out.push_back(std::move(tensor));
  }
  return out;
}

std::vector<BinaryGraph> read_graphs(const abi::GraphInfo* graphs, std::uint32_t count) {
  std::vector<BinaryGraph> out;
  if (graphs == nullptr) return out;
  for (std::uint32_t i = 0; i < std::min(count, kMostGraphs); ++i) {
    const abi::GraphInfoV1& graph = graphs[i].common;
    out.push_back({.name = text_of(graph.name),
                   .inputs = read_tensors(graph.inputs, graph.input_count),
                   .outputs = read_tensors(graph.outputs, graph.output_count)});
  }
  return out;
}

/// Only from HTP's blob of version 1, and only what fits into it.
int arch_of(const abi::BinaryInfoV3& info) {
  if (info.head.backend_id != abi::kHtpBackendId || info.metadata == nullptr ||
      info.metadata_bytes < sizeof(abi::HtpContextBlob))
    return 0;
  const auto* blob = static_cast<const abi::HtpContextBlob*>(info.metadata);
  return blob->version == 1 ? static_cast<int>(blob->arch) : 0;
}

CallResult<BinaryInfo> read(const abi::BinaryInfo& info) {
  if (info.version < 1 || info.version > 3)
    return fail(Failure::library, "the context binary is described in version {}, which is not known", info.version);
  const abi::BinaryInfoHead& head = info.version == 3 ? info.v3.head : info.v1.head;
  BinaryInfo out{.version = info.version,
                 .backend_id = head.backend_id,
                 .build_id = text_of(head.build_id),
                 .core_api = to_string(head.core_api),
                 .backend_api = to_string(head.backend_api),
                 .soc_version = text_of(head.soc_version)};
  if (info.version == 3) {
    out.soc = static_cast<int>(info.v3.soc_model);
    out.arch = arch_of(info.v3);
    out.graphs = read_graphs(info.v3.graphs, info.v3.graph_count);
  } else {
    out.graphs = read_graphs(info.v1.graphs, info.v1.graph_count);
  }
  return out;
}

}  // namespace

CallResult<BinaryInfo> read_context_binary(const std::filesystem::path& library, ByteView binary) {
  CallResult<SystemFunctions> functions = load(library);
  if (!functions) return fail(std::move(functions.error()));
  abi::SystemContextHandle handle = nullptr;
  abi::Status status = functions->create(&handle);
  if (status != abi::kSuccess) return fail(refusal("systemContextCreate", {}, status));
  const Owned<abi::SystemContextHandle> context(handle, functions->free);
  // The library takes a buffer that it may change and points into.
  Bytes buffer(binary.begin(), binary.end());
  const abi::BinaryInfo* info = nullptr;
  std::uint64_t info_bytes = 0;
  status = functions->binary_info(handle, buffer.data(), buffer.size(), &info, &info_bytes);
  if (status != abi::kSuccess) return fail(refusal("systemContextGetBinaryInfo", {}, status));
  if (info == nullptr) return fail(Failure::protocol, "systemContextGetBinaryInfo gave no description");
  return read(*info);
}

}  // namespace qnndbg::qnn
