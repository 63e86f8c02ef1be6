// 2-D resizing of logical NCHW data, separable: each output row and column has its weighted source positions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace qnndbg {

/// How a source coordinate becomes source positions; all are clamped to the input.
enum class ResizeSampling : std::uint8_t {
  floor,            // nearest
  round_half_down,  // nearest: floor(src + 0.499), MNN's CPU
  round_half_up,    // nearest: floor(src + 0.5)
  ceil,             // nearest
  linear,
  cubic_truncated,  // Keys' kernel, a = -0.75; MNN's CPU truncates the index but takes the fraction from the floor
  cubic             // Keys' kernel, a = -0.75, index and fraction from the floor (ONNX)
};

/// Source coordinate of output position i: i * scale + offset, in float32 (ties flip otherwise).
struct ResizeAxis {
  std::int64_t in = 0;
  std::int64_t out = 0;
  float scale = 1;
  float offset = 0;
};

/// Up to four weighted source positions of one output position.
struct Taps {
  std::array<std::int64_t, 4> index{};
  std::array<float, 4> weight{};
  int count = 1;

  bool operator==(const Taps&) const = default;
};

/// The taps of every output position of an axis.
std::vector<Taps> all_taps(const ResizeAxis& axis, ResizeSampling sampling);

/// Interpolates rows, then columns; with `absolute` |weight| * |x|, the magnitude of the error bound.
Tensor resize(const Tensor& x, const std::vector<Taps>& rows, const std::vector<Taps>& columns, bool absolute);

/// One element of the same, in double.
double resize_element(const Tensor& x, const std::vector<Taps>& rows, const std::vector<Taps>& columns,
                      std::int64_t element, bool absolute);

}  // namespace qnndbg
