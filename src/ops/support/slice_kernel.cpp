#include "ops/support/slice_kernel.h"

namespace qnndbg {
namespace {

template <class T>
void copy_window(std::span<const T> x, const Dims& strides, const std::vector<SliceAxis>& axes, std::span<T> y) {
  if (y.empty()) return;
  std::int64_t base = 0;
  for (std::size_t k = 0; k < axes.size(); ++k) base += axes[k].begin * strides[k];
  Dims index(axes.size(), 0);
  for (T& out : y) {
    out = x[static_cast<std::size_t>(base)];
    for (std::size_t k = axes.size(); k-- > 0;) {
      const std::int64_t step = axes[k].step * strides[k];
      base += step;
      if (++index[k] < axes[k].size) break;
      base -= step * axes[k].size;
      index[k] = 0;
    }
  }
}

}  // namespace

Tensor slice(const Tensor& x, const std::vector<SliceAxis>& axes) {
  Dims dims;
  for (const SliceAxis& axis : axes) dims.push_back(axis.size);
  Tensor y(x.type(), dims);
  if (x.type() == DType::f32) {
    copy_window<float>(x.f32(), strides_of(x.dims()), axes, y.f32());
  } else {
    copy_window<std::int32_t>(x.i32(), strides_of(x.dims()), axes, y.i32());
  }
  return y;
}

}  // namespace qnndbg
