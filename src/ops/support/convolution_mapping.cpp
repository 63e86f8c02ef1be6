// The QNN nodes of the convolution family.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/mnn_wire.h"
#include "ops/support/convolution_family.h"
#include "ops/support/qnn_movement.h"

namespace qnndbg {
namespace {

/// Padding before and after the data along one axis: what the output extent needs in all.
struct PadPair {
  std::int64_t before = 0;
  std::int64_t after = 0;
};

/// What the nodes are written from.
struct ConvNode {
  const ConvKind& kind;
  const Model& model;
  int op = 0;
  const ConvParameters& parameters;
  const QnnContext& context;
  bool depthwise = false;
  PadPair rows = {}, columns = {};

  const Dims& in() const { return context.inputs[0].spec.dims; }
  const Dims& out() const { return context.outputs[0].spec.dims; }
};

/// [a, b, kh, kw] to [kh, kw, b, a], or [kh, kw, a, b] where `swap` is false.
template <class T>
std::vector<T> taps_first(std::span<const T> values, std::int64_t a, std::int64_t b, std::int64_t taps, bool swap) {
  std::vector<T> out(values.size());
  for (std::int64_t i = 0; i < a; ++i) {
    for (std::int64_t j = 0; j < b; ++j) {
      for (std::int64_t t = 0; t < taps; ++t) {
        const std::int64_t to = swap ? (t * b + j) * a + i : (t * a + i) * b + j;
        out[static_cast<std::size_t>(to)] = values[static_cast<std::size_t>((i * b + j) * taps + t)];
      }
    }
  }
  return out;
}

/// Integers that the model stores for its weights, and the scales that give them their values.
struct IntegerWeights {
  FloatArray scales;        // one per output channel, or one per block, block after block of each channel
  std::int64_t blocks = 1;  // per channel
  bool present() const { return !scales.empty(); }
};

/// Stored integers with scales alone (symmetric). Empty for all other weights.
IntegerWeights integer_weights(const Model& model, int op, std::int64_t channels) {
  auto one_block = model.integer_weight_scales(op);
  if (one_block && !one_block->empty()) return {.scales = std::move(*one_block)};
  auto stored = model.stored_weight_scales(op);
  if (!stored || stored->pairs || stored->values.empty() || channels < 1) return {};
  const auto count = static_cast<std::int64_t>(stored->values.size());
  if (count <= channels || count % channels != 0) return {};
  return {.scales = std::move(stored->values), .blocks = count / channels};
}

/// The stored integers again: value / scale, exact but for the rounding of the product. `weight` is [channels, rest].
std::vector<std::int8_t> stored_integers(std::span<const float> weight, std::span<const float> scales) {
  std::vector<std::int8_t> out(weight.size());
  if (scales.empty() || weight.size() % scales.size() != 0) return out;
  const std::size_t run = weight.size() / scales.size();
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const double scale = scales[i / run];
    const double q = scale == 0 ? 0 : std::nearbyint(weight[i] / scale);
    out[i] = static_cast<std::int8_t>(std::isnan(q) ? 0 : std::clamp(q, -128.0, 127.0));
  }
  return out;
}

std::vector<std::byte> as_bytes(std::span<const std::int8_t> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

std::vector<Encoding> encodings_of(std::span<const float> scales) {
  std::vector<Encoding> list;
  for (float scale : scales) list.push_back({scale, 0});
  return list;
}

class ConvMapper {
 public:
  explicit ConvMapper(const ConvNode& node) : n_(node), p_(node.parameters), builder_(node.context) {}

  QnnMappingResult build() {
    auto expected = check_dims(weight_dims());
    if (!expected) return not_mapped(expected.error());
    auto weight = n_.model.convolution_weight(n_.op);
    if (!weight) return not_mapped(weight.error());
    auto bias = n_.model.convolution_bias(n_.op);
    if (!bias) return not_mapped(bias.error());
    if (static_cast<std::int64_t>(weight->size()) != *expected ||
        (!bias->empty() && static_cast<std::int64_t>(bias->size()) != n_.out()[1]))
      return refuse(QnnRefusal::Kind::not_mapped, "{} weights and {} biases do not fit {} input and {} output channels",
                    weight->size(), bias->size(), n_.in()[1], n_.out()[1]);
    zero_bias_ = std::all_of(bias->values().begin(), bias->values().end(), [](float b) { return b == 0; });
    integers_ = integer_weights(n_.model, n_.op, n_.out()[1]);
    if (!n_.context.quantized()) return takes_mat_mul() ? as_mat_mul(weight->values()) : in_floats();
    return integers_usable() ? in_integers(weight->values(), bias->values()) : with_float_detour();
  }

 private:
  bool as_mnn() const { return n_.context.as_mnn(); }
  std::int64_t batch() const { return n_.in()[0]; }

  /// MNN looks at the kernel's width alone.
  bool is_pointwise() const {
    const ConvGeometry& g = p_.geometry;
    const bool kernel = g.kernel_w == 1 && (as_mnn() || g.kernel_h == 1);
    const bool pads = n_.rows.before == 0 && n_.rows.after == 0 && n_.columns.before == 0 && n_.columns.after == 0;
    return !n_.depthwise && kernel && pads && g.stride_h == 1 && g.stride_w == 1 && g.dilation_h == 1 &&
           g.dilation_w == 1 && g.group == 1;
  }

  /// Float data and integer weights in one block per channel: QNN's MatMul takes them as they are.
  bool takes_mat_mul() const { return is_pointwise() && integers_.present() && integers_.blocks == 1; }

  bool integers_usable() const {
    if (!integers_.present()) return false;
    if (n_.depthwise) {
      const QnnEncoding& input = n_.context.input_types[0].encoding;
      return integers_.blocks == 1 && (zero_bias_ || input.values.empty() || input.values[0].offset == 0);
    }
    if (integers_.blocks == 1) return true;
    return is_pointwise() && zero_bias_ && n_.in()[1] % integers_.blocks == 0 && n_.in()[1] / integers_.blocks >= 16;
  }

  // ---- constants

  Dims weight_dims() const {
    return {p_.geometry.kernel_h, p_.geometry.kernel_w, n_.depthwise ? 1 : n_.in()[1] / p_.geometry.group, n_.out()[1]};
  }

  QnnTensorRef float_weight() {
    const Dims dims = weight_dims();
    return builder_.floats("weight", dims, [model = &n_.model, op = n_.op, dims]() -> Result<std::vector<float>> {
      auto weight = model->convolution_weight(op);
      if (!weight) return fail(weight.error());
      return taps_first(weight->values(), dims[3], dims[2], dims[0] * dims[1], true);
    });
  }

  QnnTensorRef float_bias() {
    const std::int64_t channels = n_.out()[1];
    return builder_.floats("bias", {channels},
                           [model = &n_.model, op = n_.op, channels]() -> Result<std::vector<float>> {
                             auto bias = model->convolution_bias(op);
                             if (!bias) return fail(bias.error());
                             std::vector<float> values(bias->values().begin(), bias->values().end());
                             values.resize(static_cast<std::size_t>(channels), 0.0F);
                             return values;
                           });
  }

  /// `axis`: where the output channels stand in the tensor.
  QnnEncoding weight_encoding(std::span<const std::int8_t> integers, int axis) const {
    const std::span<const float> scales = integers_.scales.values();
    if (integers_.blocks > 1) return blockwise_encoding(scales, axis);
    QnnEncoding encoding{.kind = QnnEncoding::Kind::per_axis, .axis = axis, .values = encodings_of(scales)};
    // Weights of four bits are stored one per byte; that they are such shows in the values alone.
    if (std::all_of(integers.begin(), integers.end(), [](std::int8_t q) { return q >= -8 && q <= 7; })) {
      encoding.kind = QnnEncoding::Kind::per_axis_4bit;
      encoding.bit_width = 4;
    }
    return encoding;
  }

  /// The scales of a channel's blocks as multiples, 1 to 16, of a sixteenth of the largest.
  QnnEncoding blockwise_encoding(std::span<const float> scales, int axis) const {
    constexpr int kBlockScaleBits = 4;
    constexpr double kMultiples = 16;
    QnnEncoding encoding{.kind = QnnEncoding::Kind::blockwise,
                         .axis = axis,
                         .bit_width = kBlockScaleBits,
                         .blocks = static_cast<std::uint32_t>(integers_.blocks)};
    const auto blocks = static_cast<std::size_t>(integers_.blocks);
    for (std::size_t c = 0; c + blocks <= scales.size(); c += blocks) {
      const std::span<const float> channel = scales.subspan(c, blocks);
      const double unit = *std::max_element(channel.begin(), channel.end()) / kMultiples;
      encoding.values.push_back({unit, 0});
      for (float scale : channel) {
        const double multiple = unit > 0 ? std::round(scale / unit) : 1;
        encoding.block_scales.push_back(
            static_cast<std::uint8_t>(std::isnan(multiple) ? 1 : std::clamp(multiple, 1.0, kMultiples)));
      }
    }
    return encoding;
  }

  QnnTensorRef integer_weight(std::span<const float> weight) {
    const Dims dims = weight_dims();
    std::vector<std::int8_t> integers = stored_integers(weight, integers_.scales.values());
    QnnEncoding encoding = weight_encoding(integers, 3);
    return builder_.constant({.name = "quantWeight",
                              .dims = dims,
                              .type = {DType::sfixed8, std::move(encoding)},
                              .data = [integers = std::move(integers), dims]() -> Result<std::vector<std::byte>> {
                                return as_bytes(
                                    taps_first<std::int8_t>(integers, dims[3], dims[2], dims[0] * dims[1], true));
                              }});
  }

  /// 32-bit integers in steps of input scale times weight scale. MNN cuts fractions off, and declares the scale 0 for a
  /// depthwise bias.
  QnnTensorRef integer_bias(std::span<const float> bias) {
    const std::span<const float> scales = integers_.scales.values();
    const auto channels = static_cast<std::size_t>(n_.out()[1]);
    const auto blocks = static_cast<std::size_t>(integers_.blocks);
    const QnnEncoding& input = n_.context.input_types[0].encoding;
    const double input_scale = input.values.empty() ? 0 : input.values[0].scale;
    std::vector<std::int32_t> stored(channels, 0);
    QnnEncoding encoding{.kind = QnnEncoding::Kind::per_axis, .axis = 0};
    for (std::size_t c = 0; c < channels; ++c) {
      const double unit = input_scale * (c * blocks < scales.size() ? scales[c * blocks] : 0.0F);
      encoding.values.push_back({as_mnn() && n_.depthwise ? 0.0 : unit, 0});
      if (bias.empty() || unit == 0 || !std::isfinite(bias[c] / unit)) continue;
      const double exact = bias[c] / unit;
      stored[c] = static_cast<std::int32_t>(std::clamp<double>(as_mnn() ? std::trunc(exact) : std::nearbyint(exact),
                                                               std::numeric_limits<std::int32_t>::min(),
                                                               std::numeric_limits<std::int32_t>::max()));
    }
    return builder_.constant({.name = "bias",
                              .dims = {n_.out()[1]},
                              .type = {DType::sfixed32, std::move(encoding)},
                              .data = [stored = std::move(stored)]() -> Result<std::vector<std::byte>> {
                                const auto bytes = std::as_bytes(std::span(stored));
                                return std::vector<std::byte>(bytes.begin(), bytes.end());
                              }});
  }

  // ---- nodes

  std::vector<QnnParam> params() const {
    const ConvGeometry& g = p_.geometry;
    std::vector<QnnParam> list{
        u32_list("stride", {g.stride_h, g.stride_w}),
        u32_tensor("pad_amount", {2, 2}, {n_.rows.before, n_.rows.after, n_.columns.before, n_.columns.after}),
        u32_list("dilation", {g.dilation_h, g.dilation_w})};
    if (!n_.depthwise) list.push_back(u32_scalar("group", g.group));
    return list;
  }

  Dims channel_last_input() const { return to_device_dims(n_.in(), Layout::channel_last); }
  QnnTensorRef input() { return as_mnn() ? QnnBuilder::input() : aligned_input(builder_, n_.context, 0); }

  QnnTensorRef output_like(std::string name, const QnnType& type) {
    return builder_.stage(std::move(name), n_.context.out_dims(0), type, Layout::channel_last);
  }

  /// The convolution with its activation, or with its batch folded into the plane, from `x` to `y`.
  void write(QnnTensorRef x, QnnTensorRef y, QnnTensorRef weight, QnnTensorRef bias, const QnnType& x_type,
             const QnnType& y_type) {
    const std::string type(n_.kind.qnn_type);
    if (p_.activation != nullptr) {
      const QnnTensorRef before = output_like("ReluTensor", y_type);
      builder_.node(std::string(n_.kind.node_suffix), type, {x, weight, bias}, before, params());
      builder_.node("_relu", relu_type(), {before}, y);
      return;
    }
    // MNN folds the batch into a plane whatever the image's size; only for single pixels do the elements keep their
    // places.
    const bool single_pixels = n_.in()[2] * n_.in()[3] == 1;
    if (!is_pointwise() || batch() <= 1 || (!as_mnn() && !single_pixels)) {
      builder_.node("", type, {x, weight, bias}, y, params());
      return;
    }
    const auto [a, b] = closest_factors(batch());
    const QnnTensorRef plane =
        builder_.stage("InputReshapeTensor", {1, a, b, n_.in()[1]}, x_type, Layout::channel_last);
    const QnnTensorRef result =
        builder_.stage("OutputReshapeTensor", {1, a, b, n_.out()[1]}, y_type, Layout::channel_last);
    builder_.reshape("_input_reshape", x, plane);
    builder_.node("", type, {plane, weight, bias}, result, params());
    builder_.reshape("_output_reshape", result, y);
  }

  std::string relu_type() const { return p_.activation->name == "ReLU6" ? "Relu6" : "Relu"; }

  /// a * b = n, a <= b, as close as they can be.
  static std::pair<std::int64_t, std::int64_t> closest_factors(std::int64_t n) {
    auto a = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
    while (a > 1 && n % a != 0) --a;
    return {std::max<std::int64_t>(a, 1), n / std::max<std::int64_t>(a, 1)};
  }

  QnnMapping in_floats() {
    const QnnTensorRef weight = float_weight();
    const QnnTensorRef bias = float_bias();
    write(input(), QnnBuilder::output(), weight, bias, builder_.float_type(), builder_.float_type());
    return builder_.take();
  }

  QnnMapping in_integers(std::span<const float> weight, std::span<const float> bias) {
    const QnnTensorRef w = integer_weight(weight);
    const QnnTensorRef b = integer_bias(bias);
    write(input(), QnnBuilder::output(), w, b, n_.context.input_types[0], n_.context.output_types[0]);
    return builder_.take();
  }

  /// Fixed-point data, weights that cannot stay integers: the convolution works in floats.
  QnnMapping with_float_detour() {
    const QnnType floats = builder_.float_type();
    const QnnTensorRef x = builder_.stage("DequantInput", as_mnn() ? n_.context.in_dims(0) : channel_last_input(),
                                          floats, Layout::channel_last);
    const QnnTensorRef y = output_like("QuantOutput", floats);
    builder_.node("_dequant_input", "Dequantize", {input()}, x);
    const QnnTensorRef weight = float_weight();
    const QnnTensorRef bias = float_bias();
    write(x, y, weight, bias, floats, floats);
    QnnTensorRef last = y;
    // Quantize reads FLOAT_32.
    if (floats.type == DType::f16)
      last = builder_.node("_Cast_Output", "Cast", {y}, output_like("CastOutput", {DType::f32, {}}));
    builder_.node("_Quant_Output", "Quantize", {last}, QnnBuilder::output());
    return builder_.take();
  }

  /// Float data, integer weights of a pointwise convolution: rows of pixels times a matrix.
  QnnMapping as_mat_mul(std::span<const float> weight) {
    const std::int64_t in_channels = n_.in()[1];
    const std::int64_t out_channels = n_.out()[1];
    const std::int64_t pixels = batch() * n_.in()[2] * n_.in()[3];
    const QnnType floats = builder_.float_type();
    const QnnTensorRef rows = builder_.stage("tempInput", {pixels, in_channels}, floats);
    const QnnTensorRef result = builder_.stage("tempOutput", {pixels, out_channels}, floats);
    std::vector<std::int8_t> integers = stored_integers(weight, integers_.scales.values());
    // MNN gives the scales, one per output channel, to the axis of the input channels.
    QnnEncoding encoding = weight_encoding(integers, as_mnn() ? 0 : 1);
    const QnnTensorRef matrix = builder_.constant(
        {.name = "quantWeight",
         .dims = {in_channels, out_channels},
         .type = {DType::sfixed8, std::move(encoding)},
         .data = [integers = std::move(integers), in_channels, out_channels]() -> Result<std::vector<std::byte>> {
           const auto count = static_cast<std::size_t>(in_channels * out_channels);
           return as_bytes(taps_first<std::int8_t>(std::span(integers).first(std::min(count, integers.size())),
                                                   out_channels, in_channels, 1, true));
         }});
    const QnnTensorRef bias = float_bias();
    builder_.reshape("_reshapeInput", input(), rows);
    builder_.node("_MatMul", "MatMul", {rows, matrix, bias}, result,
                  {flag("transpose_in0", false), flag("transpose_in1", false)});
    if (p_.activation == nullptr) {
      builder_.reshape("_reshapeOutput", result, QnnBuilder::output());
      return builder_.take();
    }
    const QnnTensorRef before = output_like("ReluTensor", floats);
    builder_.reshape("_reshapeOutput", result, before);
    builder_.node("_relu", relu_type(), {before}, QnnBuilder::output());
    return builder_.take();
  }

  const ConvNode& n_;
  const ConvParameters& p_;
  QnnBuilder builder_;
  IntegerWeights integers_;
  bool zero_bias_ = false;
};

/// Weights [i, o/group, kh, kw] with zeros between the taps: QNN's transposed convolution has no dilation.
std::vector<float> with_dilation(std::span<const float> weight, const ConvGeometry& g) {
  const std::int64_t height = g.dilation_h * (g.kernel_h - 1) + 1;
  const std::int64_t width = g.dilation_w * (g.kernel_w - 1) + 1;
  const auto taps = static_cast<std::size_t>(g.kernel_h * g.kernel_w);
  std::vector<float> out(weight.size() / taps * static_cast<std::size_t>(height * width), 0.0F);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const auto tap = static_cast<std::int64_t>(i % taps);
    const std::int64_t place = tap / g.kernel_w * g.dilation_h * width + tap % g.kernel_w * g.dilation_w;
    out[i / taps * static_cast<std::size_t>(height * width) + static_cast<std::size_t>(place)] = weight[i];
  }
  return out;
}

/// TransposeConv2d. MNN drops the fused activation and the dilation, and reads the stored padding whatever the mode.
class DeconvMapper {
 public:
  explicit DeconvMapper(const ConvNode& node) : n_(node), p_(node.parameters), builder_(node.context) {}

  QnnMappingResult build() {
    auto weight = n_.model.convolution_weight(n_.op);
    if (!weight) return not_mapped(weight.error());
    ConvGeometry g = p_.geometry;
    if (n_.context.as_mnn()) g.dilation_h = g.dilation_w = 1;
    constexpr std::int64_t kMaxDilated = 1 << 12;
    Dims dims{g.dilation_h * (g.kernel_h - 1) + 1, g.dilation_w * (g.kernel_w - 1) + 1, n_.in()[1],
              n_.out()[1] / g.group};
    auto expected = check_dims({g.kernel_h, g.kernel_w, dims[2], dims[3]});
    if (!expected) return not_mapped(expected.error());
    const bool absurd = dims[0] > kMaxDilated || dims[1] > kMaxDilated || !check_dims(dims);
    if (absurd || static_cast<std::int64_t>(weight->size()) != *expected)
      return refuse(QnnRefusal::Kind::not_mapped, "{} weights do not fit {} input and {} output channels",
                    weight->size(), n_.in()[1], n_.out()[1]);
    const QnnTensorRef w =
        builder_.floats("weight", dims, [model = &n_.model, op = n_.op, g, dims]() -> Result<std::vector<float>> {
          auto values = model->convolution_weight(op);
          if (!values) return fail(values.error());
          return taps_first<float>(with_dilation(values->values(), g), dims[2], dims[3], dims[0] * dims[1], false);
        });
    const std::int64_t channels = n_.out()[1];
    const QnnTensorRef b =
        builder_.floats("bias", {channels}, [model = &n_.model, op = n_.op, channels]() -> Result<std::vector<float>> {
          auto bias = model->convolution_bias(op);
          if (!bias) return fail(bias.error());
          std::vector<float> values(bias->values().begin(), bias->values().end());
          values.resize(static_cast<std::size_t>(channels), 0.0F);
          return values;
        });
    const bool relu = p_.activation != nullptr && !n_.context.as_mnn();
    const QnnTensorRef made =
        relu ? builder_.stage("ReluTensor", n_.context.out_dims(0), n_.context.output_types[0], Layout::channel_last)
             : QnnBuilder::output();
    builder_.node(relu ? std::string(n_.kind.node_suffix) : "", std::string(n_.kind.qnn_type),
                  {n_.context.as_mnn() ? QnnBuilder::input() : aligned_input(builder_, n_.context, 0), w, b}, made,
                  params(dims));
    if (relu) builder_.node("_relu", p_.activation->name == "ReLU6" ? "Relu6" : "Relu", {made}, QnnBuilder::output());
    return builder_.take();
  }

 private:
  std::vector<QnnParam> params(const Dims& kernel) const {
    const ConvGeometry& g = p_.geometry;
    PadPair rows{p_.pad_y, p_.pad_y};
    PadPair columns{p_.pad_x, p_.pad_x};
    std::vector<std::int64_t> extra = p_.out_pads;
    if (p_.pads.size() == 4) {
      rows = {p_.pads[0], p_.pads[2]};
      columns = {p_.pads[1], p_.pads[3]};
    }
    if (!n_.context.as_mnn()) {
      extra = {0, 0};
      rows = cut(true, kernel[0], extra[0]);
      columns = cut(false, kernel[1], extra[1]);
    }
    std::vector<QnnParam> list{
        u32_list("stride", {g.stride_h, g.stride_w}),
        u32_tensor("pad_amount", {2, 2}, {rows.before, rows.after, columns.before, columns.after}),
        u32_scalar("group", g.group)};
    if (extra.size() == 2 && (extra[0] > 0 || extra[1] > 0)) list.push_back(u32_list("output_padding", extra));
    return list;
  }

  /// What is cut off before and after, so that the output gets its extent; `extra` is what is added behind instead.
  PadPair cut(bool vertical, std::int64_t kernel, std::int64_t& extra) const {
    const std::size_t axis = vertical ? 2 : 3;
    const std::int64_t stride = vertical ? p_.geometry.stride_h : p_.geometry.stride_w;
    const std::int64_t whole = (n_.in()[axis] - 1) * stride + kernel;
    PadPair pads{n_.kind.plan_axis(p_, vertical, n_.in()[axis]).pad_before, 0};
    pads.after = whole - pads.before - n_.out()[axis];
    if (pads.after < 0) extra = -pads.after, pads.after = 0;
    return pads;
  }

  const ConvNode& n_;
  const ConvParameters& p_;
  QnnBuilder builder_;
};

PadPair pads_along(const ConvNode& node, bool vertical) {
  const ConvParameters& p = node.parameters;
  const std::size_t axis = vertical ? 2 : 3;
  const std::int64_t in = node.in()[axis];
  const std::int64_t out = node.out()[axis];
  const ConvGeometry& g = p.geometry;
  const std::int64_t effective = vertical ? g.dilation_h * (g.kernel_h - 1) + 1 : g.dilation_w * (g.kernel_w - 1) + 1;
  const std::int64_t total = (out - 1) * (vertical ? g.stride_h : g.stride_w) + effective - in;
  const std::int64_t before = node.kind.plan_axis(p, vertical, in).pad_before;
  // Less than nothing where the last window ends before the input does. Recorded runs show that MNN writes 0 then; with
  // SAME it writes the negative number.
  const std::int64_t after = total - before;
  const bool negative = node.context.as_mnn() && p.padding == ConvPadding::same;
  return {before, negative ? after : std::max<std::int64_t>(after, 0)};
}

}  // namespace

QnnMappingResult ConvolutionFamily::qnn_mapping(const QnnContext& context) const {
  ConvNode node{.kind = kind_, .model = model_, .op = op_, .parameters = parameters_, .context = context};
  if (kind_.transposed) return DeconvMapper(node).build();
  if (context.inputs.size() > 1)
    return refuse(QnnRefusal::Kind::refused, "{} operands, the backend takes one", context.inputs.size());
  node.depthwise = kind_.qnn_type == "DepthWiseConv2d";
  node.rows = pads_along(node, true);
  node.columns = pads_along(node, false);
  return ConvMapper(node).build();
}

bool ConvolutionFamily::runs_quantized(DType /*type*/) const {
  if (kind_.transposed) return true;
  const wire::Convolution2D* main = model_.wire_op(op_).main_as_Convolution2D();
  return model_.graph().ops[static_cast<std::size_t>(op_)].inputs.size() == 1 && main != nullptr &&
         (main->weight() == nullptr || main->weight()->size() == 0);
}

}  // namespace qnndbg
