#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <map>
#include <string_view>

namespace qnndbg {
namespace {

constexpr int kTypes = static_cast<int>(DType::bool8) + 1;

TEST(DType, QnnNumbersAreQnns) {
  // Qnn_DataType_t as a manifest prints it, in decimal.
  const std::map<std::uint32_t, DType> numbers = {
      {8, DType::i8},          {22, DType::i16},       {50, DType::i32},       {100, DType::i64},
      {264, DType::u8},        {278, DType::u16},      {306, DType::u32},      {356, DType::u64},
      {534, DType::f16},       {562, DType::f32},      {612, DType::f64},      {776, DType::sfixed8},
      {790, DType::sfixed16},  {818, DType::sfixed32}, {1032, DType::ufixed8}, {1046, DType::ufixed16},
      {1074, DType::ufixed32}, {1288, DType::bool8},
  };
  ASSERT_EQ(numbers.size(), static_cast<std::size_t>(kTypes));
  for (std::uint32_t n = 0; n < 0x1000; ++n) {
    const auto known = numbers.find(n);
    const auto type = dtype_from_qnn(n);
    ASSERT_EQ(type.has_value(), known != numbers.end()) << n;
    if (!type) continue;
    EXPECT_EQ(*type, known->second) << n;
    EXPECT_EQ(qnn_number(*type), n);
  }
  EXPECT_FALSE(dtype_from_qnn(0x7fffffff));  // QNN_DATATYPE_UNDEFINED
  EXPECT_FALSE(dtype_from_qnn(0xffffffff));
}

TEST(DType, NamesLeadBack) {
  for (int i = 0; i < kTypes; ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name_of(type)), type);
  }
  EXPECT_EQ(dtype_from_name("float32"), DType::f32);
  EXPECT_EQ(dtype_from_name("float"), DType::f32);
  EXPECT_EQ(dtype_from_name("float16"), DType::f16);
  EXPECT_EQ(dtype_from_name("int32"), DType::i32);
  EXPECT_EQ(dtype_from_name("int64"), DType::i64);
  EXPECT_EQ(dtype_from_name("uint8"), DType::u8);
  EXPECT_EQ(dtype_from_name("bool"), DType::bool8);
  for (const std::string_view unknown : {"", "f", "F32", "float31", "f32 ", "string"})
    EXPECT_FALSE(dtype_from_name(unknown)) << unknown;
}

TEST(DType, SizesAndRanges) {
  EXPECT_EQ(size_of(DType::i8), 1u);
  EXPECT_EQ(size_of(DType::bool8), 1u);
  EXPECT_EQ(size_of(DType::f16), 2u);
  EXPECT_EQ(size_of(DType::ufixed16), 2u);
  EXPECT_EQ(size_of(DType::sfixed32), 4u);
  EXPECT_EQ(size_of(DType::u64), 8u);
  EXPECT_EQ(range_of(DType::ufixed8).low, 0);
  EXPECT_EQ(range_of(DType::ufixed8).high, 255);
  EXPECT_EQ(range_of(DType::sfixed16).low, -32768);
  EXPECT_EQ(range_of(DType::i32).high, 2147483647.0);
  EXPECT_EQ(range_of(DType::bool8).high, 1);
  EXPECT_EQ(range_of(DType::f16).low, 0);
  EXPECT_EQ(range_of(DType::f16).high, 0);
}

TEST(DType, FixedPointIsQuantized) {
  for (int i = 0; i < kTypes; ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(is_quantized(type), name_of(type).find("fixed") != std::string_view::npos) << name_of(type);
  }
}

}  // namespace
}  // namespace qnndbg
