#include "tensor/half.h"

#include <cassert>

namespace qnndbg {
namespace {

constexpr std::uint32_t kBias = 112u << 23;       // exponent bias of binary32 less that of binary16, in place
constexpr std::uint32_t kOverflow = 0x47800000;   // 65536.0f
constexpr std::uint32_t kMinNormal = 113u << 23;  // 2^-14
constexpr std::uint32_t kInfinity = 0x7f800000;

std::uint32_t magnitude_nearest(std::uint32_t magnitude) {
  if (magnitude < kMinNormal) {
    // At 0.5 the last place of a float is 2^-24, that of a half subnormal: the addition does the rounding.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5f);
  }
  const std::uint32_t odd = (magnitude >> 13) & 1;
  return (magnitude - kBias + 0xfff + odd) >> 13;
}

std::uint32_t magnitude_toward_zero(std::uint32_t magnitude) {
  if (magnitude < kMinNormal) return static_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p24f);
  return (magnitude - kBias) >> 13;
}

}  // namespace

float half_to_float(std::uint16_t bits, HalfKind kind) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = bits & 0x7c00;
  std::uint32_t magnitude = (static_cast<std::uint32_t>(bits & 0x7fff) << 13) + kBias;
  if (exponent == 0) {
    // Read as a normal number with exponent 1 and its implicit bit, then the implicit bit is taken off again.
    magnitude = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + (1u << 23)) - 0x1p-14f);
  } else if (exponent == 0x7c00 && kind == HalfKind::ieee) {
    magnitude += kBias;
  }
  return std::bit_cast<float>(sign | magnitude);
}

void half_to_float(std::span<const std::uint16_t> in, std::span<float> out, HalfKind kind) {
  assert(in.size() == out.size());
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = half_to_float(in[i], kind);
}

std::uint16_t float_to_half(float value, HalfRounding rounding) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  std::uint32_t half = 0x7c00;
  if (magnitude > kInfinity) {
    half = 0x7e00;
  } else if (magnitude < kOverflow) {
    half = rounding == HalfRounding::nearest ? magnitude_nearest(magnitude) : magnitude_toward_zero(magnitude);
  }
  return static_cast<std::uint16_t>(sign | half);
}

void round_to_half(std::span<float> values, HalfRounding rounding, HalfKind kind) {
  for (float& v : values) v = half_to_float(float_to_half(v, rounding), kind);
}

}  // namespace qnndbg
