#include "qnn/model_graph.h"

#include <cstring>

namespace qnndbg::qnn {
namespace {

/// Bits of a block's multiplier: MNN writes 1 to 16.
constexpr std::uint32_t kBlockScaleBits = 4;

TensorKind kind_of(QnnTensorKind kind, ModelGraph::Intermediates intermediates) {
  switch (kind) {
    case QnnTensorKind::input: return TensorKind::app_write;
    case QnnTensorKind::output: return TensorKind::app_read;
    case QnnTensorKind::static_data: return TensorKind::static_data;
    case QnnTensorKind::native: break;
  }
  return intermediates == ModelGraph::Intermediates::readable ? TensorKind::app_read : TensorKind::native;
}

std::vector<std::uint32_t> dims_of(const Dims& dims) {
  std::vector<std::uint32_t> result;
  for (const std::int64_t extent : dims) result.push_back(static_cast<std::uint32_t>(extent));
  return result;
}

/// Elements of a tensor parameter. Precondition: `type` is a 32-bit integer type; u32 values wrap.
Bytes bytes_of(const QnnTensorParam& param) {
  Bytes bytes(param.values.size() * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < param.values.size(); ++i) {
    const auto value = static_cast<std::uint32_t>(param.values[i]);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

}  // namespace

QuantizationSpec quantization_of(const QnnEncoding& encoding) {
  QuantizationSpec spec;
  switch (encoding.kind) {
    case QnnEncoding::Kind::none: return spec;
    case QnnEncoding::Kind::per_tensor: spec.kind = QuantizationSpec::Kind::tensor; break;
    case QnnEncoding::Kind::per_axis:
    case QnnEncoding::Kind::per_axis_4bit: spec.kind = QuantizationSpec::Kind::axis; break;
    case QnnEncoding::Kind::blockwise: spec.kind = QuantizationSpec::Kind::blockwise; break;
  }
  spec.axis = encoding.axis;
  spec.bitwidth = static_cast<std::uint32_t>(encoding.bit_width);
  for (const Encoding& value : encoding.values) {
    spec.scales.push_back(static_cast<float>(value.scale));
    spec.offsets.push_back(static_cast<std::int32_t>(value.offset));
  }
  if (encoding.kind == QnnEncoding::Kind::blockwise) {
    spec.blocks_per_slice = encoding.blocks;
    spec.block_scale_bits = kBlockScaleBits;
    spec.block_scales.assign(encoding.block_scales.begin(), encoding.block_scales.end());
  }
  return spec;
}

ByteView ModelGraph::keep(Bytes bytes) { return storage_.emplace_back(std::move(bytes)); }

Result<void> ModelGraph::add_tensor(const QnnGraphTensor& tensor, Intermediates intermediates) {
  TensorSpec spec;
  spec.name = tensor.name;
  spec.kind = kind_of(tensor.kind, intermediates);
  spec.type = tensor.type.type;
  spec.dims = dims_of(tensor.dims);
  spec.quantization = quantization_of(tensor.type.encoding);
  if (spec.kind == TensorKind::static_data) {
    if (!tensor.data) return fail("{}: a static tensor without data", tensor.name);
    Result<Bytes> data = tensor.data();
    if (!data) return fail("{}: {}", tensor.name, data.error().message);
    spec.data = keep(std::move(*data));
  }
  spec_.tensors.push_back(std::move(spec));
  return {};
}

Result<void> ModelGraph::add_node(const QnnGraphNode& node) {
  NodeSpec spec;
  spec.name = node.name;
  spec.package = kQnnPackage;
  spec.type = node.type;
  for (const int input : node.inputs) spec.inputs.push_back(spec_.tensors[static_cast<std::size_t>(input)].name);
  for (const int output : node.outputs) spec.outputs.push_back(spec_.tensors[static_cast<std::size_t>(output)].name);
  for (const QnnGraphParam& param : node.params) {
    ParamSpec made{param.name, ScalarSpec{}};
    if (const auto* tensor = std::get_if<QnnTensorParam>(&param.value)) {
      TensorSpec values;
      values.name = param.tensor_name;
      values.kind = TensorKind::static_data;
      values.type = tensor->type;
      values.dims = dims_of(tensor->dims);
      values.data = keep(bytes_of(*tensor));
      made.value = std::move(values);
    } else if (const auto* u32 = std::get_if<std::uint32_t>(&param.value)) {
      made.value = ScalarSpec(*u32);
    } else if (const auto* i32 = std::get_if<std::int32_t>(&param.value)) {
      made.value = ScalarSpec(*i32);
    } else if (const auto* f32 = std::get_if<float>(&param.value)) {
      made.value = ScalarSpec(*f32);
    } else {
      made.value = ScalarSpec(std::get<bool>(param.value));
    }
    spec.params.push_back(std::move(made));
  }
  spec_.nodes.push_back(std::move(spec));
  return {};
}

Result<ModelGraph> ModelGraph::make(const QnnGraph& graph, const std::string& name, Intermediates intermediates) {
  ModelGraph made(graph);
  made.spec_.name = name;
  for (const QnnGraphTensor& tensor : graph.tensors)
    if (auto added = made.add_tensor(tensor, intermediates); !added) return fail(added.error());
  for (const QnnGraphNode& node : graph.nodes)
    if (auto added = made.add_node(node); !added) return fail(added.error());
  return made;
}

}  // namespace qnndbg::qnn
