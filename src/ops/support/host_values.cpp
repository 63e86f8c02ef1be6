#include "ops/support/host_values.h"

namespace qnndbg {

bool has_operand(std::span<const Operand> operands, int k) {
  return k >= 0 && k < static_cast<int>(operands.size()) && operands[static_cast<std::size_t>(k)].present;
}

Result<TensorSpec> require_operand(std::span<const Operand> operands, int k, int rank_at_least) {
  if (!has_operand(operands, k)) return fail("operand {} is missing", k);
  const TensorSpec& spec = operands[static_cast<std::size_t>(k)].spec;
  if (static_cast<int>(spec.dims.size()) < rank_at_least) {
    return fail("operand {} has rank {} ({}), at least {} is needed", k, spec.dims.size(), to_string(spec.dims),
                rank_at_least);
  }
  return spec;
}

namespace {

Result<const Tensor*> host_value(std::span<const Operand> operands, int k, std::string_view what) {
  if (!has_operand(operands, k)) return fail("operand {} ({}) is missing", k, what);
  const Tensor* value = operands[static_cast<std::size_t>(k)].host;
  if (value == nullptr) return fail("operand {} ({}) is computed on the device, its value is not known here", k, what);
  return value;
}

}  // namespace

Result<std::vector<std::int64_t>> host_integers(std::span<const Operand> operands, int k, std::string_view what) {
  auto value = host_value(operands, k, what);
  if (!value) return fail(value.error());
  const Tensor& tensor = **value;
  if (tensor.type() != DType::i32) return fail("operand {} ({}) is not an integer tensor", k, what);
  return std::vector<std::int64_t>(tensor.i32().begin(), tensor.i32().end());
}

Result<std::vector<std::int64_t>> listed_integers(const std::vector<std::int64_t>& parameters,
                                                  std::span<const Operand> operands, int k, std::string_view what) {
  if (!parameters.empty() || !has_operand(operands, k)) return parameters;
  return host_integers(operands, k, what);
}

Result<std::int64_t> host_integer(std::span<const Operand> operands, int k, std::string_view what) {
  auto values = host_integers(operands, k, what);
  if (!values) return fail(values.error());
  if (values->size() != 1) return fail("operand {} ({}) holds {} values, one is needed", k, what, values->size());
  return values->front();
}

Result<std::vector<float>> host_floats(std::span<const Operand> operands, int k, std::string_view what) {
  auto value = host_value(operands, k, what);
  if (!value) return fail(value.error());
  const Tensor& tensor = **value;
  if (tensor.type() == DType::f32) return std::vector<float>(tensor.f32().begin(), tensor.f32().end());
  return std::vector<float>(tensor.i32().begin(), tensor.i32().end());
}

Result<int> normalize_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return fail("axis {} is outside a tensor of rank {}", axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Result<int> axis_of(std::optional<std::int64_t> parameter, std::span<const Operand> operands, int k) {
  auto x = require_operand(operands, 0);
  if (!x) return fail(x.error());
  std::int64_t axis = parameter.value_or(0);
  if (!parameter && has_operand(operands, k)) {
    auto given = host_integer(operands, k, "axis");
    if (!given) return fail(given.error());
    axis = *given;
  }
  return normalize_axis(axis, static_cast<int>(x->dims.size()));
}

}  // namespace qnndbg
