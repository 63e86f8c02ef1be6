#include "graph/elements.h"

#include "tensor/half.h"

namespace qnndbg {

Result<FloatArray> as_floats(Bytes bytes) {
  if (bytes.size() % sizeof(float) == 0 && is_aligned(bytes, alignof(float))) {
    return FloatArray(std::span(reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)));
  }
  return copy_as<float>(bytes).map([](std::vector<float> values) { return FloatArray(std::move(values)); });
}

Result<FloatArray> halves_as_floats(Bytes bytes) {
  const Result<std::vector<std::uint16_t>> halves = copy_as<std::uint16_t>(bytes);
  if (!halves) return fail(halves.error());
  std::vector<float> values(halves->size());
  half_to_float(*halves, values, HalfKind::ieee);
  return FloatArray(std::move(values));
}

}  // namespace qnndbg
