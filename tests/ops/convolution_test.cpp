// Convolution, ConvolutionDepthwise, Deconvolution against seven nested loops.
#include "ops/convolution_model.h"

namespace qnndbg::test {
namespace {

using namespace convolution;

double activate(Fused fused, double y) {
  if (fused == Fused::none) return y;
  return std::min(std::max(y, 0.0), fused == Fused::relu6 ? 6.0 : HUGE_VAL);
}

struct Window {
  std::int64_t out = 0, begin = 0;
};

Window convolution_window(const Axis& a, Pad pad) {
  if (pad == Pad::same) {
    const int out = static_cast<int>(std::ceil(static_cast<double>(a.in) / a.stride));
    return {out, ((out - 1) * a.stride + a.reach() - a.in) / 2};
  }
  if (pad == Pad::valid) return {static_cast<int>(std::ceil(static_cast<double>(a.in - a.reach() + 1) / a.stride)), 0};
  int out = 0;
  while (out * a.stride + a.reach() <= a.in + a.before + a.after) ++out;
  return {out, a.before};
}

void expect_convolution(const Tensor& y, const Conv& c, const Tensor& x) {
  const Window h = convolution_window(c.h, c.pad);
  const Window w = convolution_window(c.w, c.pad);
  expect_tensor(y, DType::f32, {c.batch, c.out_channels(), h.out, w.out}, [&](const Dims& o) {
    double sum = c.bias ? c.bias_values[u(o[1])] : 0.0;
    double absolute = std::abs(sum);
    const std::int64_t group = o[1] / c.out_per_group;
    for (int i = 0; i < c.in_per_group; ++i) {
      for (int p = 0; p < c.h.kernel; ++p) {
        for (int q = 0; q < c.w.kernel; ++q) {
          const std::int64_t row = o[2] * c.h.stride - h.begin + p * c.h.dilation;
          const std::int64_t column = o[3] * c.w.stride - w.begin + q * c.w.dilation;
          if (row < 0 || row >= c.h.in || column < 0 || column >= c.w.in) continue;
          const double weight = c.weight[u(((o[1] * c.in_per_group + i) * c.h.kernel + p) * c.w.kernel + q)];
          const double term = weight * at(x, {o[0], group * c.in_per_group + i, row, column});
          sum += term;
          absolute += std::abs(term);
        }
      }
    }
    return Exact{activate(c.fused, sum), 1e-5 * absolute};
  });
}

TEST(Convolution, MatchesTheDefinition) {
  Rng rng(1);
  for (int n = 0; n < 60; ++n) {
    const Conv c = random_conv(rng, false);
    const Tensor x = random_tensor(rng, c.in_dims());
    expect_convolution(model_of(wire::Kind_Convolution, c).output({&x}), c, x);
    if (HasFatalFailure()) FAIL() << "case " << n;
  }
}

TEST(ConvolutionDepthwise, MatchesTheDefinition) {
  Rng rng(2);
  for (int n = 0; n < 60; ++n) {
    const Conv c = random_conv(rng, true);
    const Tensor x = random_tensor(rng, c.in_dims());
    expect_convolution(model_of(wire::Kind_ConvolutionDepthwise, c).output({&x}), c, x);
    if (HasFatalFailure()) FAIL() << "case " << n;
  }
}

Window deconvolution_window(const Axis& a, Pad pad) {
  if (pad == Pad::same) return {a.in * a.stride, ((a.in - 1) * a.stride + a.kernel - a.in * a.stride) / 2};
  return {(a.in - 1) * a.stride + a.reach() - a.before - a.after + a.extra, a.before};
}

Conv random_deconvolution(Rng& rng) {
  Conv c = random_conv(rng, false);
  if (c.pad == Pad::valid) c.pad = Pad::listed;
  for (Axis* a : {&c.h, &c.w}) {
    a->extra = c.pad == Pad::same ? 0 : pick(rng, 0, a->stride - 1);
    a->in = pick(rng, 1, 5);
    while (deconvolution_window(*a, c.pad).out < 1) ++a->in;
  }
  return c;
}

/// Scatters: every input element times the kernel is added around its place in the output.
void expect_deconvolution(const Tensor& y, const Conv& c, const Tensor& x, const Window& h, const Window& w) {
  const Dims out{c.batch, c.out_channels(), h.out, w.out};
  const auto offset = [&](const Dims& o) { return u(((o[0] * out[1] + o[1]) * out[2] + o[2]) * out[3] + o[3]); };
  std::vector<double> sum(u(element_count(out)));
  std::vector<double> absolute(sum.size());
  const auto add = [&](const Dims& o, double term) {
    sum[offset(o)] += term;
    absolute[offset(o)] += std::abs(term);
  };
  for (const Dims& o : indices_of(out)) add(o, c.bias ? c.bias_values[u(o[1])] : 0.0);
  for (const Dims& i : indices_of(x.dims())) {
    const std::int64_t group = i[1] / c.in_per_group;
    for (const Dims& k : indices_of({c.out_per_group, c.h.kernel, c.w.kernel})) {
      const std::int64_t row = i[2] * c.h.stride + k[1] * c.h.dilation - h.begin;
      const std::int64_t column = i[3] * c.w.stride + k[2] * c.w.dilation - w.begin;
      if (row < 0 || row >= h.out || column < 0 || column >= w.out) continue;
      const double weight = c.weight[u(((i[1] * c.out_per_group + k[0]) * c.h.kernel + k[1]) * c.w.kernel + k[2])];
      add({i[0], group * c.out_per_group + k[0], row, column}, weight * at(x, i));
    }
  }
  expect_tensor(y, DType::f32, out,
                [&](const Dims& o) { return Exact{activate(c.fused, sum[offset(o)]), 1e-5 * absolute[offset(o)]}; });
}

void expect_deconvolution(const Tensor& y, const Conv& c, const Tensor& x) {
  expect_deconvolution(y, c, x, deconvolution_window(c.h, c.pad), deconvolution_window(c.w, c.pad));
}

TEST(Deconvolution, MatchesTheDefinition) {
  Rng rng(3);
  for (int n = 0; n < 60; ++n) {
    const Conv c = random_deconvolution(rng);
    const Tensor x = random_tensor(rng, c.in_dims());
    expect_deconvolution(model_of(wire::Kind_Deconvolution, c).output({&x}), c, x);
    if (HasFatalFailure()) FAIL() << "case " << n;
  }
}

/// A deconvolution whose second operand is a constant of the model: the shape of its output.
ModelBytes shaped_deconvolution(const Conv& c, const std::vector<int>& shape) {
  const std::vector<int> dims{static_cast<int>(shape.size())};
  NetSpec net{.tensors = {"x", "shape", "y"}};
  net.ops.push_back(input_op("x", 0, {1}));
  net.ops.push_back({wire::Kind_Const, "shape", {}, {1}, wire::OpParameter_Blob, [=](Builder& b) {
                       return wire::CreateBlobDirect(b, &dims, wire::Layout_NCHW, wire::DType_DT_INT32, nullptr,
                                                     nullptr, &shape)
                           .Union();
                     }});
  net.ops.push_back({wire::Kind_Deconvolution, "y", {0, 1}, {2}, wire::OpParameter_Convolution2D, [&c](Builder& b) {
                       return write(b, c);
                     }});
  return build(net);
}

TEST(Deconvolution, OutputShapeOfTheModel) {
  Rng rng(4);
  for (int n = 0; n < 40; ++n) {
    Conv c = random_deconvolution(rng);
    c.output_shape = true;
    Window h = deconvolution_window(c.h, c.pad);
    Window w = deconvolution_window(c.w, c.pad);
    h.out += pick(rng, 0, 2);
    w.out += pick(rng, 0, 2);
    if (c.pad == Pad::same) {
      h.begin = ((c.h.in - 1) * c.h.stride + c.h.kernel - h.out) / 2;
      w.begin = ((c.w.in - 1) * c.w.stride + c.w.kernel - w.out) / 2;
    }
    const Tensor x = random_tensor(rng, c.in_dims());
    // Rows and columns stand where NHWC has them.
    const std::vector<int> shape{c.batch, static_cast<int>(h.out), static_cast<int>(w.out), c.out_channels()};
    const ModelBytes bytes = shaped_deconvolution(c, shape);
    auto model = Model::parse(bytes.bytes(), "shaped.mnn");
    ASSERT_TRUE(model) << model.error().message;
    auto op = make_op(*model, model->graph().ops.back());
    ASSERT_TRUE(op) << op.error().message;
    EXPECT_TRUE((*op)->is_parameter(1));
    const Tensor given = Tensor::of({shape.begin(), shape.end()});
    const std::vector<const Tensor*> inputs{&x, &given};
    auto y = run_reference(**op, OneOp::operands(inputs), inputs, std::nullopt);
    ASSERT_TRUE(y) << y.error().message;
    expect_deconvolution(y->front(), c, x, h, w);
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(Deconvolution, AbsurdOutputShapesAreRefused) {
  constexpr int kLow = std::numeric_limits<int>::min();
  Conv c{.output_shape = true, .weight = {1}, .bias_values = {0}};
  for (const std::vector<int>& shape :
       std::vector<std::vector<int>>{{1, 2}, {1, 0, 2, 1}, {1, 2, -1, 1}, {1, kLow, 2, 1}}) {
    const ModelBytes bytes = shaped_deconvolution(c, shape);
    auto model = Model::parse(bytes.bytes(), "shaped.mnn");
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_FALSE(make_op(*model, model->graph().ops.back())) << ::testing::PrintToString(shape);
  }
  const Tensor x = floats({1, 1, 1, 1}, {1});
  model_of(wire::Kind_Deconvolution, c).expect_error({&x}, "no shape");
}

TEST(ConvolutionStages, ExactElementsAndMagnitudeFitTheValue) {
  Rng rng(4);
  for (int n = 0; n < 20; ++n) {
    const Conv conv = random_conv(rng, false);
    const Tensor x = random_tensor(rng, conv.in_dims());
    expect_convolution(model_of(wire::Kind_Convolution, conv).chained({&x}, {}).at(0), conv, x);
    const Conv depthwise = random_conv(rng, true);
    const Tensor z = random_tensor(rng, depthwise.in_dims());
    expect_convolution(model_of(wire::Kind_ConvolutionDepthwise, depthwise).chained({&z}, {}).at(0), depthwise, z);
    const Conv transposed = random_deconvolution(rng);
    const Tensor t = random_tensor(rng, transposed.in_dims());
    expect_deconvolution(model_of(wire::Kind_Deconvolution, transposed).chained({&t}, {}).at(0), transposed, t);
  }
}

TEST(ConvolutionStages, SeparateActivation) {
  Rng rng(5);
  for (int n = 0; n < 20; ++n) {
    Conv c = random_conv(rng, false);
    c.fused = coin(rng) ? Fused::relu : Fused::relu6;
    const Tensor x = random_tensor(rng, c.in_dims());
    const OneOp model = model_of(wire::Kind_Convolution, c);
    expect_same(model.chained({&x}, {"ReluTensor"}).at(0), model.output({&x}));
    Conv t = random_deconvolution(rng);
    t.fused = c.fused;
    const Tensor z = random_tensor(rng, t.in_dims());
    const OneOp transposed = model_of(wire::Kind_Deconvolution, t);
    expect_same(transposed.chained({&z}, {"ReluTensor"}).at(0), transposed.output({&z}));
  }
}

TEST(ConvolutionStages, BatchOfPixelsFoldedIntoThePlane) {
  Rng rng(6);
  for (Fused fused : {Fused::none, Fused::relu}) {
    Conv c{.batch = 6, .in_per_group = 5, .out_per_group = 4, .fused = fused};
    c.weight = random_floats(rng, 20);
    c.bias_values = random_floats(rng, 4);
    const Tensor x = random_tensor(rng, c.in_dims());
    const OneOp model = model_of(wire::Kind_Convolution, c);
    if (fused == Fused::none) {
      expect_convolution(model.chained({&x}, {"InputReshapeTensor", "OutputReshapeTensor"}).at(0), c, x);
    }
    expect_convolution(model.chained({&x}, {}).at(0), c, x);
  }
}

TEST(ConvolutionStages, AnActivationNodeKeepsTheBatch) {
  // A dump with names of both forms: the stage that is a node of its own wins, and the output keeps its dims.
  Rng rng(8);
  Conv c{.batch = 6, .in_per_group = 5, .out_per_group = 4, .fused = Fused::relu};
  c.weight = random_floats(rng, 20);
  c.bias_values = random_floats(rng, 4);
  const Tensor x = random_tensor(rng, c.in_dims());
  const OneOp model = model_of(wire::Kind_Convolution, c);
  const auto operands = OneOp::operands({&x});
  const Operand out{.present = true, .spec = {DType::f32, {6, 4, 1, 1}}};
  const auto dumped = [](std::string_view stage) { return stage == "ReluTensor" || stage.ends_with("ReshapeTensor"); };
  auto stages = model.op().lower({.inputs = operands, .outputs = {&out, 1}, .dumped = dumped});
  ASSERT_TRUE(stages) << stages.error().message;
  ASSERT_EQ(stages->size(), 2U);
  const Tensor* from = &x;
  auto sum = (*stages)[0].compute({.inputs = {&from, 1}});
  ASSERT_TRUE(sum) << sum.error().message;
  from = &sum->value;
  auto y = (*stages)[1].compute({.inputs = {&from, 1}});
  ASSERT_TRUE(y) << y.error().message;
  expect_convolution(y->value, c, x);
}

TEST(ConvolutionErrors, AbsurdParametersAreRefused) {
  Rng rng(7);
  const Conv good{.in_per_group = 2,
                  .out_per_group = 2,
                  .h = {.in = 4},
                  .w = {.in = 4},
                  .weight = random_floats(rng, 4),
                  .bias_values = random_floats(rng, 2)};
  const Tensor x = random_tensor(rng, good.in_dims());
  for (int kind : {wire::Kind_Convolution, wire::Kind_ConvolutionDepthwise, wire::Kind_Deconvolution}) {
    const auto refused = [&](const char* what, auto change) {
      Conv c = good;
      change(c);
      model_of(kind, c).expect_error({&x}, what);
    };
    for (int v : {0, -1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
      refused("stride", [v](Conv& c) { c.h.stride = v; });
      refused("kernel", [v](Conv& c) { c.w.kernel = v; });
      refused("dilation", [v](Conv& c) { c.w.dilation = v; });
      refused("output channels", [v](Conv& c) { c.out_per_group = v; });
    }
    refused("padding", [](Conv& c) { c.h.before = std::numeric_limits<int>::min(); });
    refused("missing weights", [](Conv& c) { c.weight.pop_back(); });
    refused("no weights", [](Conv& c) { c.weight.clear(); });
    const OneOp model = model_of(kind, good);
    const Tensor channels = random_tensor(rng, {1, 3, 4, 4});
    model.expect_error({&channels}, "channels");
    const Tensor rank = random_tensor(rng, {2, 4, 4});
    model.expect_error({&rank}, "rank");
    model.expect_error({nullptr}, "no input");
    model.expect_error({}, "no operands");
    OneOp(kind, 1).expect_error({&x}, "no parameters");
  }
}

}  // namespace
}  // namespace qnndbg::test
