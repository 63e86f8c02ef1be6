// Elements in the bytes of a model or side file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "graph/mnn_wire.h"
#include "graph/model.h"

namespace qnndbg {

using Bytes = std::span<const std::byte>;

template <class T>
Bytes bytes_of(const flatbuffers::Vector<T>* vector) {
  if (vector == nullptr) return {};
  return {reinterpret_cast<const std::byte*>(vector->Data()), vector->size() * sizeof(T)};
}

/// Side-file parts begin at any byte; flatbuffer vectors are aligned.
inline bool is_aligned(Bytes bytes, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0;
}

template <class T>
Result<std::vector<T>> copy_as(Bytes bytes) {
  if (bytes.size() % sizeof(T) != 0)
    return fail("{} bytes are no whole number of {}-byte elements", bytes.size(), sizeof(T));
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Entry `i` of a vector of 64-bit numbers. The verifier of FlatBuffers 2.0 checks a vector's alignment only up to the
/// 4 bytes of its length, so that Vector::Get may not be used here.
inline std::int64_t entry_of(const flatbuffers::Vector<std::int64_t>& vector, flatbuffers::uoffset_t i) {
  std::int64_t value = 0;
  std::memcpy(&value, vector.Data() + static_cast<std::size_t>(i) * sizeof(value), sizeof(value));
  return value;
}

/// MNN's own test for weights in a side file: a record with one entry or none is not external.
inline bool is_external(const flatbuffers::Vector<std::int64_t>* external) {
  return external != nullptr && external->size() > 1;
}

/// Floats where they are, if they can be read there, else a copy.
Result<FloatArray> as_floats(Bytes bytes);

/// IEEE half elements as float.
Result<FloatArray> halves_as_floats(Bytes bytes);

}  // namespace qnndbg
