#include "faults/random_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qnndbg::faults {
namespace {

// Small enough that thousands of networks run in minutes.
constexpr std::int64_t kMaxElements = 8000;
constexpr std::int64_t kMaxProducts = 1'000'000;

std::size_t u(int i) { return static_cast<std::size_t>(i); }

struct Known {
  int tensor = -1;
  Dims dims;
  bool channel_last = false;
};

class Builder {
 public:
  explicit Builder(Rng& rng) : rng_(rng) {}

  Network run() {
    start();
    const int wanted = pick(rng_, 4, 14);
    for (int tries = 0; made_ < wanted && tries < 200; ++tries) {
      if (chance(rng_, 0.15)) current_ = known_[u(pick(rng_, 0, static_cast<int>(known_.size()) - 1))];
      if (current_.channel_last && current_.dims.size() != 4) to_layout(false);
      if (current_.channel_last) {
        image_step();
      } else {
        sequence_step();
      }
    }
    return std::move(network_);
  }

 private:
  // --- making operators -------------------------------------------------------------------------------------------

  int new_tensor() { return network_.tensors++; }

  /// Adds an operator with one output.
  Known add(std::string_view prefix, Parameters parameters, std::vector<int> inputs, Dims dims, bool channel_last) {
    const Known made{new_tensor(), std::move(dims), channel_last && dims.size() >= 3};
    network_.ops.push_back(
        {fmt::format("{}{}", prefix, network_.ops.size()), std::move(parameters), std::move(inputs), {made.tensor}});
    return made;
  }

  /// The same as a step of the network.
  void step(std::string_view prefix, Parameters parameters, std::vector<int> inputs, Dims dims, bool channel_last) {
    const std::size_t rank = dims.size();
    current_ = add(prefix, std::move(parameters), std::move(inputs), std::move(dims), channel_last && rank >= 3);
    current_.channel_last = channel_last && rank >= 3;
    known_.push_back(current_);
    ++made_;
  }

  /// A step that keeps shape and layout.
  void same(std::string_view prefix, Parameters parameters, std::vector<int> inputs) {
    step(prefix, std::move(parameters), std::move(inputs), current_.dims, current_.channel_last);
  }

  int constant(Dims dims, std::vector<float> values) {
    return add("const", Constant{.dims = dims, .floats = std::move(values)}, {}, dims, false).tensor;
  }
  int integers(std::vector<std::int32_t> values) {
    const Dims dims{static_cast<std::int64_t>(values.size())};
    return add("const", Constant{.dims = dims, .ints = std::move(values)}, {}, dims, false).tensor;
  }

  void to_layout(bool channel_last) {
    if (current_.channel_last == channel_last || current_.dims.size() < 3) return;
    current_ = add("layout", Convert{channel_last}, {current_.tensor}, current_.dims, channel_last);
    current_.channel_last = channel_last;
    known_.push_back(current_);
  }

  void start() {
    const int inputs = chance(rng_, 0.2) ? 2 : 1;
    const int size = pick(rng_, 4, 24);
    const Dims dims{chance(rng_, 0.1) ? 2 : 1, pick(rng_, 3, 12), size, chance(rng_, 0.5) ? size : pick(rng_, 4, 24)};
    for (int k = 0; k < inputs; ++k) {
      current_ = add("image", Input{dims}, {}, dims, false);
      if (k + 1 < inputs) {
        to_layout(true);
        known_.back() = current_;
      }
    }
    if (chance(rng_, 0.85)) {
      to_layout(true);
    } else {
      known_.push_back(current_);
    }
  }

  /// Another tensor with these dims and the current layout; nullptr when there is none.
  const Known* peer() {
    std::vector<const Known*> fitting;
    for (const Known& k : known_) {
      if (k.tensor != current_.tensor && k.dims == current_.dims && k.channel_last == current_.channel_last)
        fitting.push_back(&k);
    }
    return fitting.empty() ? nullptr : fitting[u(pick(rng_, 0, static_cast<int>(fitting.size()) - 1))];
  }

  std::int64_t elements() const { return element_count(current_.dims); }

  // --- images -----------------------------------------------------------------------------------------------------

  void image_step() {
    const int kind = pick(rng_, 0, 99);
    if (kind < 24) return convolution();
    if (kind < 30) return depthwise();
    if (kind < 34) return deconvolution();
    if (kind < 52) return activation();
    if (kind < 61) return binary();
    if (kind < 69) return pool();
    if (kind < 76) return interp();
    if (kind < 81) return concat();
    if (kind < 84) return split();
    if (kind < 87) return strided_slice();
    if (kind < 90) return scale();
    if (kind < 92) return flatten_head();
    to_layout(false);
  }

  std::vector<float> bias(int count) {
    return chance(rng_, 0.9) ? normal_values(rng_, count, 0.5F) : std::vector<float>(u(count), 0.0F);
  }

  Fused fused() {
    const int kind = pick(rng_, 0, 9);
    return kind < 5 ? Fused::none : kind < 8 ? Fused::relu : Fused::relu6;
  }

  /// One axis of a window: kernel, stride, dilation and pads that fit an input of `in`; returns the output extent.
  int window(int in, int kernel, int stride, int& dilation, int& before, int& after) {
    const auto effective = [&] { return dilation * (kernel - 1) + 1; };
    if (effective() > in) dilation = 1;
    before = after = (effective() - 1) / 2;
    if (chance(rng_, 0.25)) {
      before = pick(rng_, 0, effective() - 1);
      after = pick(rng_, 0, effective() - 1);
    }
    const int span = in + before + after - effective();
    return span < 0 ? 0 : span / stride + 1;
  }

  void convolution() {
    const Dims& d = current_.dims;
    Convolution c{.in = static_cast<int>(d[1]), .out = pick(rng_, 3, 32)};
    const int kernel = pick(rng_, 0, 9);
    c.kernel_h = kernel < 4 ? 1 : kernel < 8 ? 3 : pick(rng_, 1, 5);
    c.kernel_w = kernel < 8 ? c.kernel_h : pick(rng_, 1, 5);
    c.stride_h = c.stride_w = chance(rng_, 0.25) ? 2 : 1;
    if (chance(rng_, 0.05)) c.stride_w = 3 - c.stride_w;
    if (c.kernel_h > 1 && chance(rng_, 0.15)) c.dilation_h = c.dilation_w = 2;
    if (chance(rng_, 0.15)) {
      for (int g : {4, 3, 2}) {
        if (c.in % g == 0 && c.group == 1) c.group = g;
      }
      c.out = (c.out + c.group - 1) / c.group * c.group;
    }
    finish_convolution("conv", c);
  }

  void depthwise() {
    const int channels = static_cast<int>(current_.dims[1]);
    const int kernel = chance(rng_, 0.7) ? 3 : 5;
    Convolution c{.kind = ConvKind::depthwise,
                  .in = channels,
                  .out = channels,
                  .group = channels,
                  .kernel_h = kernel,
                  .kernel_w = kernel};
    c.stride_h = c.stride_w = chance(rng_, 0.3) ? 2 : 1;
    finish_convolution("dw", c);
  }

  void finish_convolution(std::string_view prefix, Convolution c) {
    const Dims& d = current_.dims;
    const int h = window(static_cast<int>(d[2]), c.kernel_h, c.stride_h, c.dilation_h, c.pads[0], c.pads[2]);
    const int w = window(static_cast<int>(d[3]), c.kernel_w, c.stride_w, c.dilation_w, c.pads[1], c.pads[3]);
    const std::int64_t taps = static_cast<std::int64_t>(c.in / c.group) * c.kernel_h * c.kernel_w;
    const Dims out{d[0], c.out, h, w};
    if (h < 1 || w < 1 || h > 26 || w > 26 || element_count(out) > kMaxElements ||
        element_count(out) * taps > kMaxProducts)
      return;
    c.fused = fused();
    c.weight = normal_values(rng_, taps * c.out, 1.4F / std::sqrt(static_cast<float>(taps)));
    c.bias = bias(c.out);
    step(prefix, std::move(c), {current_.tensor}, out, true);
  }

  void deconvolution() {
    const Dims& d = current_.dims;
    Convolution c{.kind = ConvKind::deconvolution, .in = static_cast<int>(d[1]), .out = pick(rng_, 3, 16)};
    c.stride_h = c.stride_w = 2;
    c.kernel_h = c.kernel_w = pick(rng_, 2, 4);
    c.pads = {(c.kernel_h - 1) / 2, (c.kernel_w - 1) / 2, (c.kernel_h - 2) / 2, (c.kernel_w - 2) / 2};
    const auto extent = [&](std::int64_t in, int kernel, int before, int after) {
      return (in - 1) * 2 + kernel - before - after;
    };
    const Dims out{d[0], c.out, extent(d[2], c.kernel_h, c.pads[0], c.pads[2]),
                   extent(d[3], c.kernel_w, c.pads[1], c.pads[3])};
    if (out[2] < 1 || out[3] < 1 || out[2] > 26 || out[3] > 26 || element_count(out) > kMaxElements ||
        elements() * c.out * c.kernel_h * c.kernel_w > kMaxProducts)
      return;
    c.fused = fused();
    const int taps = c.in * c.kernel_h * c.kernel_w;
    c.weight = normal_values(rng_, static_cast<std::int64_t>(taps) * c.out, 2.0F / std::sqrt(static_cast<float>(taps)));
    c.bias = bias(c.out);
    step("deconv", std::move(c), {current_.tensor}, out, true);
  }

  void pool() {
    const Dims& d = current_.dims;
    Pool p{.average = chance(rng_, 0.6)};
    if (chance(rng_, 0.2)) {
      p.global = true;
      return step("pool", p, {current_.tensor}, {d[0], d[1], 1, 1}, true);
    }
    const int kernel = pick(rng_, 2, 3);
    if (d[2] < kernel || d[3] < kernel) return;
    p.kernel_h = p.kernel_w = kernel;
    p.stride_h = p.stride_w = chance(rng_, 0.3) ? 1 : 2;
    // MNN drops windows that would begin in the padding after the data; keep away from them.
    if (chance(rng_, 0.6)) {
      p.pads = {pick(rng_, 0, 1), pick(rng_, 0, 1), pick(rng_, 0, 1), pick(rng_, 0, 1)};
      p.count_padding = p.average && chance(rng_, 0.5);
    } else {
      p.ceil = chance(rng_, 0.5);
    }
    const auto extent = [&](std::int64_t in, int before, int after) {
      const std::int64_t span = in + before + after - kernel;
      return (p.ceil ? (span + p.stride_h - 1) / p.stride_h : span / p.stride_h) + 1;
    };
    step("pool", p, {current_.tensor},
         {d[0], d[1], extent(d[2], p.pads[0], p.pads[2]), extent(d[3], p.pads[1], p.pads[3])}, true);
  }

  void interp() {
    const Dims& d = current_.dims;
    if (elements() * 4 > kMaxElements || d[2] > 12 || d[3] > 12 || d[2] < 2 || d[3] < 2) return;
    Interp p{.method = std::array{1, 4, 2, 2}[u(pick(rng_, 0, 3))]};
    p.mode = std::array{wire::Ctm_AlignCorners, wire::Ctm_HalfPixels, wire::Ctm_PytorchHalfPixels,
                        wire::Ctm_Asymmetric}[u(pick(rng_, 0, 3))];
    Dims out = d;
    if (chance(rng_, 0.35)) {
      const float scale = std::array{2.0F, 1.5F, 1.7F, 2.3F, 0.6F}[u(pick(rng_, 0, 4))];
      for (std::size_t k : {2U, 3U}) out[k] = static_cast<std::int64_t>(scale * static_cast<float>(d[k]));
      if (out[2] < 1 || out[3] < 1) return;
      const int scales = constant({4}, {1, 1, scale, scale});
      return step("resize", p, {current_.tensor, scales}, out, true);
    }
    p.out_h = chance(rng_, 0.6) ? static_cast<int>(d[2]) * 2 : pick(rng_, 2, 24);
    p.out_w = p.out_h == d[2] * 2 ? static_cast<int>(d[3]) * 2 : pick(rng_, 2, 24);
    out[2] = p.out_h;
    out[3] = p.out_w;
    step("resize", p, {current_.tensor}, out, true);
  }

  void scale() {
    const auto channels = current_.dims[1];
    Scale s{normal_values(rng_, channels, 0.3F), normal_values(rng_, channels, 0.3F)};
    for (float& v : s.scale) v += 1;
    same("bn", std::move(s), {current_.tensor});
  }

  void split() {
    const int channels = static_cast<int>(current_.dims[1]);
    if (channels < 6) return;
    const int first = chance(rng_, 0.6) && channels % 2 == 0 ? channels / 2 : pick(rng_, 2, channels - 2);
    Dims a = current_.dims;
    Dims b = current_.dims;
    a[1] = first;
    b[1] = channels - first;
    const Known part{new_tensor(), a, current_.channel_last};
    const Known rest{new_tensor(), b, current_.channel_last};
    network_.ops.push_back({fmt::format("split{}", network_.ops.size()),
                            Split{1, {first, channels - first}},
                            {current_.tensor},
                            {part.tensor, rest.tensor}});
    known_.push_back(part);
    known_.push_back(rest);
    current_ = chance(rng_, 0.5) ? part : rest;
    ++made_;
  }

  /// Flatten or Reshape of channel-last data: the backend brings it to logical order first.
  void flatten_head() {
    const Dims d = current_.dims;
    if (elements() > 4000) return;
    const int all = static_cast<int>(d[1] * d[2] * d[3]);
    if (d[2] == 1 && d[3] == 1 && chance(rng_, 0.5))
      return step("squeeze", Squeeze{{2, 3}}, {current_.tensor}, {d[0], d[1]}, false);
    if (chance(rng_, 0.5)) return step("flat", Flatten{1}, {current_.tensor}, {d[0], all}, false);
    step("reshape", Reshape{{static_cast<int>(d[0]), static_cast<int>(d[1]), static_cast<int>(d[2] * d[3])}},
         {current_.tensor}, {d[0], d[1], d[2] * d[3]}, true);
    to_layout(false);
  }

  // --- either -----------------------------------------------------------------------------------------------------

  void activation() {
    const int kind = pick(rng_, 0, 11);
    const std::vector<int> from{current_.tensor};
    switch (kind) {
      case 0: return same("relu", Relu{}, from);
      case 1: return same("leaky", Relu{std::array{0.1F, 0.2F, 0.01F}[u(pick(rng_, 0, 2))]}, from);
      case 2: return same("relu6_", Relu6{}, from);
      case 3: return same("clip", Relu6{chance(rng_, 0.5) ? -1.0F : 0.0F, chance(rng_, 0.5) ? 1.0F : 2.0F}, from);
      case 4: {
        if (!current_.channel_last) return;
        std::vector<float> slope = normal_values(rng_, current_.dims[1], 0.1F);
        for (float& v : slope) v += 0.25F;
        return same("prelu", Prelu{std::move(slope)}, from);
      }
      case 5: return same("elu", Elu{chance(rng_, 0.5) ? 1.0F : 0.5F}, from);
      default: {
        constexpr std::array kFunctions{wire::Un_SIGMOID, wire::Un_HARDSWISH, wire::Un_GELU, wire::Un_SILU,
                                        wire::Un_TANH,    wire::Un_ABS,       wire::Un_NEG};
        return same("act", Unary{kFunctions[u(pick(rng_, 0, static_cast<int>(kFunctions.size()) - 1))]}, from);
      }
    }
  }

  void binary() {
    constexpr std::array kOperations{wire::Bin_ADD, wire::Bin_ADD, wire::Bin_MUL,     wire::Bin_SUB,
                                     wire::Bin_MUL, wire::Bin_ADD, wire::Bin_MAXIMUM, wire::Bin_MINIMUM};
    Binary p{kOperations[u(pick(rng_, 0, static_cast<int>(kOperations.size()) - 1))], chance(rng_, 0.2)};
    const Known* other = peer();
    if (other != nullptr && chance(rng_, 0.7)) return same("bin", p, {current_.tensor, other->tensor});
    if (current_.channel_last && current_.dims.size() == 4 && chance(rng_, 0.5)) return gate(p);
    const float value = std::array{2.0F, 0.5F, 3.0F, 1.0F / 6, 0.1F, -1.5F}[u(pick(rng_, 0, 5))];
    if (!current_.channel_last && current_.dims.size() >= 2 && chance(rng_, 0.6)) {
      // A vector along the last axis, as a MatMul's bias.
      const std::int64_t extent = current_.dims.back();
      return same("bias", p, {current_.tensor, constant({extent}, normal_values(rng_, extent, 1))});
    }
    if (chance(rng_, 0.2)) p.operation = wire::Bin_REALDIV;
    same("bin", p, {current_.tensor, constant({}, {value})});
  }

  /// x times (or plus) its own mean per channel through a sigmoid, as squeeze-and-excitation does.
  void gate(Binary p) {
    const Known x = current_;
    step("pool", Pool{.average = true, .global = true}, {x.tensor}, {x.dims[0], x.dims[1], 1, 1}, true);
    if (chance(rng_, 0.5)) same("act", Unary{wire::Un_SIGMOID}, {current_.tensor});
    const Known g = current_;
    current_ = x;
    same("gate", p, {x.tensor, g.tensor});
  }

  void concat() {
    const Known* other = peer();
    if (other == nullptr || elements() * 2 > kMaxElements || current_.dims.size() < 2) return;
    Dims out = current_.dims;
    if (out[1] * 2 > 48 && current_.dims.size() == 4) return;
    out[1] *= 2;
    same("concat", Concat{1}, {current_.tensor, other->tensor});
    current_.dims = out;
    known_.back() = current_;
  }

  void strided_slice() {
    const std::size_t rank = current_.dims.size();
    if (rank < 2) return;
    const int axis = pick(rng_, 1, static_cast<int>(rank) - 1);
    const auto extent = static_cast<int>(current_.dims[u(axis)]);
    if (extent < 4) return;
    const int begin = pick(rng_, 0, extent / 2);
    const int end = pick(rng_, begin + 2, extent);
    const int stride = chance(rng_, 0.3) ? 2 : 1;
    Dims out = current_.dims;
    out[u(axis)] = (end - begin - 1) / stride + 1;
    const std::vector<int> inputs{current_.tensor, integers({begin}), integers({end}), integers({axis}),
                                  integers({stride})};
    step("slice", StridedSlice{}, inputs, out, current_.channel_last);
  }

  // --- sequences and logical order ----------------------------------------------------------------------------------

  void sequence_step() {
    const std::size_t rank = current_.dims.size();
    const int kind = pick(rng_, 0, 99);
    if (kind < 12) return layer_norm();
    if (kind < 24) return softmax();
    if (kind < 36) return reduction();
    if (kind < 44) return mat_mul();
    if (kind < 50) return linear();
    if (kind < 62) return binary();
    if (kind < 72) return activation();
    if (kind < 82) return permute();
    if (kind < 85) return strided_slice();
    if (kind < 88) return concat();
    if (kind < 91) return cast();
    if (kind < 95) return reshape();
    if (rank == 4 && current_.dims[1] >= 3) to_layout(true);
  }

  void layer_norm() {
    const std::int64_t extent = current_.dims.back();
    if (extent < 3) return;
    LayerNorm l{.axes = {-1}, .epsilon = std::array{1e-5F, 1e-3F, 1e-6F}[u(pick(rng_, 0, 2))]};
    l.gamma = normal_values(rng_, extent, 0.3F);
    for (float& v : l.gamma) v += 1;
    l.beta = normal_values(rng_, extent, 0.3F);
    same("norm", std::move(l), {current_.tensor});
  }

  void softmax() {
    const int rank = static_cast<int>(current_.dims.size());
    const int axis = chance(rng_, 0.6) ? rank - 1 : pick(rng_, 1, rank - 1);
    if (current_.dims[u(axis)] < 2) return;
    same("softmax", Softmax{axis}, {current_.tensor});
  }

  void reduction() {
    const int rank = static_cast<int>(current_.dims.size());
    if (rank < 3) return;
    Reduction r{.operation = std::array{wire::Red_MEAN, wire::Red_MEAN, wire::Red_SUM, wire::Red_MAXIMUM,
                                        wire::Red_MINIMUM}[u(pick(rng_, 0, 4))],
                .keep_dims = chance(rng_, 0.5)};
    r.axes = {pick(rng_, 1, rank - 1)};
    if (rank == 4 && chance(rng_, 0.3)) r.axes = {2, 3};
    Dims out;
    for (int k = 0; k < rank; ++k) {
      const bool reduced = std::find(r.axes.begin(), r.axes.end(), k) != r.axes.end();
      if (!reduced) out.push_back(current_.dims[u(k)]);
      if (reduced && r.keep_dims) out.push_back(1);
    }
    step("reduce", std::move(r), {current_.tensor}, std::move(out), false);
  }

  /// x times another tensor or its own transpose, scaled down by a constant afterwards if the inner extent is long.
  void mat_mul() {
    const std::size_t rank = current_.dims.size();
    if (rank < 3 || elements() > 2500) return;
    const std::int64_t m = current_.dims[rank - 2];
    const std::int64_t k = current_.dims[rank - 1];
    if (m > 40 || k > 150) return;
    const Known x = current_;
    const Known* other = peer();
    const int right = other != nullptr ? other->tensor : x.tensor;
    const bool transpose_a = chance(rng_, 0.3);
    Dims out = x.dims;
    out[rank - 2] = transpose_a ? k : m;
    out[rank - 1] = transpose_a ? k : m;
    if (element_count(out) > kMaxElements) return;
    step("matmul", MatMul{transpose_a, !transpose_a}, {x.tensor, right}, out, false);
    const float inner = static_cast<float>(transpose_a ? m : k);
    if (inner > 8) same("scaled", Binary{wire::Bin_MUL}, {current_.tensor, constant({}, {1 / std::sqrt(inner)})});
  }

  /// A matrix product with constant weights, which the converter turns into a 1x1 convolution over a batch of pixels.
  void linear() {
    const Dims d = current_.dims;
    if (d.size() != 3 || d[0] != 1 || d[1] < 2 || d[1] > 40) return;
    const int rows = static_cast<int>(d[1]);
    const int in = static_cast<int>(d[2]);
    const int out = pick(rng_, 3, 24);
    current_ = add("reshape", Reshape{{rows, in, 1, 1}}, {current_.tensor}, {rows, in, 1, 1}, false);
    to_layout(true);
    Convolution c{.in = in, .out = out};
    c.weight = normal_values(rng_, static_cast<std::int64_t>(in) * out, 1 / std::sqrt(static_cast<float>(in)));
    c.bias = bias(out);
    step("linear", std::move(c), {current_.tensor}, {rows, out, 1, 1}, true);
    to_layout(false);
    step("reshape", Reshape{{1, rows, out}}, {current_.tensor}, {1, rows, out}, false);
  }

  void permute() {
    const int rank = static_cast<int>(current_.dims.size());
    if (rank < 3) return;
    std::vector<int> order;
    for (int k = 0; k < rank; ++k) order.push_back(k);
    std::shuffle(order.begin() + 1, order.end(), rng_);
    Dims out;
    for (int axis : order) out.push_back(current_.dims[u(axis)]);
    step("perm", Permute{order}, {current_.tensor}, std::move(out), false);
  }

  void reshape() {
    const Dims d = current_.dims;
    if (d.size() == 4) {
      return step("reshape", Reshape{{static_cast<int>(d[0]), static_cast<int>(d[1]), static_cast<int>(d[2] * d[3])}},
                  {current_.tensor}, {d[0], d[1], d[2] * d[3]}, false);
    }
    if (d.size() == 3 && d[1] >= 2 && d[1] * d[2] <= 4000)
      return step("flat", Flatten{1}, {current_.tensor}, {d[0], d[1] * d[2]}, false);
  }

  /// To whole numbers and back, as index arithmetic does.
  void cast() {
    const Known x = current_;
    const Known whole = add("cast", Cast{wire::DType_DT_INT32}, {x.tensor}, x.dims, false);
    ++made_;
    current_ = x;
    step("cast", Cast{wire::DType_DT_FLOAT}, {whole.tensor}, x.dims, false);
  }

  Rng& rng_;
  Network network_;
  std::vector<Known> known_;
  Known current_;
  int made_ = 0;
};

}  // namespace

int pick(Rng& rng, int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); }
bool chance(Rng& rng, double probability) { return std::uniform_real_distribution<double>(0, 1)(rng) < probability; }
float uniform(Rng& rng, float low, float high) { return std::uniform_real_distribution<float>(low, high)(rng); }

std::vector<float> normal_values(Rng& rng, std::int64_t count, float deviation) {
  std::normal_distribution<float> value(0, deviation);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& v : values) v = value(rng);
  return values;
}

Network random_network(Rng& rng) { return Builder(rng).run(); }

}  // namespace qnndbg::faults
