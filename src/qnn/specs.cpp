#include "qnn/specs.h"

#include <limits>
#include <set>
#include <string_view>

namespace qnndbg::qnn {
namespace {

constexpr std::size_t kMostDims = 8;  // HTP's operators stop at 5

Result<void> check_quantization(const TensorSpec& tensor) {
  const QuantizationSpec& quantization = tensor.quantization;
  using Kind = QuantizationSpec::Kind;
  if (quantization.kind == Kind::none) return {};
  if (!quantization.offsets.empty() && quantization.offsets.size() != quantization.scales.size())
    return fail("tensor `{}`: {} scales but {} offsets", tensor.name, quantization.scales.size(),
                quantization.offsets.size());
  std::size_t wanted = 1;
  if (quantization.kind != Kind::tensor) {
    if (quantization.axis < 0 || static_cast<std::size_t>(quantization.axis) >= tensor.dims.size())
      return fail("tensor `{}`: its encoding is along axis {}, but it has {} dimensions", tensor.name,
                  quantization.axis, tensor.dims.size());
    wanted = tensor.dims[static_cast<std::size_t>(quantization.axis)];
  }
  if (quantization.scales.size() != wanted)
    return fail("tensor `{}`: its encoding has {} scales instead of {}", tensor.name, quantization.scales.size(),
                wanted);
  if (quantization.kind != Kind::blockwise) return {};
  if (quantization.block_scale_bits < 1 || quantization.block_scale_bits > 16)
    return fail("tensor `{}`: block scales of {} bits", tensor.name, quantization.block_scale_bits);
  if (quantization.blocks_per_slice == 0 ||
      quantization.block_scales.size() != wanted * std::size_t{quantization.blocks_per_slice})
    return fail("tensor `{}`: its encoding has {} block scales instead of {} x {}", tensor.name,
                quantization.block_scales.size(), wanted, quantization.blocks_per_slice);
  return {};
}

/// QNN's strings end with a zero byte: a name with one inside would be another name there.
bool is_c_string(std::string_view text) { return !text.empty() && text.find('\0') == std::string_view::npos; }

Result<void> check_param(const NodeSpec& node, const ParamSpec& param) {
  if (!is_c_string(param.name)) return fail("node `{}`: a parameter without a name", node.name);
  const auto* tensor = std::get_if<TensorSpec>(&param.value);
  if (tensor == nullptr) return {};
  if (tensor->kind != TensorKind::static_data)
    return fail("node `{}`: the tensor of parameter `{}` is not static", node.name, param.name);
  const Result<void> checked = check(*tensor);
  return checked ? checked : fail("node `{}`: parameter `{}`: {}", node.name, param.name, checked.error().message);
}

using Names = std::set<std::string_view>;

Result<void> check_node(const NodeSpec& node, const Names& tensors) {
  if (!is_c_string(node.name) || !is_c_string(node.type) || !is_c_string(node.package))
    return fail("node `{}`: name, type or package is empty or has a zero byte inside", node.name);
  for (const std::vector<std::string>* list : {&node.inputs, &node.outputs})
    for (const std::string& name : *list)
      if (!tensors.contains(name)) return fail("node `{}`: there is no tensor `{}`", node.name, name);
  for (const ParamSpec& param : node.params)
    if (Result<void> checked = check_param(node, param); !checked) return checked;
  return {};
}

}  // namespace

Result<std::uint64_t> byte_size(const TensorSpec& tensor) {
  if (tensor.dims.size() > kMostDims) return fail("tensor `{}` has {} dimensions", tensor.name, tensor.dims.size());
  // Each factor is below 2^32 and the product is checked at each step, so that it stays below 2^64.
  std::uint64_t bytes = size_of(tensor.type);
  for (const std::uint32_t extent : tensor.dims) {
    bytes *= extent;
    if (bytes > std::numeric_limits<std::uint32_t>::max())
      return fail("tensor `{}` is larger than 4 GiB, where QNN's buffers end", tensor.name);
  }
  return bytes;
}

Result<void> check(const TensorSpec& tensor) {
  if (!is_c_string(tensor.name)) return fail("a tensor's name is empty or has a zero byte inside: `{}`", tensor.name);
  const Result<std::uint64_t> bytes = byte_size(tensor);
  if (!bytes) return fail(bytes.error());
  const bool is_static = tensor.kind == TensorKind::static_data;
  if (is_static && tensor.data.size() != *bytes)
    return fail("tensor `{}` needs {} bytes of data and has {}", tensor.name, *bytes, tensor.data.size());
  if (!is_static && !tensor.data.empty()) return fail("tensor `{}` has data but is not static", tensor.name);
  return check_quantization(tensor);
}

Result<void> check(const GraphSpec& graph) {
  if (!is_c_string(graph.name)) return fail("a graph's name is empty or has a zero byte inside: `{}`", graph.name);
  Names tensors;
  for (const TensorSpec& tensor : graph.tensors) {
    if (Result<void> checked = check(tensor); !checked) return checked;
    if (!tensors.insert(tensor.name).second) return fail("tensor `{}` is there twice", tensor.name);
  }
  Names nodes;
  for (const NodeSpec& node : graph.nodes) {
    if (Result<void> checked = check_node(node, tensors); !checked) return checked;
    if (!nodes.insert(node.name).second) return fail("node `{}` is there twice", node.name);
  }
  return {};
}

void make_readable(GraphSpec& graph) {
  for (TensorSpec& tensor : graph.tensors)
    if (tensor.kind == TensorKind::native) tensor.kind = TensorKind::app_read;
}

}  // namespace qnndbg::qnn
