#include "ops/support/convolution_kernel.h"

#include <unordered_map>

#include "ops/support/onednn.h"

namespace qnndbg {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

/// Padding after the data that makes the output extent come out; it may be negative when the last rows go unused.
std::int64_t pad_after(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                       std::int64_t dilation, std::int64_t before) {
  return (out - 1) * stride + dilation * (kernel - 1) + 1 - in - before;
}

struct Padding {
  memory::dims before;
  memory::dims after;
};

/// `small`/`large`: extents of the side with fewer positions (a convolution's output) and of the other.
Padding padding_of(const ConvGeometry& g, const Dims& large, const Dims& small) {
  return {{g.pad_top, g.pad_left},
          {pad_after(large[2], small[2], g.kernel_h, g.stride_h, g.dilation_h, g.pad_top),
           pad_after(large[3], small[3], g.kernel_w, g.stride_w, g.dilation_w, g.pad_left)}};
}

/// Weight descriptor [G, O/G, I/G, kh, kw] (or without G) over memory whose two channel axes may be swapped.
memory::desc weight_desc(const ConvGeometry& g, std::int64_t out_per_group, std::int64_t in_per_group, bool in_first) {
  const memory::dims dims = g.group == 1 ? memory::dims{out_per_group, in_per_group, g.kernel_h, g.kernel_w}
                                         : memory::dims{g.group, out_per_group, in_per_group, g.kernel_h, g.kernel_w};
  const Tag tag = g.group == 1 ? (in_first ? Tag::iohw : Tag::oihw) : (in_first ? Tag::giohw : Tag::goihw);
  return {dims, memory::data_type::f32, tag};
}

memory::desc any_of(const memory::desc& desc) { return {desc.dims(), memory::data_type::f32, Tag::any}; }

/// Executes a forward primitive on plain NCHW data and weights in any order.
template <class Primitive, class PrimitiveDesc>
Tensor execute(const PrimitiveDesc& pd, const Tensor& x, const memory::desc& x_desc, std::span<const float> weight,
               const memory::desc& w_desc, std::span<const float> bias, const Dims& output_dims) {
  Tensor y = Tensor::f32(output_dims);
  const memory src = onednn::in_layout(onednn::view(x_desc, x.f32().data()), pd.src_desc());
  const memory weights = onednn::in_layout(onednn::view(w_desc, weight.data()), pd.weights_desc());
  const memory plain_dst = onednn::view({memory::dims(output_dims), memory::data_type::f32, Tag::nchw}, y.f32().data());
  memory dst = pd.dst_desc() == plain_dst.get_desc() ? plain_dst : memory(pd.dst_desc(), onednn::engine());
  std::unordered_map<int, memory> args{{DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, dst}};
  if (!bias.empty()) args.emplace(DNNL_ARG_BIAS, onednn::view(pd.bias_desc(), bias.data()));
  Primitive(pd).execute(onednn::stream(), args);
  if (dst.get_desc() != plain_dst.get_desc()) {
    memory out = plain_dst;
    dnnl::reorder(dst, out).execute(onednn::stream(), dst, out);
  }
  onednn::stream().wait();
  return y;
}

struct Position {
  std::int64_t n, channel, h, w;
};

Position position_of(const Dims& dims, std::int64_t element) {
  const std::int64_t w = element % dims[3];
  const std::int64_t h = element / dims[3] % dims[2];
  const std::int64_t c = element / (dims[3] * dims[2]) % dims[1];
  return {element / (dims[3] * dims[2] * dims[1]), c, h, w};
}

/// oneDNN refuses some geometries that models have (strides that skip the last rows, padding beyond the kernel). Those
/// are summed element by element.
template <class Element>
Tensor by_elements(const Dims& output_dims, Element element) {
  Tensor y = Tensor::f32(output_dims);
  for (std::int64_t i = 0; i < y.size(); ++i) y.f32()[static_cast<std::size_t>(i)] = static_cast<float>(element(i));
  return y;
}

double bias_of(std::span<const float> bias, const Dims& output_dims, std::int64_t element) {
  return bias.empty() ? 0.0 : bias[static_cast<std::size_t>(position_of(output_dims, element).channel)];
}

/// Calls visit(weight index, x) for every tap of an output element that lies inside the input.
template <class Visit>
void visit_convolution_taps(const Tensor& x, const ConvGeometry& g, const Dims& output_dims, std::int64_t element,
                            Visit visit) {
  const auto [n, o, oh, ow] = position_of(output_dims, element);
  const std::int64_t channels = x.dims()[1];
  const std::int64_t height = x.dims()[2];
  const std::int64_t width = x.dims()[3];
  const std::int64_t in_per_group = channels / g.group;
  const std::int64_t first = o / (output_dims[1] / g.group) * in_per_group;
  for (std::int64_t i = 0; i < in_per_group; ++i) {
    for (std::int64_t u = 0; u < g.kernel_h; ++u) {
      const std::int64_t h = oh * g.stride_h + u * g.dilation_h - g.pad_top;
      if (h < 0 || h >= height) continue;
      for (std::int64_t v = 0; v < g.kernel_w; ++v) {
        const std::int64_t w = ow * g.stride_w + v * g.dilation_w - g.pad_left;
        if (w < 0 || w >= width) continue;
        visit(((o * in_per_group + i) * g.kernel_h + u) * g.kernel_w + v,
              x.f32()[static_cast<std::size_t>(((n * channels + first + i) * height + h) * width + w)]);
      }
    }
  }
}

template <class Visit>
void visit_deconvolution_taps(const Tensor& x, const ConvGeometry& g, const Dims& output_dims, std::int64_t element,
                              Visit visit) {
  const auto [n, o, oh, ow] = position_of(output_dims, element);
  const std::int64_t channels = x.dims()[1];
  const std::int64_t height = x.dims()[2];
  const std::int64_t width = x.dims()[3];
  const std::int64_t out_per_group = output_dims[1] / g.group;
  const std::int64_t in_per_group = channels / g.group;
  const std::int64_t first = o / out_per_group * in_per_group;
  for (std::int64_t u = 0; u < g.kernel_h; ++u) {
    const std::int64_t h_scaled = oh + g.pad_top - u * g.dilation_h;
    if (h_scaled < 0 || h_scaled % g.stride_h != 0 || h_scaled / g.stride_h >= height) continue;
    for (std::int64_t v = 0; v < g.kernel_w; ++v) {
      const std::int64_t w_scaled = ow + g.pad_left - v * g.dilation_w;
      if (w_scaled < 0 || w_scaled % g.stride_w != 0 || w_scaled / g.stride_w >= width) continue;
      for (std::int64_t i = 0; i < in_per_group; ++i) {
        visit((((first + i) * out_per_group + o % out_per_group) * g.kernel_h + u) * g.kernel_w + v,
              x.f32()[static_cast<std::size_t>(((n * channels + first + i) * height + h_scaled / g.stride_h) * width +
                                               w_scaled / g.stride_w)]);
      }
    }
  }
}

}  // namespace

Result<Tensor> convolution(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
                           const ConvGeometry& g, const Dims& output_dims) {
  if (x.empty() || element_count(output_dims) == 0) return Tensor::f32(output_dims);
  auto result = onednn::guarded([&]() -> Result<Tensor> {
    const memory::desc x_desc(memory::dims(x.dims()), memory::data_type::f32, Tag::nchw);
    const memory::desc w_desc = weight_desc(g, output_dims[1] / g.group, x.dims()[1] / g.group, false);
    const memory::desc y_desc(memory::dims(output_dims), memory::data_type::f32, Tag::any);
    const memory::desc b_desc(memory::dims{output_dims[1]}, memory::data_type::f32, Tag::a);
    const Padding pad = padding_of(g, x.dims(), output_dims);
    const memory::dims strides{g.stride_h, g.stride_w};
    const memory::dims dilates{g.dilation_h - 1, g.dilation_w - 1};
    // Direct, never Winograd: its transforms would blur the reference.
    using Forward = dnnl::convolution_forward;
    const auto desc =
        bias.empty()
            ? Forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, any_of(x_desc),
                            any_of(w_desc), y_desc, strides, dilates, pad.before, pad.after)
            : Forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, any_of(x_desc),
                            any_of(w_desc), b_desc, y_desc, strides, dilates, pad.before, pad.after);
    const Forward::primitive_desc pd(desc, onednn::strict(), onednn::engine());
    return execute<Forward>(pd, x, x_desc, weight, w_desc, bias, output_dims);
  });
  if (result) return result;
  return by_elements(output_dims,
                     [&](std::int64_t i) { return convolution_element(x, weight, bias, g, output_dims, i); });
}

std::vector<ConvTap> convolution_taps(const Tensor& x, const ConvGeometry& g, const Dims& output_dims,
                                      std::int64_t element) {
  std::vector<ConvTap> taps;
  visit_convolution_taps(x, g, output_dims, element,
                         [&](std::int64_t weight, float value) { taps.push_back({weight, value}); });
  return taps;
}

double convolution_element(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
                           const ConvGeometry& g, const Dims& output_dims, std::int64_t element) {
  double sum = bias_of(bias, output_dims, element);
  visit_convolution_taps(x, g, output_dims, element, [&](std::int64_t w, float value) {
    sum += static_cast<double>(weight[static_cast<std::size_t>(w)]) * value;
  });
  return sum;
}

Result<Tensor> deconvolution(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
                             const ConvGeometry& g, const Dims& output_dims) {
  if (x.empty() || element_count(output_dims) == 0) return Tensor::f32(output_dims);
  auto result = onednn::guarded([&]() -> Result<Tensor> {
    const memory::desc x_desc(memory::dims(x.dims()), memory::data_type::f32, Tag::nchw);
    const memory::desc w_desc = weight_desc(g, output_dims[1] / g.group, x.dims()[1] / g.group, true);
    const memory::desc y_desc(memory::dims(output_dims), memory::data_type::f32, Tag::any);
    const memory::desc b_desc(memory::dims{output_dims[1]}, memory::data_type::f32, Tag::a);
    const Padding pad = padding_of(g, output_dims, x.dims());
    const memory::dims strides{g.stride_h, g.stride_w};
    const memory::dims dilates{g.dilation_h - 1, g.dilation_w - 1};
    using Forward = dnnl::deconvolution_forward;
    const auto desc =
        bias.empty()
            ? Forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, any_of(x_desc),
                            any_of(w_desc), y_desc, strides, dilates, pad.before, pad.after)
            : Forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, any_of(x_desc),
                            any_of(w_desc), b_desc, y_desc, strides, dilates, pad.before, pad.after);
    const Forward::primitive_desc pd(desc, onednn::strict(), onednn::engine());
    return execute<Forward>(pd, x, x_desc, weight, w_desc, bias, output_dims);
  });
  if (result) return result;
  return by_elements(output_dims,
                     [&](std::int64_t i) { return deconvolution_element(x, weight, bias, g, output_dims, i); });
}

std::vector<ConvTap> deconvolution_taps(const Tensor& x, const ConvGeometry& g, const Dims& output_dims,
                                        std::int64_t element) {
  std::vector<ConvTap> taps;
  visit_deconvolution_taps(x, g, output_dims, element,
                           [&](std::int64_t weight, float value) { taps.push_back({weight, value}); });
  return taps;
}

double deconvolution_element(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
                             const ConvGeometry& g, const Dims& output_dims, std::int64_t element) {
  double sum = bias_of(bias, output_dims, element);
  visit_deconvolution_taps(x, g, output_dims, element, [&](std::int64_t w, float value) {
    sum += static_cast<double>(weight[static_cast<std::size_t>(w)]) * value;
  });
  return sum;
}

}  // namespace qnndbg
