// Reading operands that configure an operator: shapes, axes, scales, permutations.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace qnndbg {

/// The integers of operand `k`. Errors: omitted, or not a host value ("its shape operand is computed on the device").
Result<std::vector<std::int64_t>> host_integers(std::span<const Operand> operands, int k, std::string_view what);

/// The numbers of operand `k`, of either type.
Result<std::vector<float>> host_floats(std::span<const Operand> operands, int k, std::string_view what);

/// Integers that stand in the operator's parameters or else, when there are none, are operand `k`. Empty when neither
/// is there.
Result<std::vector<std::int64_t>> listed_integers(const std::vector<std::int64_t>& parameters,
                                                  std::span<const Operand> operands, int k, std::string_view what);

/// The one integer of operand `k`, as listed in host_integers.
Result<std::int64_t> host_integer(std::span<const Operand> operands, int k, std::string_view what);

/// True when operand k is given (not -1, not beyond the list).
bool has_operand(std::span<const Operand> operands, int k);

/// The spec of operand k, which must be there. `rank_at_least` guards the reads of the dims.
Result<TensorSpec> require_operand(std::span<const Operand> operands, int k, int rank_at_least = 0);

/// Wraps a negative axis; an error when it is outside -rank .. rank-1.
Result<int> normalize_axis(std::int64_t axis, int rank);

/// An axis of operand 0 that stands in the parameters, else is operand `k`, else is 0; wrapped.
Result<int> axis_of(std::optional<std::int64_t> parameter, std::span<const Operand> operands, int k);

/// Ints of a FlatBuffers-like vector pointer (null: empty).
template <class V>
std::vector<std::int64_t> ints_of(const V* vector) {
  std::vector<std::int64_t> out;
  if (vector != nullptr) out.assign(vector->begin(), vector->end());
  return out;
}

}  // namespace qnndbg
