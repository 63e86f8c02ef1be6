#include "ops/support/resize_kernel.h"

#include <algorithm>
#include <cmath>

namespace qnndbg {
namespace {

std::int64_t to_index(float src) {
  // A coordinate beyond any extent must not overflow the conversion; it is clamped to the input anyway.
  constexpr float kFar = 1e15F;
  return static_cast<std::int64_t>(std::clamp(src, -kFar, kFar));
}

Taps nearest(std::int64_t index) { return {.index = {index}, .weight = {1}, .count = 1}; }

Taps cubic(std::int64_t i, float f) {
  constexpr float a = -0.75F;
  const auto near = [](float t) { return (a + 2) * t * t * t - (a + 3) * t * t + 1; };
  const auto far = [](float t) { return a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a; };
  return {.index = {i - 1, i, i + 1, i + 2}, .weight = {far(1 + f), near(f), near(1 - f), far(2 - f)}, .count = 4};
}

Taps unclamped(float src, ResizeSampling sampling) {
  const float floor = std::floor(src);
  const float f = src - floor;
  switch (sampling) {
    case ResizeSampling::floor: break;
    case ResizeSampling::round_half_down: return nearest(to_index(std::floor(src + 0.499F)));
    case ResizeSampling::round_half_up: return nearest(to_index(std::floor(src + 0.5F)));
    case ResizeSampling::ceil: return nearest(to_index(std::ceil(src)));
    case ResizeSampling::linear: {
      const std::int64_t i = to_index(floor);
      return {.index = {i, i + 1}, .weight = {1 - f, f}, .count = 2};
    }
    case ResizeSampling::cubic_truncated: return cubic(to_index(src), f);
    case ResizeSampling::cubic: return cubic(to_index(floor), f);
  }
  return nearest(to_index(floor));
}

}  // namespace

std::vector<Taps> all_taps(const ResizeAxis& axis, ResizeSampling sampling) {
  std::vector<Taps> all;
  all.reserve(static_cast<std::size_t>(axis.out));
  for (std::int64_t i = 0; i < axis.out; ++i) {
    Taps taps = unclamped(static_cast<float>(i) * axis.scale + axis.offset, sampling);
    for (int k = 0; k < taps.count; ++k) {
      std::int64_t& index = taps.index[static_cast<std::size_t>(k)];
      index = std::clamp<std::int64_t>(index, 0, axis.in - 1);
    }
    all.push_back(taps);
  }
  return all;
}

Tensor resize(const Tensor& x, const std::vector<Taps>& rows, const std::vector<Taps>& columns, bool absolute) {
  const Dims out{x.dims()[0], x.dims()[1], static_cast<std::int64_t>(rows.size()),
                 static_cast<std::int64_t>(columns.size())};
  Tensor y = Tensor::f32(out);
  const std::int64_t width = x.dims()[3];
  const std::int64_t in_plane = x.dims()[2] * width;
  float* to = y.f32().data();
  std::vector<float> line(static_cast<std::size_t>(width));
  for (std::int64_t p = 0; p < out[0] * out[1]; ++p) {
    const float* plane = x.f32().data() + p * in_plane;
    for (const Taps& row : rows) {
      for (std::int64_t w = 0; w < width; ++w) {
        float sum = 0;
        for (int k = 0; k < row.count; ++k) {
          const float v = plane[row.index[static_cast<std::size_t>(k)] * width + w];
          const float weight = row.weight[static_cast<std::size_t>(k)];
          sum += absolute ? std::fabs(weight * v) : weight * v;
        }
        line[static_cast<std::size_t>(w)] = sum;
      }
      for (const Taps& column : columns) {
        float sum = 0;
        for (int k = 0; k < column.count; ++k) {
          const float weight = column.weight[static_cast<std::size_t>(k)];
          sum += (absolute ? std::fabs(weight) : weight) *
                 line[static_cast<std::size_t>(column.index[static_cast<std::size_t>(k)])];
        }
        *to++ = sum;
      }
    }
  }
  return y;
}

double resize_element(const Tensor& x, const std::vector<Taps>& rows, const std::vector<Taps>& columns,
                      std::int64_t element, bool absolute) {
  const auto height = static_cast<std::int64_t>(rows.size());
  const auto width = static_cast<std::int64_t>(columns.size());
  const Taps& row = rows[static_cast<std::size_t>(element / width % height)];
  const Taps& column = columns[static_cast<std::size_t>(element % width)];
  const float* plane = x.f32().data() + element / (width * height) * x.dims()[2] * x.dims()[3];
  double sum = 0;
  for (int r = 0; r < row.count; ++r) {
    for (int c = 0; c < column.count; ++c) {
      const auto a = static_cast<std::size_t>(r);
      const auto b = static_cast<std::size_t>(c);
      const double term =
          static_cast<double>(row.weight[a]) * column.weight[b] * plane[row.index[a] * x.dims()[3] + column.index[b]];
      sum += absolute ? std::fabs(term) : term;
    }
  }
  return sum;
}

}  // namespace qnndbg
