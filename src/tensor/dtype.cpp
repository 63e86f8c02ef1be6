#include "tensor/dtype.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

namespace qnndbg {
namespace {

struct TypeInfo {
  DType type;
  std::string_view name;
  std::size_t size;
  std::uint32_t qnn;
  bool quantized;
  IntRange range;
};

template <class T>
constexpr IntRange whole_range() {
  return {static_cast<double>(std::numeric_limits<T>::min()), static_cast<double>(std::numeric_limits<T>::max())};
}

// One row per DType, in the enum's order (checked below).
constexpr TypeInfo kTypes[] = {
    {DType::i8, "i8", 1, 0x0008, false, whole_range<std::int8_t>()},
    {DType::i16, "i16", 2, 0x0016, false, whole_range<std::int16_t>()},
    {DType::i32, "i32", 4, 0x0032, false, whole_range<std::int32_t>()},
    {DType::i64, "i64", 8, 0x0064, false, whole_range<std::int64_t>()},
    {DType::u8, "u8", 1, 0x0108, false, whole_range<std::uint8_t>()},
    {DType::u16, "u16", 2, 0x0116, false, whole_range<std::uint16_t>()},
    {DType::u32, "u32", 4, 0x0132, false, whole_range<std::uint32_t>()},
    {DType::u64, "u64", 8, 0x0164, false, whole_range<std::uint64_t>()},
    {DType::f16, "f16", 2, 0x0216, false, {}},
    {DType::f32, "f32", 4, 0x0232, false, {}},
    {DType::f64, "f64", 8, 0x0264, false, {}},
    {DType::sfixed8, "sfixed8", 1, 0x0308, true, whole_range<std::int8_t>()},
    {DType::sfixed16, "sfixed16", 2, 0x0316, true, whole_range<std::int16_t>()},
    {DType::sfixed32, "sfixed32", 4, 0x0332, true, whole_range<std::int32_t>()},
    {DType::ufixed8, "ufixed8", 1, 0x0408, true, whole_range<std::uint8_t>()},
    {DType::ufixed16, "ufixed16", 2, 0x0416, true, whole_range<std::uint16_t>()},
    {DType::ufixed32, "ufixed32", 4, 0x0432, true, whole_range<std::uint32_t>()},
    {DType::bool8, "bool8", 1, 0x0508, false, {0, 1}},
};

constexpr bool rows_follow_the_enum() {
  for (std::size_t i = 0; i < std::size(kTypes); ++i)
    if (static_cast<std::size_t>(kTypes[i].type) != i) return false;
  return static_cast<std::size_t>(DType::bool8) + 1 == std::size(kTypes);
}
static_assert(rows_follow_the_enum());

constexpr const TypeInfo& info(DType type) { return kTypes[static_cast<std::size_t>(type)]; }

struct Alias {
  std::string_view name;
  DType type;
};

// NumPy's and C's spellings; the short names are in kTypes.
constexpr Alias kAliases[] = {
    {"int8", DType::i8},     {"int16", DType::i16},  {"int32", DType::i32},   {"int64", DType::i64},
    {"int", DType::i32},     {"long", DType::i64},   {"uint8", DType::u8},    {"uint16", DType::u16},
    {"uint32", DType::u32},  {"uint64", DType::u64}, {"float16", DType::f16}, {"half", DType::f16},
    {"float32", DType::f32}, {"float", DType::f32},  {"float64", DType::f64}, {"double", DType::f64},
    {"bool", DType::bool8},
};

}  // namespace

std::size_t size_of(DType type) { return info(type).size; }

std::string_view name_of(DType type) { return info(type).name; }

bool is_quantized(DType type) { return info(type).quantized; }

IntRange range_of(DType type) { return info(type).range; }

std::uint32_t qnn_number(DType type) { return info(type).qnn; }

std::optional<DType> dtype_from_qnn(std::uint32_t number) {
  const auto* row =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeInfo& t) { return t.qnn == number; });
  if (row == std::end(kTypes)) return std::nullopt;
  return row->type;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const TypeInfo& t : kTypes)
    if (t.name == name) return t.type;
  for (const Alias& a : kAliases)
    if (a.name == name) return a.type;
  return std::nullopt;
}

bool is_valid(const Encoding& encoding) { return std::isfinite(encoding.scale) && encoding.scale > 0; }

ValueRange value_range(DType type, const Encoding& encoding) {
  const IntRange stored = range_of(type);
  return {(stored.low + encoding.offset) * encoding.scale, (stored.high + encoding.offset) * encoding.scale};
}

}  // namespace qnndbg
