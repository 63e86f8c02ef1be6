#include "ops/qnn_mapping.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tensor/layout.h"

namespace qnndbg {
namespace {

template <class T>
std::vector<std::byte> bytes_of(std::span<const T> values) {
  std::vector<std::byte> bytes(values.size_bytes());
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

tl::expected<QnnMapping, QnnRefusal> Op::qnn_mapping(const QnnContext& /*context*/) const {
  return refuse(QnnRefusal::Kind::unregistered, "MNN's QNN backend has no creator for it");
}

std::string_view name_of(QnnRefusal::Kind kind) {
  switch (kind) {
    case QnnRefusal::Kind::unregistered: return "unregistered";
    case QnnRefusal::Kind::refused: return "refused";
    case QnnRefusal::Kind::encode_error: return "encode_error";
    case QnnRefusal::Kind::crash: return "crash";
    case QnnRefusal::Kind::not_mapped: break;
  }
  return "not_mapped";
}

Dims device_dims(const Dims& logical, Layout layout) {
  return logical.empty() ? Dims{1} : to_device_dims(logical, layout);
}

Dims QnnContext::in_dims(int k) const {
  const Operand& operand = inputs[static_cast<std::size_t>(k)];
  return device_dims(operand.spec.dims, operand.layout);
}

Dims QnnContext::out_dims(int k) const {
  const Operand& operand = outputs[static_cast<std::size_t>(k)];
  return device_dims(operand.spec.dims, operand.layout);
}

QnnTensorRef QnnBuilder::stage(std::string name, Dims device_dims, QnnType type, Layout layout) {
  mapping_.stages.push_back({std::move(name), std::move(device_dims), std::move(type), layout});
  return {QnnTensorRef::From::stage, static_cast<int>(mapping_.stages.size()) - 1};
}

QnnTensorRef QnnBuilder::constant(QnnConstant constant) {
  mapping_.constants.push_back(std::move(constant));
  return {QnnTensorRef::From::constant, static_cast<int>(mapping_.constants.size()) - 1};
}

QnnTensorRef QnnBuilder::floats(std::string name, Dims device_dims, std::vector<float> values) {
  return floats(std::move(name), std::move(device_dims),
                [values = std::move(values)]() -> Result<std::vector<float>> { return values; });
}

QnnTensorRef QnnBuilder::floats(std::string name, Dims device_dims,
                                std::function<Result<std::vector<float>>()> values) {
  return constant({.name = std::move(name),
                   .dims = std::move(device_dims),
                   .type = float_type(),
                   .data = [values = std::move(values), type = context_.float_type,
                            rounding = context_.rounding]() -> Result<std::vector<std::byte>> {
                     auto made = values();
                     if (!made) return fail(made.error());
                     return float_bytes(*made, type, rounding);
                   }});
}

QnnNode& QnnBuilder::add(QnnNode node) {
  mapping_.nodes.push_back(std::move(node));
  return mapping_.nodes.back();
}

QnnTensorRef QnnBuilder::node(std::string suffix, std::string type, std::vector<QnnTensorRef> inputs,
                              QnnTensorRef output, std::vector<QnnParam> params) {
  add({std::move(suffix), std::move(type), std::move(inputs), {output}, std::move(params)});
  return output;
}

QnnTensorRef QnnBuilder::transpose(std::string suffix, QnnTensorRef from, QnnTensorRef to,
                                   const std::vector<int>& permutation, std::string post) {
  return node(std::move(suffix), "Transpose", {from}, to,
              {u32_list("perm", {permutation.begin(), permutation.end()}, std::move(post))});
}

QnnTensorRef QnnBuilder::reshape(std::string suffix, QnnTensorRef from, QnnTensorRef to) {
  return node(std::move(suffix), "Reshape", {from}, to);
}

QnnTensorRef QnnBuilder::logical_input(int k) {
  const auto at = static_cast<std::size_t>(k);
  const Operand& operand = context_.inputs[at];
  if (!is_reordered(operand)) return input(k);
  const Dims& dims = operand.spec.dims;
  const QnnTensorRef logical = stage(fmt::format("logical_{}", k), dims, context_.input_types[at]);
  const std::string suffix = fmt::format("_to_logical_{}", k);
  return transpose(suffix, input(k), logical, to_logical_permutation(static_cast<int>(dims.size())), suffix);
}

QnnTensorRef QnnBuilder::logical_target(int k) {
  const auto at = static_cast<std::size_t>(k);
  const Operand& operand = context_.outputs[at];
  if (!is_reordered(operand)) return output(k);
  return stage(fmt::format("logical_output_{}", k), operand.spec.dims, context_.output_types[at]);
}

void QnnBuilder::finish_logical(int k, QnnTensorRef target) {
  if (target.from == QnnTensorRef::From::output) return;
  const int rank = static_cast<int>(context_.outputs[static_cast<std::size_t>(k)].spec.dims.size());
  const std::string suffix = fmt::format("_from_logical_{}", k);
  transpose(suffix, target, output(k), to_channel_last_permutation(rank), suffix);
}

QnnMapping single_node(const QnnContext& context, std::string type, std::vector<QnnParam> params, int inputs,
                       std::string suffix) {
  QnnNode node{.suffix = std::move(suffix), .type = std::move(type), .params = std::move(params)};
  for (int k = 0; k < inputs; ++k) node.inputs.push_back(QnnBuilder::input(k));
  for (std::size_t k = 0; k < context.outputs.size(); ++k)
    node.outputs.push_back(QnnBuilder::output(static_cast<int>(k)));
  QnnMapping mapping;
  mapping.nodes.push_back(std::move(node));
  return mapping;
}

QnnParam u32_scalar(std::string name, std::int64_t value) {
  return {std::move(name), static_cast<std::uint32_t>(value)};
}

QnnParam flag(std::string name, bool value) { return {std::move(name), value}; }

QnnParam u32_tensor(std::string name, Dims dims, std::vector<std::int64_t> values, std::string post) {
  return {std::move(name), QnnTensorParam{std::move(dims), DType::u32, std::move(values), std::move(post)}};
}

QnnParam i32_tensor(std::string name, Dims dims, std::vector<std::int64_t> values, std::string post) {
  return {std::move(name), QnnTensorParam{std::move(dims), DType::i32, std::move(values), std::move(post)}};
}

QnnParam u32_list(std::string name, std::vector<std::int64_t> values, std::string post) {
  Dims dims{static_cast<std::int64_t>(values.size())};
  return u32_tensor(std::move(name), std::move(dims), std::move(values), std::move(post));
}

int device_axis(int axis, int rank, Layout layout) {
  if (layout == Layout::logical || rank < 3 || axis == 0) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}

std::vector<int> to_logical_permutation(int rank) {
  std::vector<int> permutation;
  for (int axis = 0; axis < rank; ++axis) permutation.push_back(device_axis(axis, rank, Layout::channel_last));
  return permutation;
}

std::vector<int> to_channel_last_permutation(int rank) {
  std::vector<int> permutation(static_cast<std::size_t>(rank));
  for (int axis = 0; axis < rank; ++axis)
    permutation[static_cast<std::size_t>(device_axis(axis, rank, Layout::channel_last))] = axis;
  return permutation;
}

std::vector<int> device_permutation(const std::vector<int>& logical, Layout from, Layout to) {
  const int rank = static_cast<int>(logical.size());
  std::vector<int> permutation(logical.size());
  for (int axis = 0; axis < rank; ++axis) {
    permutation[static_cast<std::size_t>(device_axis(axis, rank, to))] =
        device_axis(logical[static_cast<std::size_t>(axis)], rank, from);
  }
  return permutation;
}

std::vector<std::byte> float_bytes(std::span<const float> values, DType type, HalfRounding rounding) {
  if (type == DType::f32) return bytes_of(values);
  std::vector<std::uint16_t> halves(values.size());
  std::transform(values.begin(), values.end(), halves.begin(),
                 [rounding](float v) { return float_to_half(v, rounding); });
  return bytes_of(std::span<const std::uint16_t>(halves));
}

std::vector<std::byte> host_value_bytes(const Tensor& value, Layout layout, DType float_type, HalfRounding rounding) {
  if (value.type() == DType::i32) {
    // Integers are indices and shapes, which MNN keeps in the order of the model.
    return bytes_of(value.i32());
  }
  if (layout == Layout::logical || value.rank() < 3) return float_bytes(value.f32(), float_type, rounding);
  std::vector<float> ordered(static_cast<std::size_t>(value.size()));
  to_device_order(value.f32(), value.dims(), layout, ordered);
  return float_bytes(ordered, float_type, rounding);
}

}  // namespace qnndbg
