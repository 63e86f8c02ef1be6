#include "tensor/layout.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

namespace qnndbg {
namespace {

bool moves_channel(const Dims& dims, Layout layout) { return layout == Layout::channel_last && dims.size() >= 3; }

/// A tensor as batch items of [spatial, channels], the shape in which the two orders are transposes of each other.
struct Planes {
  std::size_t batch = 1, channels = 1, spatial = 1;
};

Planes planes_of(const Dims& logical) {
  Planes p{static_cast<std::size_t>(logical[0]), static_cast<std::size_t>(logical[1]), 1};
  for (std::size_t i = 2; i < logical.size(); ++i) p.spatial *= static_cast<std::size_t>(logical[i]);
  return p;
}

// A tile of 4096 floats (16 KiB) fits the L1 cache beside what is written. 64 elements are four cache lines of
// output per row, enough for the hardware's prefetcher.
constexpr std::size_t kTile = 4096;
constexpr std::size_t kRows = 64;

/// Transposes [rows, cols] (elements as `read` delivers them) to [cols, rows], tile by tile.
/// `read(first, count, to)` writes `count` source elements from flat position `first` as f32.
template <class Read>
void transpose(std::size_t rows, std::size_t cols, const Read& read, float* out) {
  alignas(64) std::array<float, kTile> tile;
  const std::size_t tile_cols = std::min(cols, std::max(kTile / std::min(rows, kRows), std::size_t{1}));
  const std::size_t tile_rows = std::min(rows, kTile / tile_cols);
  for (std::size_t r0 = 0; r0 < rows; r0 += tile_rows) {
    const std::size_t nr = std::min(tile_rows, rows - r0);
    for (std::size_t c0 = 0; c0 < cols; c0 += tile_cols) {
      const std::size_t nc = std::min(tile_cols, cols - c0);
      if (nc == cols) {
        read(r0 * cols, nr * nc, tile.data());
      } else {
        for (std::size_t r = 0; r < nr; ++r) read((r0 + r) * cols + c0, nc, tile.data() + r * nc);
      }
      for (std::size_t c = 0; c < nc; ++c) {
        float* to = out + (c0 + c) * rows + r0;
        for (std::size_t r = 0; r < nr; ++r) to[r] = tile[r * nc + c];
      }
    }
  }
}

/// Reads elements of type T at any alignment.
template <class T>
struct Load {
  const std::byte* raw;
  T operator()(std::size_t i) const {
    T value;
    std::memcpy(&value, raw + i * sizeof(T), sizeof(T));
    return value;
  }
};

template <class T>
auto plain_reader(const std::byte* raw) {
  return [load = Load<T>{raw}](std::size_t first, std::size_t count, float* to) {
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(load(first + i));
  };
}

template <class T>
auto fixed_reader(const std::byte* raw, const Encoding& encoding) {
  // In double: q + offset of the 32-bit types does not fit a float.
  return [load = Load<T>{raw}, scale = encoding.scale, offset = static_cast<double>(encoding.offset)](
             std::size_t first, std::size_t count, float* to) {
    for (std::size_t i = 0; i < count; ++i)
      to[i] = static_cast<float>((static_cast<double>(load(first + i)) + offset) * scale);
  };
}

auto half_reader(const std::byte* raw, HalfKind kind) {
  return [raw, kind](std::size_t first, std::size_t count, float* to) {
    std::array<std::uint16_t, 512> bits;
    while (count > 0) {
      const std::size_t n = std::min(count, bits.size());
      std::memcpy(bits.data(), raw + first * sizeof(std::uint16_t), n * sizeof(std::uint16_t));
      half_to_float(std::span(bits).first(n), std::span(to, n), kind);
      first += n;
      to += n;
      count -= n;
    }
  };
}

/// Calls `use` with the reader of the element type.
template <class Use>
void with_reader(const std::byte* raw, DType type, const Encoding& encoding, HalfKind half, const Use& use) {
  switch (type) {
    case DType::i8: return use(plain_reader<std::int8_t>(raw));
    case DType::i16: return use(plain_reader<std::int16_t>(raw));
    case DType::i32: return use(plain_reader<std::int32_t>(raw));
    case DType::i64: return use(plain_reader<std::int64_t>(raw));
    case DType::u8:
    case DType::bool8: return use(plain_reader<std::uint8_t>(raw));
    case DType::u16: return use(plain_reader<std::uint16_t>(raw));
    case DType::u32: return use(plain_reader<std::uint32_t>(raw));
    case DType::u64: return use(plain_reader<std::uint64_t>(raw));
    case DType::f16: return use(half_reader(raw, half));
    case DType::f32: return use(plain_reader<float>(raw));
    case DType::f64: return use(plain_reader<double>(raw));
    case DType::sfixed8: return use(fixed_reader<std::int8_t>(raw, encoding));
    case DType::sfixed16: return use(fixed_reader<std::int16_t>(raw, encoding));
    case DType::sfixed32: return use(fixed_reader<std::int32_t>(raw, encoding));
    case DType::ufixed8: return use(fixed_reader<std::uint8_t>(raw, encoding));
    case DType::ufixed16: return use(fixed_reader<std::uint16_t>(raw, encoding));
    case DType::ufixed32: return use(fixed_reader<std::uint32_t>(raw, encoding));
  }
}

/// Delivers all elements in logical order.
template <class Read>
void to_logical(const Read& read, const Dims& dims, Layout layout, std::span<float> logical) {
  if (logical.empty()) return;
  if (!moves_channel(dims, layout)) return read(0, logical.size(), logical.data());
  const Planes p = planes_of(dims);
  const std::size_t item = p.channels * p.spatial;
  for (std::size_t n = 0; n < p.batch; ++n) {
    const auto read_item = [&](std::size_t first, std::size_t count, float* to) { read(n * item + first, count, to); };
    transpose(p.spatial, p.channels, read_item, logical.data() + n * item);
  }
}

/// Reader of floats that need no conversion.
auto copy_reader(const float* from) {
  return
      [from](std::size_t first, std::size_t count, float* to) { std::memcpy(to, from + first, count * sizeof(float)); };
}

}  // namespace

std::string_view name_of(Layout layout, int rank) {
  if (layout == Layout::channel_last) return rank == 4 ? "NHWC" : "channel-last";
  return rank == 4 ? "NCHW" : "logical";
}

Dims to_device_dims(const Dims& logical, Layout layout) {
  Dims device = logical;
  if (moves_channel(logical, layout)) std::rotate(device.begin() + 1, device.begin() + 2, device.end());
  return device;
}

Dims to_logical_dims(const Dims& device, Layout layout) {
  Dims logical = device;
  if (moves_channel(device, layout)) std::rotate(logical.begin() + 1, logical.end() - 1, logical.end());
  return logical;
}

void to_logical_order(std::span<const float> device, const Dims& dims, Layout layout, std::span<float> logical) {
  assert(device.size() == logical.size());
  to_logical(copy_reader(device.data()), dims, layout, logical);
}

void to_device_order(std::span<const float> logical, const Dims& dims, Layout layout, std::span<float> device) {
  assert(device.size() == logical.size());
  if (!moves_channel(dims, layout)) return to_logical(copy_reader(logical.data()), dims, Layout::logical, device);
  if (logical.empty()) return;
  const Planes p = planes_of(dims);
  const std::size_t item = p.channels * p.spatial;
  for (std::size_t n = 0; n < p.batch; ++n)
    transpose(p.channels, p.spatial, copy_reader(logical.data() + n * item), device.data() + n * item);
}

void decode_to_logical(std::span<const std::byte> raw, DType type, const Encoding& encoding, HalfKind half,
                       const Dims& dims, Layout layout, std::span<float> logical) {
  assert(raw.size() == logical.size() * size_of(type));
  with_reader(raw.data(), type, encoding, half, [&](const auto& read) { to_logical(read, dims, layout, logical); });
}

}  // namespace qnndbg
