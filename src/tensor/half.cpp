#include "tensor/half.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/half.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#ifndef QNNDBG_TENSOR_HALF_CONSTANTS
#define QNNDBG_TENSOR_HALF_CONSTANTS
namespace qnndbg {
namespace {

// Patterns of binary32.
constexpr std::uint32_t kBias = 112u << 23;       // exponent bias of binary32 less that of binary16
constexpr std::uint32_t kImplicitBit = 1u << 23;  // one step of the exponent
constexpr std::uint32_t kMinNormal = 113u << 23;  // 2^-14
constexpr std::uint32_t kOverflow = 0x47800000;   // 65536
constexpr std::uint32_t kInfinity = 0x7f800000;
constexpr std::uint32_t kOneHalf = 0x3f000000;  // 0.5

// Patterns of binary16.
constexpr std::uint32_t kHalfInfinity = 0x7c00;  // also the mask of its exponent field
constexpr std::uint32_t kHalfNan = 0x7e00;

}  // namespace
}  // namespace qnndbg
#endif

HWY_BEFORE_NAMESPACE();
namespace qnndbg::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using U32 = hn::Rebind<std::uint32_t, F32>;
using I32 = hn::Rebind<std::int32_t, F32>;
using U16 = hn::Rebind<std::uint16_t, F32>;
using F16 = hn::Rebind<hwy::float16_t, F32>;
using VF = hn::Vec<F32>;
using VU = hn::Vec<U32>;

/// Halves in 32-bit lanes to float; the same steps as the scalar half_to_float.
HWY_INLINE VF Decode(VU bits, HalfKind kind) {
  const F32 df;
  const U32 du;
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000)));
  const auto exponent = hn::And(bits, hn::Set(du, kHalfInfinity));
  const auto normal = hn::Add(hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7fff))), hn::Set(du, kBias));
  const auto subnormal =
      hn::BitCast(du, hn::Sub(hn::BitCast(df, hn::Add(normal, hn::Set(du, kImplicitBit))), hn::Set(df, 0x1p-14f)));
  auto magnitude = hn::IfThenElse(hn::Eq(exponent, hn::Zero(du)), subnormal, normal);
  if (kind == HalfKind::ieee) {
    const auto special = hn::Eq(exponent, hn::Set(du, kHalfInfinity));
    magnitude = hn::Add(magnitude, hn::IfThenElseZero(special, hn::Set(du, kBias)));
  }
  return hn::BitCast(df, hn::Or(sign, magnitude));
}

/// Floats to halves in 32-bit lanes; the same steps as the scalar float_to_half.
HWY_INLINE VU Encode(VF value, HalfRounding rounding) {
  const F32 df;
  const U32 du;
  const I32 di;
  const auto bits = hn::BitCast(du, value);
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000));
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7fffffff));
  auto normal = hn::Sub(magnitude, hn::Set(du, kBias));
  auto subnormal = hn::Zero(du);
  if (rounding == HalfRounding::nearest) {
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1));
    normal = hn::Add(normal, hn::Add(odd, hn::Set(du, 0xfff)));
    const auto sum = hn::Add(hn::BitCast(df, magnitude), hn::Set(df, 0.5f));
    subnormal = hn::Sub(hn::BitCast(du, sum), hn::Set(du, kOneHalf));
  } else {
    subnormal = hn::BitCast(du, hn::ConvertTo(di, hn::Mul(hn::BitCast(df, magnitude), hn::Set(df, 0x1p24f))));
  }
  // Magnitudes compare as signed numbers, which every target has an instruction for.
  const auto order = hn::BitCast(di, magnitude);
  const auto above = [&](std::uint32_t pattern) {
    return hn::RebindMask(du, hn::Gt(order, hn::Set(di, static_cast<std::int32_t>(pattern))));
  };
  auto half = hn::IfThenElse(above(kMinNormal - 1), hn::ShiftRight<13>(normal), subnormal);
  half = hn::IfThenElse(above(kOverflow - 1), hn::Set(du, kHalfInfinity), half);
  half = hn::IfThenElse(above(kInfinity), hn::Set(du, kHalfNan), half);
  return hn::Or(sign, half);
}

/// One vector of halves. Exponent 31, which the two kinds read differently and the processor's instruction as Inf and
/// NaN, is rare.
HWY_INLINE void DecodeVector(const std::uint16_t* HWY_RESTRICT in, float* HWY_RESTRICT out, HalfKind kind) {
  const U16 dh;
  const auto bits = hn::LoadU(dh, in);
  const auto exponent_mask = hn::Set(dh, static_cast<std::uint16_t>(kHalfInfinity));
  const bool ordinary = hn::AllFalse(dh, hn::Eq(hn::And(bits, exponent_mask), exponent_mask));
  const VF value =
      HWY_LIKELY(ordinary) ? hn::PromoteTo(F32(), hn::BitCast(F16(), bits)) : Decode(hn::PromoteTo(U32(), bits), kind);
  hn::StoreU(value, F32(), out);
}

// Halves: two pages, as the processor's own prefetcher stops at the end of a page.
constexpr std::size_t kPrefetch = 4096;

void DecodeAll(const std::uint16_t* HWY_RESTRICT in, float* HWY_RESTRICT out, std::size_t n, HalfKind kind) {
  const std::size_t lanes = hn::Lanes(F32());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hwy::Prefetch(in + i + kPrefetch);
    DecodeVector(in + i, out + i, kind);
  }
  if (i == n) return;
  HWY_ALIGN std::uint16_t last_in[hn::MaxLanes(U16())] = {};
  HWY_ALIGN float last_out[hn::MaxLanes(F32())];
  std::copy(in + i, in + n, last_in);
  DecodeVector(last_in, last_out, kind);
  std::copy(last_out, last_out + (n - i), out + i);
}

HWY_INLINE void RoundVector(float* values, HalfRounding rounding, HalfKind kind) {
  const F32 df;
  hn::StoreU(Decode(Encode(hn::LoadU(df, values), rounding), kind), df, values);
}

void RoundAll(float* values, std::size_t n, HalfRounding rounding, HalfKind kind) {
  const std::size_t lanes = hn::Lanes(F32());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) RoundVector(values + i, rounding, kind);
  if (i == n) return;
  HWY_ALIGN float last[hn::MaxLanes(F32())] = {};
  std::copy(values + i, values + n, last);
  RoundVector(last, rounding, kind);
  std::copy(last, last + (n - i), values + i);
}

}  // namespace
}  // namespace qnndbg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qnndbg {
namespace {

HWY_EXPORT(DecodeAll);
HWY_EXPORT(RoundAll);

std::uint32_t magnitude_nearest(std::uint32_t magnitude) {
  if (magnitude < kMinNormal) {
    // The last place of a float at 0.5 is 2^-24, that of a subnormal half: the addition does the rounding.
    return std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - kOneHalf;
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
  const std::uint32_t exponent = bits & kHalfInfinity;
  std::uint32_t magnitude = (static_cast<std::uint32_t>(bits & 0x7fff) << 13) + kBias;
  if (exponent == 0) {
    // Read as if it had an implicit bit, whose value is then taken off: no float subnormals, which are slow.
    magnitude = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + kImplicitBit) - 0x1p-14f);
  } else if (exponent == kHalfInfinity && kind == HalfKind::ieee) {
    magnitude += kBias;
  }
  return std::bit_cast<float>(sign | magnitude);
}

void half_to_float(std::span<const std::uint16_t> in, std::span<float> out, HalfKind kind) {
  assert(in.size() == out.size());
  HWY_DYNAMIC_DISPATCH(DecodeAll)(in.data(), out.data(), in.size(), kind);
}

std::uint16_t float_to_half(float value, HalfRounding rounding) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  std::uint32_t half = kHalfInfinity;
  if (magnitude > kInfinity) {
    half = kHalfNan;
  } else if (magnitude < kOverflow) {
    half = rounding == HalfRounding::nearest ? magnitude_nearest(magnitude) : magnitude_toward_zero(magnitude);
  }
  return static_cast<std::uint16_t>(sign | half);
}

void round_to_half(std::span<float> values, HalfRounding rounding, HalfKind kind) {
  HWY_DYNAMIC_DISPATCH(RoundAll)(values.data(), values.size(), rounding, kind);
}

}  // namespace qnndbg
#endif  // HWY_ONCE
