#include "ops/support/qnn_resize.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/support/qnn_movement.h"

namespace qnndbg {
namespace {

enum class Method : std::uint8_t { nearest, linear, cubic };

Method method_of(ResizeSampling sampling) {
  switch (sampling) {
    case ResizeSampling::linear: return Method::linear;
    case ResizeSampling::cubic:
    case ResizeSampling::cubic_truncated: return Method::cubic;
    default: return Method::nearest;
  }
}

/// The taps of QNN's nodes (measured): steps of in/out, or (in - 1)/(out - 1) with corners aligned. Nearest takes the
/// floor of i s or (i + 0.5) s, and the nearest position with corners aligned.
std::vector<Taps> qnn_taps(const ResizeAxis& meant, Method method, ResizeCoordinates coordinates) {
  ResizeAxis axis{.in = meant.in, .out = meant.out};
  const bool align = coordinates == ResizeCoordinates::align_corners;
  const bool half = coordinates == ResizeCoordinates::half_pixel;
  if (align) {
    axis.scale = axis.out > 1 ? static_cast<float>(axis.in - 1) / static_cast<float>(axis.out - 1) : 0.0F;
  } else {
    axis.scale = static_cast<float>(axis.in) / static_cast<float>(axis.out);
  }
  if (half) axis.offset = method == Method::nearest ? 0.5F * axis.scale : 0.5F * axis.scale - 0.5F;
  switch (method) {
    case Method::linear: return all_taps(axis, ResizeSampling::linear);
    case Method::cubic: return all_taps(axis, ResizeSampling::cubic);
    case Method::nearest: break;
  }
  return all_taps(axis, align ? ResizeSampling::round_half_up : ResizeSampling::floor);
}

/// Total weight of a position; two taps may name the same one at the border.
float weight_at(const Taps& taps, std::int64_t position) {
  float sum = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(taps.count); ++k) {
    if (taps.index[k] == position) sum += taps.weight[k];
  }
  return sum;
}

/// Half keeps eleven bits of a weight; smaller differences cannot be seen.
bool equal(const std::vector<Taps>& a, const std::vector<Taps>& b) {
  constexpr float kUnseen = 1e-4F;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Taps& x, const Taps& y) {
    const auto same_at = [&](std::int64_t position) {
      return std::fabs(weight_at(x, position) - weight_at(y, position)) < kUnseen;
    };
    for (const Taps* taps : {&x, &y}) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(taps->count); ++k) {
        if (!same_at(taps->index[k])) return false;
      }
    }
    return true;
  });
}

QnnMapping resize_node(const QnnContext& context, Method method, ResizeCoordinates coordinates,
                       float cubic_coefficient) {
  QnnBuilder builder(context);
  const QnnTensorRef x = aligned_input(builder, context, 0);
  const QnnParam align = flag("align_corners", coordinates == ResizeCoordinates::align_corners);
  const QnnParam half = flag("half_pixel_centers", coordinates == ResizeCoordinates::half_pixel);
  switch (method) {
    case Method::nearest: builder.node("", "ResizeNearestNeighbor", {x}, QnnBuilder::output(), {align, half}); break;
    case Method::linear:
      builder.node("", "ResizeBilinear", {x}, QnnBuilder::output(), {align, half, flag("antialias", false)});
      break;
    case Method::cubic: {
      const std::int64_t mode = coordinates == ResizeCoordinates::align_corners ? kQnnAlignCorners
                                : coordinates == ResizeCoordinates::half_pixel  ? kQnnHalfPixel
                                                                                : kQnnAsymmetric;
      builder.node("", "Resize", {x}, QnnBuilder::output(),
                   {u32_scalar("interpolation_mode", kQnnCubic), u32_scalar("transformation_mode", mode),
                    flag("exclude_outside", false), QnnParam{"cubic_coeff", cubic_coefficient}});
      break;
    }
  }
  return builder.take();
}

/// Resamples one axis of channel-last data by gathering and weighting.
class Resampler {
 public:
  Resampler(QnnBuilder& builder, const QnnContext& context) : builder_(builder), context_(context) {}

  /// `dims` are those of the result; `target`: where it goes, nullopt: a stage of its own.
  QnnTensorRef along(int axis, const std::string& name, const std::vector<Taps>& taps, const Dims& dims,
                     QnnTensorRef from, std::optional<QnnTensorRef> target) {
    const auto slots = static_cast<std::size_t>(taps.empty() ? 1 : taps.front().count);
    std::optional<QnnTensorRef> sum;
    for (std::size_t slot = 0; slot < slots; ++slot) {
      const std::string tag = fmt::format("{}_{}", name, slot);
      const bool last = slot + 1 == slots;
      const auto result = [&](const char* what, bool is_end) {
        return is_end && target ? *target
                                : builder_.stage(fmt::format("{}_{}", tag, what), dims, context_.output_types[0],
                                                 Layout::channel_last);
      };
      QnnTensorRef part =
          builder_.node("_" + tag + "_gather", "Gather", {from, positions(tag, taps, slot)},
                        result("gathered", slots == 1), {QnnParam{"axis", static_cast<std::int32_t>(axis)}});
      if (slots == 1) return part;
      part = builder_.node("_" + tag + "_weigh", "ElementWiseMultiply", {part, weights(tag, taps, slot, axis)},
                           result("weighted", false));
      sum = sum ? builder_.node("_" + tag + "_add", "ElementWiseAdd", {*sum, part}, result("sum", last)) : part;
    }
    return *sum;
  }

 private:
  QnnTensorRef positions(const std::string& tag, const std::vector<Taps>& taps, std::size_t slot) {
    std::vector<std::int32_t> values;
    for (const Taps& t : taps) values.push_back(static_cast<std::int32_t>(t.index[slot]));
    const Dims dims{static_cast<std::int64_t>(values.size())};
    return builder_.constant({.name = tag + "_positions",
                              .dims = dims,
                              .type = {DType::i32, {}},
                              .data = [values = std::move(values)]() -> Result<std::vector<std::byte>> {
                                const auto bytes = std::as_bytes(std::span(values));
                                return std::vector<std::byte>(bytes.begin(), bytes.end());
                              }});
  }

  QnnTensorRef weights(const std::string& tag, const std::vector<Taps>& taps, std::size_t slot, int axis) {
    std::vector<float> values;
    for (const Taps& t : taps) values.push_back(t.weight[slot]);
    Dims dims(4, 1);
    dims[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(values.size());
    return builder_.floats(tag + "_weights", dims, std::move(values));
  }

  QnnBuilder& builder_;
  const QnnContext& context_;
};

}  // namespace

QnnMappingResult resize_mapping(const QnnContext& context, const ResizeNode& node, float cubic_coefficient) {
  // Tables of positions are made for every row and column.
  constexpr std::int64_t kMaxExtent = 1 << 16;
  for (std::int64_t extent : {node.h.in, node.h.out, node.w.in, node.w.out}) {
    if (extent > kMaxExtent) return refuse(QnnRefusal::Kind::not_mapped, "a resize of {} rows or columns", extent);
  }
  const Method method = method_of(node.sampling);
  const std::vector<Taps> rows = all_taps(node.h, node.sampling);
  const std::vector<Taps> columns = all_taps(node.w, node.sampling);
  for (ResizeCoordinates coordinates :
       {node.asked, ResizeCoordinates::half_pixel, ResizeCoordinates::asymmetric, ResizeCoordinates::align_corners}) {
    if (equal(qnn_taps(node.h, method, coordinates), rows) && equal(qnn_taps(node.w, method, coordinates), columns))
      return resize_node(context, method, coordinates, cubic_coefficient);
  }
  if (context.quantized() && method != Method::nearest)
    return refuse(QnnRefusal::Kind::not_mapped, "QNN has no resize node with this scale for fixed-point data");
  QnnBuilder builder(context);
  Resampler resampler(builder, context);
  const Dims out = context.out_dims(0);
  Dims between = out;
  between[2] = node.w.in;
  const QnnTensorRef x = aligned_input(builder, context, 0);
  const QnnTensorRef resized_rows = resampler.along(1, "rows", rows, between, x, std::nullopt);
  resampler.along(2, "columns", columns, out, resized_rows, QnnBuilder::output());
  return builder.take();
}

}  // namespace qnndbg
