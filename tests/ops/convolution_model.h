// Models of one convolution, described in numbers.
#pragma once

#include "ops/oracle.h"

namespace qnndbg::test {

namespace convolution {

enum class Pad { listed, symmetric, same, valid };
enum class Fused { none, relu, relu6 };

struct Axis {
  int in = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0, extra = 0;
  int reach() const { return dilation * (kernel - 1) + 1; }
};

struct Conv {
  int batch = 1, group = 1, in_per_group = 1, out_per_group = 1;
  Axis h = {}, w = {};
  Pad pad = Pad::listed;
  Fused fused = Fused::none;
  bool bias = true;
  bool output_shape = false;  // the last operand gives it
  std::vector<float> weight = {}, bias_values = {};

  int in_channels() const { return group * in_per_group; }
  int out_channels() const { return group * out_per_group; }
  Dims in_dims() const { return {batch, in_channels(), h.in, w.in}; }
};

inline Table write(Builder& builder, const Conv& c) {
  const auto pads = c.pad == Pad::listed
                        ? builder.CreateVector(std::vector<int>{c.h.before, c.w.before, c.h.after, c.w.after})
                        : flatbuffers::Offset<flatbuffers::Vector<int>>();
  const auto out_pads = builder.CreateVector(std::vector<int>{c.h.extra, c.w.extra});
  wire::Convolution2DCommonBuilder common(builder);
  common.add_kernelX(c.w.kernel);
  common.add_kernelY(c.h.kernel);
  common.add_strideX(c.w.stride);
  common.add_strideY(c.h.stride);
  common.add_dilateX(c.w.dilation);
  common.add_dilateY(c.h.dilation);
  common.add_group(c.group);
  common.add_inputCount(c.in_channels());
  common.add_outputCount(c.out_channels());
  common.add_relu(c.fused == Fused::relu);
  common.add_hasOutputShape(c.output_shape);
  common.add_relu6(c.fused == Fused::relu6);
  common.add_padMode(c.pad == Pad::same    ? wire::ConvPad_SAME
                     : c.pad == Pad::valid ? wire::ConvPad_VALID
                                           : wire::ConvPad_CAFFE);
  if (c.pad == Pad::listed) common.add_pads(pads);
  if (c.pad == Pad::symmetric) {
    common.add_padX(c.w.before);
    common.add_padY(c.h.before);
  }
  if (c.h.extra + c.w.extra > 0) common.add_outPads(out_pads);
  const auto common_table = common.Finish();
  const auto weight = builder.CreateVector(c.weight);
  const auto bias = builder.CreateVector(c.bias_values);
  wire::Convolution2DBuilder main(builder);
  main.add_common(common_table);
  main.add_weight(weight);
  if (c.bias) main.add_bias(bias);
  return main.Finish().Union();
}

inline OneOp model_of(int kind, const Conv& c) {
  return OneOp(kind, 1, wire::OpParameter_Convolution2D, [&c](Builder& b) { return write(b, c); });
}

inline Axis random_axis(Rng& rng, Pad pad) {
  Axis a{.in = pick(rng, 1, 9), .kernel = pick(rng, 1, 4), .stride = pick(rng, 1, 3), .dilation = pick(rng, 1, 2)};
  if (pad == Pad::listed) a.before = pick(rng, 0, 2), a.after = pick(rng, 0, 2);
  if (pad == Pad::symmetric) a.before = a.after = pick(rng, 0, 2);
  a.in = std::max(a.in, a.reach() - a.before - a.after);
  return a;
}

inline Conv random_conv(Rng& rng, bool depthwise) {
  Conv c{.batch = pick(rng, 1, 2), .group = depthwise ? pick(rng, 1, 5) : pick(rng, 1, 3)};
  if (!depthwise) c.in_per_group = pick(rng, 1, 4), c.out_per_group = pick(rng, 1, 4);
  c.pad = static_cast<Pad>(pick(rng, 0, 3));
  c.fused = static_cast<Fused>(pick(rng, 0, 2));
  c.bias = coin(rng);
  c.h = random_axis(rng, c.pad);
  c.w = random_axis(rng, c.pad);
  c.weight = random_floats(rng, c.out_channels() * c.in_per_group * c.h.kernel * c.w.kernel);
  c.bias_values = random_floats(rng, c.out_channels());
  return c;
}

}  // namespace convolution
}  // namespace qnndbg::test
