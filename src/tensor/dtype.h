// Element types: the host's own and QNN's, with their QNN numbers (Qnn_DataType_t).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace qnndbg {

enum class DType : std::uint8_t {
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,  // HTP's half: exponent 31 is an ordinary number, there is no infinity and no NaN (see half.h)
  f32,
  f64,
  sfixed8,
  sfixed16,
  sfixed32,  // signed fixed point: real = (q + offset) * scale
  ufixed8,
  ufixed16,
  ufixed32,  // unsigned fixed point
  bool8,
};

/// Bytes of one element.
std::size_t size_of(DType type);

/// Short lower-case name as used in documents and tables: "f16", "i32", "ufixed16", ...
std::string_view name_of(DType type);

/// True for the fixed-point types, whose numbers mean nothing without an Encoding.
bool is_quantized(DType type);

/// Smallest and largest stored integer of an integer, fixed-point or bool type; {0, 0} for the float types.
struct IntRange {
  double low = 0;
  double high = 0;
};
IntRange range_of(DType type);

/// The type behind a QNN number (manifest column data_type: 534 is f16); nullopt for a number that no dump can hold.
/// Numbers: QNN's Qnn_DataType_t, class * 0x100 + bits written as hex digits.
std::optional<DType> dtype_from_qnn(std::uint32_t number);

/// The QNN number of a type; the inverse of dtype_from_qnn.
std::uint32_t qnn_number(DType type);

/// The type behind a name in inputs.json ("float32", "f32", "int32", "uint8", ...); nullopt when unknown.
std::optional<DType> dtype_from_name(std::string_view name);

/// Scale and offset of a quantized tensor, QNN's sign: real = (q + offset) * scale.
struct Encoding {
  double scale = 0;
  std::int32_t offset = 0;
  bool operator==(const Encoding&) const = default;
};

/// True when the scale is a positive, finite number.
bool is_valid(const Encoding& encoding);

/// The real values that a fixed-point tensor can hold.
struct ValueRange {
  double low = 0;
  double high = 0;
  bool operator==(const ValueRange&) const = default;
};

/// Precondition: is_valid(encoding), is_quantized(type).
ValueRange value_range(DType type, const Encoding& encoding);

}  // namespace qnndbg
