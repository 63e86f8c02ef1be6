#include "tensor/metrics_simd.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/metrics_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace qnndbg::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// One element: what the vectors leave over at the end.
HWY_INLINE void AddElement(float a, float x, BlockSums& s, float& error) {
  const double da = a, dx = x, de = da - dx;
  error = std::abs(a - x);
  s.e_max = std::max(s.e_max, error);
  s.a_min = std::min(s.a_min, a);
  s.a_max = std::max(s.a_max, a);
  s.x_min = std::min(s.x_min, x);
  s.x_max = std::max(s.x_max, x);
  s.a_zero += a == 0;
  s.x_zero += x == 0;
  s.e += de;
  s.abs_e += std::abs(de);
  s.abs_x += std::abs(dx);
  s.ee += de * de;
  s.xx += dx * dx;
  s.aa += da * da;
  s.ax += da * dx;
}

BlockSums BlockSumsOf(const float* HWY_RESTRICT a, const float* HWY_RESTRICT x, std::size_t n,
                      float* HWY_RESTRICT errors) {
  const hn::ScalableTag<float> df;
  const hn::ScalableTag<double> dd;
  const hn::Rebind<float, decltype(dd)> dh;  // as many floats as a vector holds doubles
  const std::size_t lanes = hn::Lanes(df), half = hn::Lanes(dd);

  auto e = hn::Zero(dd), abs_e = e, abs_x = e, ee = e, xx = e, aa = e, ax = e;
  auto e_max = hn::Zero(df);
  auto a_min = hn::Set(df, BlockSums::kLargest), a_max = hn::Neg(a_min), x_min = a_min, x_max = a_max;
  BlockSums s;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    // The arithmetic per element is too long for the processor to look past it to the next cache lines by itself, and
    // its prefetcher stops at every page: this is worth a factor of two on tensors that do not fit the caches.
    hwy::Prefetch(a + i + kBlock);
    hwy::Prefetch(x + i + kBlock);
    const auto va = hn::LoadU(df, a + i), vx = hn::LoadU(df, x + i);
    const auto error = hn::Abs(hn::Sub(va, vx));
    hn::StoreU(error, df, errors + i);
    e_max = hn::Max(e_max, error);
    a_min = hn::Min(a_min, va);
    a_max = hn::Max(a_max, va);
    x_min = hn::Min(x_min, vx);
    x_max = hn::Max(x_max, vx);
    s.a_zero += static_cast<std::int64_t>(hn::CountTrue(df, hn::Eq(va, hn::Zero(df))));
    s.x_zero += static_cast<std::int64_t>(hn::CountTrue(df, hn::Eq(vx, hn::Zero(df))));
    for (std::size_t j = i; j < i + lanes; j += half) {
      const auto da = hn::PromoteTo(dd, hn::LoadU(dh, a + j)), dx = hn::PromoteTo(dd, hn::LoadU(dh, x + j));
      const auto de = hn::Sub(da, dx);
      e = hn::Add(e, de);
      abs_e = hn::Add(abs_e, hn::Abs(de));
      abs_x = hn::Add(abs_x, hn::Abs(dx));
      ee = hn::MulAdd(de, de, ee);
      xx = hn::MulAdd(dx, dx, xx);
      aa = hn::MulAdd(da, da, aa);
      ax = hn::MulAdd(da, dx, ax);
    }
  }
  const auto total = [&](auto v) { return hn::GetLane(hn::SumOfLanes(dd, v)); };
  s.e = total(e);
  s.abs_e = total(abs_e);
  s.abs_x = total(abs_x);
  s.ee = total(ee);
  s.xx = total(xx);
  s.aa = total(aa);
  s.ax = total(ax);
  s.e_max = hn::GetLane(hn::MaxOfLanes(df, e_max));
  s.a_min = hn::GetLane(hn::MinOfLanes(df, a_min));
  s.a_max = hn::GetLane(hn::MaxOfLanes(df, a_max));
  s.x_min = hn::GetLane(hn::MinOfLanes(df, x_min));
  s.x_max = hn::GetLane(hn::MaxOfLanes(df, x_max));
  for (; i < n; ++i) AddElement(a[i], x[i], s, errors[i]);
  return s;
}

Filtered Filter(const float* HWY_RESTRICT values, std::size_t n, float low, float high, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> df;
  const std::size_t lanes = hn::Lanes(df);
  const auto vlow = hn::Set(df, low), vhigh = hn::Set(df, high);
  Filtered f;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(df, values + i);
    const auto is_above = hn::Gt(v, vlow);
    const auto inside = hn::And(is_above, hn::Le(v, vhigh));
    hn::StoreU(hn::Compress(v, inside), df, out + f.stored);
    f.stored += hn::CountTrue(df, inside);
    f.above += hn::CountTrue(df, is_above);
  }
  for (; i < n; ++i) {
    const bool is_above = values[i] > low;
    f.above += is_above;
    if (is_above && values[i] <= high) out[f.stored++] = values[i];
  }
  return f;
}

}  // namespace qnndbg::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qnndbg::simd {

HWY_EXPORT(BlockSumsOf);
HWY_EXPORT(Filter);

void BlockSums::add(const BlockSums& other) {
  e += other.e;
  abs_e += other.abs_e;
  abs_x += other.abs_x;
  ee += other.ee;
  xx += other.xx;
  aa += other.aa;
  ax += other.ax;
  e_max = std::max(e_max, other.e_max);
  a_min = std::min(a_min, other.a_min);
  a_max = std::max(a_max, other.a_max);
  x_min = std::min(x_min, other.x_min);
  x_max = std::max(x_max, other.x_max);
  a_zero += other.a_zero;
  x_zero += other.x_zero;
}

BlockSums block_sums(const float* a, const float* x, std::size_t n, float* errors) {
  return HWY_DYNAMIC_DISPATCH(BlockSumsOf)(a, x, n, errors);
}

Filtered filter(const float* values, std::size_t n, float low, float high, float* out) {
  return HWY_DYNAMIC_DISPATCH(Filter)(values, n, low, high, out);
}

}  // namespace qnndbg::simd
#endif  // HWY_ONCE
