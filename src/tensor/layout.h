// Layouts: where the channel axis stands in memory.
//
// MNN's NC4HW4 tensors of rank >= 3 reach QNN channel-last: logical [N, C, d1, d2, ...] is stored [N, d1, d2, ..., C]
// (NHWC for images). All others keep the logical order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/half.h"
#include "tensor/tensor.h"

namespace qnndbg {

enum class Layout : std::uint8_t {
  logical,       // dims and memory in the model's own order (NCHW for images, or anything of rank <= 2)
  channel_last,  // [N, spatial..., C]; printed as NHWC
};

/// "NCHW" / "NHWC" for rank 4, "logical" / "channel-last" otherwise.
std::string_view name_of(Layout layout, int rank);

/// Device dims of a tensor with these logical dims, and back. Identity for rank < 3 and for Layout::logical.
Dims to_device_dims(const Dims& logical, Layout layout);
Dims to_logical_dims(const Dims& device, Layout layout);

/// Copies device-ordered elements into logical order and back; identity copy where the layouts agree.
/// `dims` are the logical dims; both spans hold element_count(dims) elements.
void to_logical_order(std::span<const float> device, const Dims& dims, Layout layout, std::span<float> logical);
void to_device_order(std::span<const float> logical, const Dims& dims, Layout layout, std::span<float> device);

/// Decodes raw little-endian device elements of any element type into f32 in logical order.
/// f16 is read as `half`; fixed-point types use (q + offset) * scale with `encoding`; integers become their value.
/// `raw` need not be aligned; its size is element_count(dims) * size_of(type).
void decode_to_logical(std::span<const std::byte> raw, DType type, const Encoding& encoding, HalfKind half,
                       const Dims& dims, Layout layout, std::span<float> logical);

}  // namespace qnndbg
