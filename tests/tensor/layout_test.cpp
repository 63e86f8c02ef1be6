#include "tensor/layout.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace qnndbg {
namespace {

const std::vector<Dims>& shapes() {
  static const std::vector<Dims> all = {
      {},
      {7},
      {4, 5},
      {1, 1, 1},
      {2, 3, 4},
      {1, 3, 5, 7},
      {2, 4, 1, 1},
      {3, 1, 6, 5},
      {1, 64, 8, 8},
      {1, 65, 63, 3},
      {2, 200, 9, 10},
      {1, 5000, 2, 1},  // channels beyond a tile
      {1, 2, 5000, 1},  // and positions
      {1, 4097, 1, 1},
      {2, 3, 2, 2, 3},
      {1, 17, 2, 3, 2, 5},
      {0, 3, 4, 4},
      {2, 3, 0, 4},
  };
  return all;
}

/// Where a logical element stands on the device, from the definition, index by index.
std::vector<std::size_t> device_positions(const Dims& dims, Layout layout) {
  std::vector<std::size_t> positions(static_cast<std::size_t>(element_count(dims)));
  const Dims strides = strides_of(to_device_dims(dims, layout));
  const bool moves = layout == Layout::channel_last && dims.size() >= 3;
  Dims index(dims.size(), 0);
  for (std::size_t& position : positions) {
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      std::size_t device_axis = axis;
      if (moves && axis == 1) device_axis = dims.size() - 1;
      if (moves && axis > 1) device_axis = axis - 1;
      position += static_cast<std::size_t>(index[axis] * strides[device_axis]);
    }
    for (std::size_t axis = dims.size(); axis-- > 0 && ++index[axis] == dims[axis];) index[axis] = 0;
  }
  return positions;
}

TEST(Layout, Names) {
  EXPECT_EQ(name_of(Layout::logical, 4), "NCHW");
  EXPECT_EQ(name_of(Layout::channel_last, 4), "NHWC");
  EXPECT_EQ(name_of(Layout::logical, 3), "logical");
  EXPECT_EQ(name_of(Layout::channel_last, 5), "channel-last");
}

TEST(Layout, DeviceDims) {
  EXPECT_EQ(to_device_dims({1, 3, 64, 32}, Layout::channel_last), (Dims{1, 64, 32, 3}));
  EXPECT_EQ(to_device_dims({1, 3, 64, 32}, Layout::logical), (Dims{1, 3, 64, 32}));
  EXPECT_EQ(to_device_dims({2, 5, 7}, Layout::channel_last), (Dims{2, 7, 5}));
  EXPECT_EQ(to_device_dims({5, 7}, Layout::channel_last), (Dims{5, 7}));
  for (const Dims& dims : shapes())
    for (const Layout layout : {Layout::logical, Layout::channel_last})
      EXPECT_EQ(to_logical_dims(to_device_dims(dims, layout), layout), dims);
}

TEST(Layout, EveryElementArrives) {
  for (const Dims& dims : shapes())
    for (const Layout layout : {Layout::logical, Layout::channel_last}) {
      SCOPED_TRACE(to_string(dims));
      const std::vector<std::size_t> positions = device_positions(dims, layout);
      std::vector<float> device(positions.size()), logical(positions.size(), -1), back(positions.size(), -1);
      std::iota(device.begin(), device.end(), 0.0f);
      to_logical_order(device, dims, layout, logical);
      for (std::size_t i = 0; i < positions.size(); ++i) ASSERT_EQ(logical[i], static_cast<float>(positions[i])) << i;
      to_device_order(logical, dims, layout, back);
      ASSERT_EQ(back, device);
    }
}

struct Sample {
  DType type;
  double (*value)(const std::byte* element);  // without encoding
};

template <class T>
double load(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  return static_cast<double>(value);
}

double load_half(const std::byte* element) {
  std::uint16_t bits;
  std::memcpy(&bits, element, sizeof(bits));
  return half_to_float(bits, HalfKind::htp);
}

constexpr Sample kSamples[] = {
    {DType::i8, load<std::int8_t>},
    {DType::i16, load<std::int16_t>},
    {DType::i32, load<std::int32_t>},
    {DType::i64, load<std::int64_t>},
    {DType::u8, load<std::uint8_t>},
    {DType::u16, load<std::uint16_t>},
    {DType::u32, load<std::uint32_t>},
    {DType::u64, load<std::uint64_t>},
    {DType::f16, load_half},
    {DType::f32, load<float>},
    {DType::f64, load<double>},
    {DType::sfixed8, load<std::int8_t>},
    {DType::sfixed16, load<std::int16_t>},
    {DType::sfixed32, load<std::int32_t>},
    {DType::ufixed8, load<std::uint8_t>},
    {DType::ufixed16, load<std::uint16_t>},
    {DType::ufixed32, load<std::uint32_t>},
    {DType::bool8, load<std::uint8_t>},
};

TEST(Layout, DecodesEveryTypeInEveryShape) {
  ASSERT_EQ(std::size(kSamples), static_cast<std::size_t>(DType::bool8) + 1);
  const Encoding encoding{0.0123, -77};
  std::mt19937 random(5);
  for (const Sample& sample : kSamples)
    for (const Dims& dims : shapes())
      for (const Layout layout : {Layout::logical, Layout::channel_last}) {
        SCOPED_TRACE(std::string(name_of(sample.type)) + " " + to_string(dims));
        const std::vector<std::size_t> positions = device_positions(dims, layout);
        const std::size_t size = size_of(sample.type);
        // One byte off every alignment, as a file may have it.
        std::vector<std::byte> bytes(positions.size() * size + 1);
        // Below 0x40 in every byte: no pattern of a NaN, for which nothing could be compared.
        for (std::byte& b : bytes) b = static_cast<std::byte>(random() & 0x3f);
        const std::span<const std::byte> raw = std::span<const std::byte>(bytes).subspan(1);
        std::vector<float> logical(positions.size());
        decode_to_logical(raw, sample.type, encoding, HalfKind::htp, dims, layout, logical);
        for (std::size_t i = 0; i < positions.size(); ++i) {
          double expected = sample.value(raw.data() + positions[i] * size);
          if (is_quantized(sample.type)) expected = (expected + encoding.offset) * encoding.scale;
          ASSERT_EQ(logical[i], static_cast<float>(expected)) << i;
        }
      }
}

TEST(Layout, FixedPointKeepsTheSignOfQnn) {
  const std::uint16_t q = 32768;
  std::vector<float> real(1);
  decode_to_logical(std::as_bytes(std::span(&q, 1)), DType::ufixed16, {0.5, -32766}, HalfKind::htp, {1},
                    Layout::logical, real);
  EXPECT_EQ(real[0], 1.0f);
  // The sum of the extremes does not fit 32 bits.
  const std::uint32_t largest = 0xffffffff;
  decode_to_logical(std::as_bytes(std::span(&largest, 1)), DType::ufixed32, {1, 2147483647}, HalfKind::htp, {1},
                    Layout::logical, real);
  EXPECT_EQ(real[0], 6442450942.0f);
}

TEST(Layout, HalfKindReachesTheDecoder) {
  const std::uint16_t bits = 0xfc00;
  std::vector<float> value(1);
  const auto raw = std::as_bytes(std::span(&bits, 1));
  decode_to_logical(raw, DType::f16, {}, HalfKind::htp, {1}, Layout::logical, value);
  EXPECT_EQ(value[0], -65536.0f);
  decode_to_logical(raw, DType::f16, {}, HalfKind::ieee, {1}, Layout::logical, value);
  EXPECT_EQ(value[0], -std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace qnndbg
