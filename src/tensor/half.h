// IEEE binary16 and HTP's half.
//
// HTP's half has the bit layout of binary16 but neither infinity nor NaN: exponent field 31 is an ordinary
// exponent, so 0x7C00 is 65536 and 0x7FFF is 131008 (measured on libQnnHtp.so 2.51).
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace qnndbg {

/// Which reading of exponent field 31 applies to a dump: HTP's ordinary numbers, or IEEE's Inf and NaN.
enum class HalfKind : std::uint8_t { htp, ieee };

/// Unit roundoff of binary16 (11 significant bits, round to nearest): 2^-11.
inline constexpr double kHalfUnitRoundoff = 0x1p-11;
/// Largest finite binary16.
inline constexpr double kHalfMax = 65504.0;
/// Largest value of HTP's half (bits 0x7FFF).
inline constexpr double kHtpHalfMax = 131008.0;
/// Smallest positive normal binary16: 2^-14.
inline constexpr double kHalfMinNormal = 0x1p-14;

/// How constants were brought to half when the graph was built: MNN's portable code (x86-64) cuts the extra
/// bits off, an ARMv8.2 conversion rounds to nearest even.
enum class HalfRounding : std::uint8_t { toward_zero, nearest };

/// One half to float.
float half_to_float(std::uint16_t bits, HalfKind kind);

/// Many halves to float (SIMD). `out.size()` equals `in.size()`.
void half_to_float(std::span<const std::uint16_t> in, std::span<float> out, HalfKind kind);

/// One float to binary16 bits. Magnitudes above 65504 (after rounding) give infinity (0x7C00 | sign); NaN stays NaN
/// (0x7E00 | sign, without its payload). Subnormals are kept.
std::uint16_t float_to_half(float value, HalfRounding rounding);

/// Rounds every value to the half grid as a constant reaches the device, in place, and reads it back as HTP does:
/// an overflowed constant (infinity, bits 0x7C00) becomes 65536, NaN bits become the ordinary number that they spell.
void round_to_half(std::span<float> values, HalfRounding rounding, HalfKind kind);

}  // namespace qnndbg
