// Element-wise arithmetic with NumPy broadcasting on logical dims.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace qnndbg {

/// Right-aligned broadcast of two shapes; an error names both when they do not fit.
Result<Dims> broadcast_dims(const Dims& a, const Dims& b);

/// Strides of `dims` seen under `out` (0 on broadcast axes), right-aligned. Precondition: it broadcasts to `out`.
Dims broadcast_strides(const Dims& dims, const Dims& out);

/// Calls f(a, b) -> result for every element of `out` (dims `out_dims`).
template <class A, class B, class R, class F>
void broadcast_apply(std::span<const A> a, const Dims& a_dims, std::span<const B> b, const Dims& b_dims,
                     std::span<R> out, const Dims& out_dims, F f) {
  if (out.empty()) return;
  if (a_dims == out_dims && b_dims == out_dims) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(a[i], b[i]);
    return;
  }
  // Axes that both operands walk in the same way are merged, so that the inner loop is as long as possible.
  const Dims sa = broadcast_strides(a_dims, out_dims);
  const Dims sb = broadcast_strides(b_dims, out_dims);
  Dims extent{1};
  Dims step_a{0};
  Dims step_b{0};
  for (std::size_t k = out_dims.size(); k-- > 0;) {
    if (out_dims[k] == 1) continue;
    if (extent.front() == 1) {
      extent.front() = out_dims[k];
      step_a.front() = sa[k];
      step_b.front() = sb[k];
    } else if (sa[k] == step_a.front() * extent.front() && sb[k] == step_b.front() * extent.front()) {
      extent.front() *= out_dims[k];
    } else {
      extent.insert(extent.begin(), out_dims[k]);
      step_a.insert(step_a.begin(), sa[k]);
      step_b.insert(step_b.begin(), sb[k]);
    }
  }
  const std::int64_t inner = extent.back();
  const std::int64_t ia = step_a.back();
  const std::int64_t ib = step_b.back();
  Dims index(extent.size(), 0);
  const A* pa = a.data();
  const B* pb = b.data();
  for (R* po = out.data(); po != out.data() + out.size(); po += inner) {
    if (ia == 1 && ib == 1) {
      for (std::int64_t i = 0; i < inner; ++i) po[i] = f(pa[i], pb[i]);
    } else if (ia == 1 && ib == 0) {
      for (std::int64_t i = 0; i < inner; ++i) po[i] = f(pa[i], *pb);
    } else if (ia == 0 && ib == 1) {
      for (std::int64_t i = 0; i < inner; ++i) po[i] = f(*pa, pb[i]);
    } else {
      for (std::int64_t i = 0; i < inner; ++i) po[i] = f(pa[i * ia], pb[i * ib]);
    }
    for (std::size_t k = extent.size() - 1; k-- > 0;) {
      pa += step_a[k];
      pb += step_b[k];
      if (++index[k] < extent[k]) break;
      pa -= step_a[k] * extent[k];
      pb -= step_b[k] * extent[k];
      index[k] = 0;
    }
  }
}

}  // namespace qnndbg
