// 2-D convolution and deconvolution in fp32 by oneDNN, and single elements in double.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace qnndbg {

/// Geometry of a convolution on logical NCHW data. Padding after the data is what the output extents need.
struct ConvGeometry {
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0;
  std::int64_t group = 1;
};

/// y[n,o,h,w] = b[o] + sum over i,u,v of w[o,i,u,v] x[n, g*I/G + i, h*s + u*d - p, ...]; zero outside.
/// x: [N, I, H, W]; weight: [O, I/G, kh, kw]; bias: O values or empty; output dims [N, O, OH, OW].
Result<Tensor> convolution(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
                           const ConvGeometry& geometry, const Dims& output_dims);

/// A product that an output element sums: the flat index of the weight, and the input value that it multiplies. Taps in
/// the padding are left out.
struct ConvTap {
  std::int64_t weight = 0;
  float x = 0;
};

/// The taps of one output element, in the order of the weights.
std::vector<ConvTap> convolution_taps(const Tensor& x, const ConvGeometry& geometry, const Dims& output_dims,
                                      std::int64_t element);

/// One element of the same, in double.
double convolution_element(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
                           const ConvGeometry& geometry, const Dims& output_dims, std::int64_t element);

/// y[n,o, i*s + u*d - p, ...] += x[n,i,...] w[i,o,u,v], plus b[o].
/// x: [N, I, H, W]; weight: [I, O/G, kh, kw]; output dims [N, O, OH, OW].
Result<Tensor> deconvolution(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
                             const ConvGeometry& geometry, const Dims& output_dims);

std::vector<ConvTap> deconvolution_taps(const Tensor& x, const ConvGeometry& geometry, const Dims& output_dims,
                                        std::int64_t element);

double deconvolution_element(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
                             const ConvGeometry& geometry, const Dims& output_dims, std::int64_t element);

}  // namespace qnndbg
