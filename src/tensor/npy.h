// NumPy's .npy files (format versions 1.0 to 3.0), little-endian, C order.
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <filesystem>

#include "tensor/tensor.h"

namespace qnndbg {

/// Reads <f4, <f8, <f2, <i4, <i8, |u1, |i1, |b1 data into an f32 tensor (i32 for the integer types; i8 values that do
/// not fit 32 bits are an error). Refuses Fortran order, other types, headers that lie about the size.
Result<Tensor> read_npy(const std::filesystem::path& path);

/// The same from memory; `name` stands in messages.
Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& name);

/// Writes an f32 or i32 tensor (version 1.0, little-endian, C order), replacing the file.
Result<void> write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace qnndbg
