// Mistakes with convolutions: each is found where it was made, and none is claimed where there is none.
#include "ops/convolution_model.h"
#include "ops/counterfactual.h"

namespace qnndbg::test {
namespace {

using namespace convolution;

struct Case {
  int kind = wire::Kind_Convolution;
  Conv conv = {};
  Tensor x = {};
};

/// Planes of about 8x8 positions, so that weights are overdetermined; every kind and fused activation in turn.
Case random_case(Rng& rng, int n) {
  Case c;
  constexpr int kKinds[] = {wire::Kind_Convolution, wire::Kind_ConvolutionDepthwise, wire::Kind_Deconvolution};
  c.kind = kKinds[n % 3];
  Conv& v = c.conv;
  if (c.kind == wire::Kind_ConvolutionDepthwise) {
    v.group = 4;
  } else {
    v.in_per_group = pick(rng, 2, 4);
    v.out_per_group = pick(rng, 3, 5);
    // MNN's CPU does not run grouped deconvolutions.
    v.group = c.kind == wire::Kind_Convolution ? pick(rng, 1, 2) : 1;
  }
  v.fused = static_cast<Fused>(n / 3 % 3);
  for (Axis* axis : {&v.h, &v.w}) *axis = {.in = pick(rng, 8, 10), .kernel = 3, .before = 1, .after = 1};
  v.weight = random_floats(rng, v.out_channels() * v.in_per_group * 9);
  v.bias_values = random_floats(rng, v.out_channels());
  c.x = half_tensor(rng, v.in_dims());
  return c;
}

/// What the engine says when the device ran `wrong` although `c` was meant.
Found found(const Case& c, const Conv& wrong) {
  return cause_of(model_of(c.kind, c.conv), {&c.x}, on_device(model_of(c.kind, wrong), {&c.x}));
}

/// Applies `change` to a copy of every kind of convolution and expects `cause`.
template <class Change>
void expect_cause(unsigned seed, const std::string& cause, Change change) {
  Rng rng(seed);
  for (int n = 0; n < 9; ++n) {
    const Case c = random_case(rng, n);
    Conv wrong = c.conv;
    if (!change(rng, c, wrong)) continue;
    const Found f = found(c, wrong);
    EXPECT_EQ(f.cause, cause) << "case " << n << ", kind " << c.kind << ": " << f.parameter << " = " << f.used
                              << ", ties " << ::testing::PrintToString(f.ties);
  }
}

/// Position of a weight in the tensor of the QNN node, [kh, kw, in, out].
std::size_t device_index(const Case& c, std::size_t model_index) {
  const bool transposed = c.kind == wire::Kind_Deconvolution;
  const std::size_t taps = 9;
  const std::size_t rows = transposed ? u(c.conv.in_channels()) : u(c.conv.out_channels());
  const std::size_t columns = c.conv.weight.size() / taps / rows;
  const std::size_t row = model_index / taps / columns;
  const std::size_t column = model_index / taps % columns;
  const std::size_t tap = model_index % taps;
  return transposed ? (tap * rows + row) * columns + column : (tap * columns + column) * rows + row;
}

/// The weights when the node's tensor holds at f what it should hold at source(f).
template <class Source>
std::vector<float> reordered(const Case& c, Source source) {
  const std::size_t n = c.conv.weight.size();
  std::vector<float> device(n);
  for (std::size_t w = 0; w < n; ++w) device[device_index(c, w)] = c.conv.weight[w];
  std::vector<float> out(n);
  for (std::size_t w = 0; w < n; ++w) out[w] = device[source(device_index(c, w))];
  return out;
}

TEST(ConvolutionMistakes, NoneInARightOutput) {
  expect_cause(700, "right", [](Rng&, const Case&, Conv&) { return true; });
}

TEST(ConvolutionMistakes, Bias) {
  expect_cause(701, "bias_dropped", [](Rng&, const Case&, Conv& v) {
    std::fill(v.bias_values.begin(), v.bias_values.end(), 0.0F);
    return true;
  });
  expect_cause(702, "bias_misordered", [](Rng&, const Case&, Conv& v) {
    std::rotate(v.bias_values.begin(), v.bias_values.begin() + 1, v.bias_values.end());
    return true;
  });
  expect_cause(703, "bias_misordered", [](Rng&, const Case&, Conv& v) {
    std::reverse(v.bias_values.begin(), v.bias_values.end());
    return true;
  });
  for (float factor : {0.5F, 1.02F, 1.25F, -1.0F, 10.0F}) {
    expect_cause(704, "bias_scale_wrong", [factor](Rng&, const Case&, Conv& v) {
      for (float& b : v.bias_values) b *= factor;
      return true;
    });
  }
  expect_cause(705, "bias_differs", [](Rng&, const Case&, Conv& v) {
    v.bias_values[1] += 0.37F;
    return true;
  });
}

TEST(ConvolutionMistakes, WeightScale) {
  for (float factor : {0.5F, 0.99F, 1.01F, 1.25F, -1.0F}) {
    expect_cause(710, "weight_scale_wrong", [factor](Rng&, const Case&, Conv& v) {
      for (float& w : v.weight) w *= factor;
      return true;
    });
  }
  // One channel alone.
  expect_cause(711, "weight_scale_wrong", [](Rng&, const Case& c, Conv& v) {
    if (c.kind == wire::Kind_Deconvolution) return false;  // its channels are not contiguous
    for (std::size_t k = 0; k < v.weight.size() / u(v.out_channels()); ++k) v.weight[k] *= 1.5F;
    return true;
  });
}

TEST(ConvolutionMistakes, WeightOrder) {
  expect_cause(720, "weight_layout_wrong", [](Rng&, const Case& c, Conv& v) {
    v.weight = reordered(c, [n = v.weight.size()](std::size_t f) { return n - 1 - f; });
    return true;
  });
  // The kernel turned by 180 degrees, which is what a convolution is to a correlation.
  expect_cause(721, "weight_layout_wrong", [](Rng&, const Case&, Conv& v) {
    for (std::size_t k = 0; k < v.weight.size(); k += 9)
      std::reverse(v.weight.begin() + static_cast<std::ptrdiff_t>(k),
                   v.weight.begin() + static_cast<std::ptrdiff_t>(k) + 9);
    return true;
  });
  expect_cause(722, "weight_layout_wrong", [](Rng&, const Case&, Conv& v) {
    for (std::size_t k = 0; k < v.weight.size(); k += 9) {
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < i; ++j) std::swap(v.weight[k + i * 3 + j], v.weight[k + j * 3 + i]);
      }
    }
    return true;
  });
  // The model's order handed over as it is.
  expect_cause(723, "weight_layout_wrong", [](Rng&, const Case& c, Conv& v) {
    for (std::size_t w = 0; w < v.weight.size(); ++w) v.weight[w] = c.conv.weight[device_index(c, w)];
    return true;
  });
  expect_cause(724, "weight_layout_wrong", [](Rng&, const Case& c, Conv& v) {
    if (c.kind == wire::Kind_Deconvolution) return false;
    const auto size = static_cast<std::ptrdiff_t>(v.weight.size() / u(v.out_channels()));
    std::swap_ranges(v.weight.begin(), v.weight.begin() + size, v.weight.begin() + 2 * size);
    return true;
  });
  // Two input channels, two kernel positions.
  expect_cause(725, "weight_layout_wrong", [](Rng&, const Case& c, Conv& v) {
    if (c.kind != wire::Kind_Convolution || v.group != 1) return false;
    for (std::size_t o = 0; o < u(v.out_channels()); ++o) {
      for (std::size_t k = 0; k < 9; ++k)
        std::swap(v.weight[(o * u(v.in_per_group)) * 9 + k], v.weight[(o * u(v.in_per_group) + 1) * 9 + k]);
    }
    return true;
  });
  expect_cause(726, "weight_layout_wrong", [](Rng&, const Case&, Conv& v) {
    for (std::size_t k = 0; k < v.weight.size(); k += 9) std::swap(v.weight[k + 1], v.weight[k + 5]);
    return true;
  });
}

TEST(ConvolutionMistakes, OtherWeights) {
  expect_cause(730, "weights_differ", [](Rng&, const Case&, Conv& v) {
    std::fill(v.weight.begin(), v.weight.end(), 0.0F);
    return true;
  });
  expect_cause(731, "weights_differ", [](Rng&, const Case& c, Conv& v) {
    if (c.kind == wire::Kind_Deconvolution) return false;
    v.weight[5] += 0.25F;
    return true;
  });
  expect_cause(732, "weights_differ", [](Rng& rng, const Case& c, Conv& v) {
    // With a fused activation too few positions show their sum to determine all weights.
    if (c.kind != wire::Kind_ConvolutionDepthwise || v.fused != Fused::none) return false;
    v.weight = random_floats(rng, static_cast<std::int64_t>(v.weight.size()));
    return true;
  });
}

TEST(ConvolutionMistakes, Geometry) {
  expect_cause(740, "padding_side_wrong", [](Rng&, const Case& c, Conv& v) {
    if (c.kind == wire::Kind_Deconvolution) return false;
    v.h.before = 2, v.h.after = 0;
    return true;
  });
  expect_cause(741, "padding_side_wrong", [](Rng&, const Case&, Conv& v) {
    v.w.before = 0, v.w.after = 2;
    return true;
  });
  expect_cause(742, "dilation_wrong", [](Rng&, const Case& c, Conv& v) {
    if (c.kind == wire::Kind_Deconvolution) return false;
    v.h.dilation = 2, v.h.after += 2;  // the backend takes the padding after the data from the output's extent
    return true;
  });
  Rng rng(743);
  Case c{.conv = {.in_per_group = 3, .out_per_group = 4}};
  for (Axis* axis : {&c.conv.h, &c.conv.w}) *axis = {.in = 6, .kernel = 3, .stride = 2};
  c.conv.weight = random_floats(rng, 4 * 3 * 9);
  c.conv.bias_values = random_floats(rng, 4);
  c.x = half_tensor(rng, c.conv.in_dims());
  Conv wrong = c.conv;
  wrong.h.stride = 3;  // two rows either way
  EXPECT_EQ(found(c, wrong).cause, "stride_wrong");
}

TEST(ConvolutionMistakes, Activation) {
  expect_cause(750, "activation_dropped", [](Rng&, const Case&, Conv& v) {
    if (v.fused == Fused::none) return false;
    v.fused = Fused::none;
    return true;
  });
  expect_cause(751, "activation_wrong", [](Rng&, const Case&, Conv& v) {
    v.fused = v.fused == Fused::relu6 ? Fused::relu : Fused::relu6;
    return true;
  });
}

TEST(ConvolutionMistakes, WhatNobodyDeclaredStaysUnexplained) {
  Rng rng(760);
  for (int n = 0; n < 9; ++n) {
    const Case c = random_case(rng, n);
    const OneOp right = model_of(c.kind, c.conv);
    Tensor device = on_device(right, {&c.x});
    // A ripple over all positions is no bias, no weights, no geometry.
    for (std::size_t i = 0; i < device.f32().size(); ++i)
      device.f32()[i] += 0.3F * std::sin(static_cast<float>(i) * static_cast<float>(i) * 0.37F);
    EXPECT_EQ(cause_of(right, {&c.x}, on_device(std::move(device))).cause, "unexplained") << "case " << n;
  }
}

TEST(ConvolutionMistakes, OnePixelProvesNoBias) {
  // A free bias on a 1x1 plane has as many numbers as there are equations.
  Rng rng(761);
  Case c{.conv = {.in_per_group = 6, .out_per_group = 8}};
  c.conv.weight = random_floats(rng, 48);
  c.conv.bias_values = random_floats(rng, 8);
  c.x = half_tensor(rng, c.conv.in_dims());
  Conv wrong = c.conv;
  wrong.bias_values = random_floats(rng, 8);
  EXPECT_EQ(found(c, wrong).cause, "unexplained");
}

}  // namespace
}  // namespace qnndbg::test
