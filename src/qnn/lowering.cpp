#include "qnn/lowering.h"

#include <algorithm>

namespace qnndbg::qnn {
namespace {

abi::TensorFields empty_fields() {
  abi::TensorFields fields{};
  fields.kind = static_cast<TensorKind>(abi::kUndefined);
  fields.format = abi::kDenseFormat;
  fields.type = abi::kUndefined;
  fields.quantization.definition = abi::Definition::undefined;
  fields.quantization.kind = abi::EncodingKind::undefined;
  fields.memory = abi::MemoryKind::raw;
  return fields;
}

std::vector<abi::ScaleOffset> scale_offsets(const QuantizationSpec& quantization) {
  std::vector<abi::ScaleOffset> values;
  values.reserve(quantization.scales.size());
  for (std::size_t i = 0; i < quantization.scales.size(); ++i)
    values.push_back({quantization.scales[i], quantization.offsets.empty() ? 0 : quantization.offsets[i]});
  return values;
}

template <class Scalar>
Scalar lower_scalar(const ScalarSpec& value) {
  Scalar scalar{};
  if (const bool* flag = std::get_if<bool>(&value)) {
    scalar.type = qnn_number(DType::bool8);
    scalar.value.boolean = *flag ? 1 : 0;
  } else if (const auto* i32 = std::get_if<std::int32_t>(&value)) {
    scalar.type = qnn_number(DType::i32);
    scalar.value.i32 = *i32;
  } else if (const auto* u32 = std::get_if<std::uint32_t>(&value)) {
    scalar.type = qnn_number(DType::u32);
    scalar.value.u32 = *u32;
  } else {
    scalar.type = qnn_number(DType::f32);
    scalar.value.f32 = std::get<float>(value);
  }
  return scalar;
}

template <class Param, class Tensor, class Scalar>
Param lower_param(const ParamSpec& spec, const LoweredTensor* tensor) {
  Param param{};
  param.name = spec.name.c_str();
  if (tensor == nullptr) {
    param.kind = abi::ParamKind::scalar;
    param.scalar = lower_scalar<Scalar>(std::get<ScalarSpec>(spec.value));
    return param;
  }
  param.kind = abi::ParamKind::tensor;
  param.tensor = Tensor{};
  param.tensor.version = tensor->c.version;
  param.tensor.fields = tensor->c.fields;
  return param;
}

std::vector<const LoweredTensor*> found(const std::vector<std::string>& names, const LoweredNode::Find& find) {
  std::vector<const LoweredTensor*> tensors;
  for (const std::string& name : names) tensors.push_back(find(name));
  return tensors;
}

}  // namespace

LoweredTensor::LoweredTensor(const TensorSpec& spec) : name_(spec.name), dims_(spec.dims) {
  c.version = abi::kTensorVersion1;
  abi::TensorFields& fields = c.fields;
  fields = empty_fields();
  fields.name = name_.c_str();
  fields.kind = spec.kind;
  fields.type = qnn_number(spec.type);
  fields.rank = static_cast<std::uint32_t>(dims_.size());
  fields.dims = dims_.data();
  if (!spec.data.empty()) {
    // The library only reads static data; its structure has one pointer for reading and writing.
    fields.buffer.data = const_cast<std::byte*>(spec.data.data());
    fields.buffer.bytes = static_cast<std::uint32_t>(spec.data.size());
  }
  lower(spec.quantization);
}

void LoweredTensor::lower(const QuantizationSpec& quantization) {
  using Kind = QuantizationSpec::Kind;
  if (quantization.kind == Kind::none) return;
  if (quantization.kind == Kind::blockwise) return lower_blockwise(quantization);
  abi::QuantizeParams& params = c.fields.quantization;
  params.definition = abi::Definition::defined;
  scale_offsets_ = scale_offsets(quantization);
  const bool narrow = quantization.bitwidth != 0;
  if (quantization.kind == Kind::tensor) {
    params.kind = narrow ? abi::EncodingKind::bw_scale_offset : abi::EncodingKind::scale_offset;
    const abi::ScaleOffset& only = scale_offsets_.front();
    if (narrow)
      params.bw = {.bitwidth = quantization.bitwidth, .scale = only.scale, .offset = only.offset};
    else
      params.scale_offset = only;
  } else if (narrow) {
    params.kind = abi::EncodingKind::bw_axis_scale_offset;
    scales_ = quantization.scales;
    offsets_ = quantization.offsets;
    params.bw_axis = {.bitwidth = quantization.bitwidth,
                      .axis = quantization.axis,
                      .count = static_cast<std::uint32_t>(scales_.size()),
                      .scales = scales_.data(),
                      .offsets = offsets_.empty() ? nullptr : offsets_.data()};
  } else {
    params.kind = abi::EncodingKind::axis_scale_offset;
    params.axis = {.axis = quantization.axis,
                   .count = static_cast<std::uint32_t>(scale_offsets_.size()),
                   .values = scale_offsets_.data()};
  }
}

void LoweredTensor::lower_blockwise(const QuantizationSpec& quantization) {
  constexpr std::uint32_t kMostBitsOfByte = 8;
  scale_offsets_ = scale_offsets(quantization);
  const bool wide = quantization.block_scale_bits > kMostBitsOfByte;
  if (wide)
    wide_block_scales_ = quantization.block_scales;
  else
    for (const std::uint16_t factor : quantization.block_scales)
      narrow_block_scales_.push_back(static_cast<std::uint8_t>(factor));
  blockwise_ = {.axis = quantization.axis,
                .scale_offsets = scale_offsets_.data(),
                .blocks_per_axis = quantization.blocks_per_slice,
                .block_scale_bitwidth = quantization.block_scale_bits,
                .storage = wide ? abi::BlockScaleStorage::sixteen_bits : abi::BlockScaleStorage::eight_bits,
                .block_scales = wide ? static_cast<const void*>(wide_block_scales_.data())
                                     : static_cast<const void*>(narrow_block_scales_.data())};
  abi::QuantizeParams& params = c.fields.quantization;
  params.definition = abi::Definition::defined;
  params.kind = abi::EncodingKind::blockwise_expansion;
  params.blockwise = &blockwise_;
}

TensorArray::TensorArray(StructLayout layout, const std::vector<const LoweredTensor*>& tensors) : layout_(layout) {
  for (const LoweredTensor* tensor : tensors) {
    if (layout == StructLayout::core_2_7)
      old_.push_back({.version = tensor->c.version, .fields = tensor->c.fields});
    else
      current_.push_back(tensor->c);
  }
}

LoweredNode::LoweredNode(StructLayout layout, const NodeSpec& node, const Find& find, const Create& create)
    : inputs_(layout, found(node.inputs, find)), outputs_(layout, found(node.outputs, find)) {
  add_params(layout, node, create);
  const bool old = layout == StructLayout::core_2_7;
  config_.version = abi::kOpConfigVersion1;
  config_.name = node.name.c_str();
  config_.package = node.package.c_str();
  config_.type = node.type.c_str();
  config_.param_count = static_cast<std::uint32_t>(node.params.size());
  config_.params = old ? static_cast<void*>(old_params_.data()) : params_.data();
  config_.input_count = inputs_.size();
  config_.inputs = inputs_.data();
  config_.output_count = outputs_.size();
  config_.outputs = outputs_.data();
}

void LoweredNode::add_params(StructLayout layout, const NodeSpec& node, const Create& create) {
  for (const ParamSpec& spec : node.params) {
    const LoweredTensor* tensor = nullptr;
    if (const auto* value = std::get_if<TensorSpec>(&spec.value)) {
      LoweredTensor& added = param_tensors_.emplace_back(*value);
      if (!create(added)) {
        complete_ = false;
        return;
      }
      tensor = &added;
    }
    if (layout == StructLayout::core_2_7)
      old_params_.push_back(lower_param<abi::Param27, abi::Tensor27, abi::Scalar27>(spec, tensor));
    else
      params_.push_back(lower_param<abi::Param, abi::Tensor, abi::Scalar>(spec, tensor));
  }
}

}  // namespace qnndbg::qnn
