#include "ops/support/resize_mistakes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ops/support/screen_mistakes.h"

namespace qnndbg {
namespace {

using enum ResizeCoordinates;

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNInterp.cpp";
constexpr auto kAllCoordinates =
    std::to_array({asymmetric, half_pixel, align_corners, half_pixel_unshifted, aligned_half_pixel});
constexpr auto kFlags = std::to_array({asymmetric, half_pixel, align_corners});
constexpr auto kRoundings = std::to_array(
    {ResizeSampling::floor, ResizeSampling::round_half_down, ResizeSampling::round_half_up, ResizeSampling::ceil});

enum class Family : std::uint8_t { nearest, linear, cubic };

Family family_of(ResizeSampling sampling) {
  switch (sampling) {
    case ResizeSampling::linear: return Family::linear;
    case ResizeSampling::cubic:
    case ResizeSampling::cubic_truncated: return Family::cubic;
    default: return Family::nearest;
  }
}

std::string node_type(Family family) {
  switch (family) {
    case Family::nearest: return "ResizeNearestNeighbor";
    case Family::linear: return "ResizeBilinear";
    case Family::cubic: break;
  }
  return "Resize (cubic)";
}

std::string bound_of(Family family) {
  switch (family) {
    case Family::nearest: return "exact";
    case Family::linear: return "ResizeBilinear";
    case Family::cubic: break;
  }
  return "ResizeCubic";
}

std::string name_of(ResizeCoordinates coordinates) {
  switch (coordinates) {
    case asymmetric: return "asymmetric";
    case half_pixel: return "half_pixel";
    case half_pixel_unshifted: return "half_pixel without the shift back";
    case align_corners: return "align_corners";
    case aligned_half_pixel: break;
  }
  return "align_corners and half_pixel together";
}

struct Variant {
  ResizeCoordinates coordinates;
  bool by_extents;
  ResizeSampling sampling;
};

/// The rule for the source index, to print: "floor((i + 0.5) in/out)".
std::string rule_of(const Variant& v) {
  const char* s = v.by_extents ? "in/out" : "1/scale";
  const std::string source = [&]() -> std::string {
    switch (v.coordinates) {
      case asymmetric: return fmt::format("i {}", s);
      case half_pixel: return fmt::format("(i + 0.5) {} - 0.5", s);
      case half_pixel_unshifted: return fmt::format("(i + 0.5) {}", s);
      case align_corners: return "i (in - 1)/(out - 1)";
      case aligned_half_pixel: break;
    }
    return "(i + 0.5) (in - 1)/(out - 1) - 0.5";
  }();
  switch (v.sampling) {
    case ResizeSampling::floor:
    case ResizeSampling::cubic: return fmt::format("floor({})", source);
    case ResizeSampling::round_half_down: return fmt::format("round, half down, of {}", source);
    case ResizeSampling::round_half_up: return fmt::format("round({})", source);
    case ResizeSampling::ceil: return fmt::format("ceil({})", source);
    case ResizeSampling::cubic_truncated: return fmt::format("trunc({})", source);
    default: break;
  }
  return source;
}

/// QNN's rule under one of its flags, as observed on libQnnHtp.so 2.51.
Variant qnn_rule(ResizeCoordinates flag, Family family) {
  if (family == Family::cubic) return {flag, true, ResizeSampling::cubic};
  if (family == Family::linear) return {flag, true, ResizeSampling::linear};
  if (flag == half_pixel) return {half_pixel_unshifted, true, ResizeSampling::floor};
  return {flag, true, flag == align_corners ? ResizeSampling::round_half_up : ResizeSampling::floor};
}

ResizeAxis axis_of(const Variant& v, const ResizeAxis& model, float step) {
  ResizeAxis axis{.in = model.in, .out = model.out};
  const float aligned = model.out <= 1 ? 0.0F : static_cast<float>(model.in - 1) / static_cast<float>(model.out - 1);
  const float s = v.by_extents ? static_cast<float>(model.in) / static_cast<float>(model.out) : step;
  switch (v.coordinates) {
    case asymmetric: axis.scale = s; break;
    case half_pixel: axis.scale = s, axis.offset = 0.5F * s - 0.5F; break;
    case half_pixel_unshifted: axis.scale = s, axis.offset = 0.5F * s; break;
    case align_corners: axis.scale = aligned; break;
    case aligned_half_pixel: axis.scale = aligned, axis.offset = 0.5F * aligned - 0.5F; break;
  }
  return axis;
}

struct Table {
  std::vector<Taps> rows, columns;

  bool operator==(const Table&) const = default;
};

/// The taps with equal positions added up and zero weights left out: equal ones are the same function.
Taps canonical(const Taps& taps) {
  Taps out{.count = 0};
  for (int k = 0; k < taps.count; ++k) {
    const std::int64_t index = taps.index[static_cast<std::size_t>(k)];
    const float weight = taps.weight[static_cast<std::size_t>(k)];
    if (weight == 0) continue;
    const auto end = out.index.begin() + out.count;
    const auto at = std::find(out.index.begin(), end, index);
    if (at == end) *end = index, ++out.count;
    out.weight[static_cast<std::size_t>(at - out.index.begin())] += weight;
  }
  return out;
}

Table canonical(Table table) {
  for (Taps& taps : table.rows) taps = canonical(taps);
  for (Taps& taps : table.columns) taps = canonical(taps);
  return table;
}

class Mistakes {
 public:
  Mistakes(const Evidence& evidence, const ResizeNode& node)
      : x_(*evidence.context.inputs[0]),
        screen_(evidence),
        node_(node),
        family_(family_of(node.sampling)),
        by_extents_(table(node.h_by_extents, node.w_by_extents, node.sampling)) {
    seen_.push_back(canonical(table(node.h, node.w, node.sampling)));
  }

  std::vector<Hypothesis> list() {
    consider_flags(family_);
    for (bool by_extents : {false, true}) {
      if (!by_extents && !model_gives_scale()) continue;
      consider({node_.coordinates, by_extents, node_.sampling});
      for (ResizeCoordinates c : coordinates()) {
        if (family_ == Family::nearest) {
          for (ResizeSampling rounding : kRoundings) consider({c, by_extents, rounding});
        } else {
          consider({c, by_extents, node_.sampling});
          if (family_ == Family::cubic) consider({c, by_extents, ResizeSampling::cubic});
        }
      }
    }
    for (Family other : {Family::linear, Family::nearest}) {
      if (other != family_) consider_flags(other);
    }
    return std::move(list_);
  }

 private:
  static Table table(const ResizeAxis& h, const ResizeAxis& w, ResizeSampling sampling) {
    return {all_taps(h, sampling), all_taps(w, sampling)};
  }

  /// The model's own first: a single deviation is more plausible than two.
  std::vector<ResizeCoordinates> coordinates() const {
    std::vector<ResizeCoordinates> all{node_.coordinates};
    for (ResizeCoordinates c : kAllCoordinates) {
      if (c != node_.coordinates) all.push_back(c);
    }
    return all;
  }

  void consider_flags(Family family) {
    consider(qnn_rule(node_.asked, family), node_.asked);
    for (ResizeCoordinates flag : kFlags) {
      if (flag != node_.asked) consider(qnn_rule(flag, family), flag);
    }
  }

  bool model_gives_scale() const {
    return node_.step_h != static_cast<float>(node_.h.in) / static_cast<float>(node_.h.out) ||
           node_.step_w != static_cast<float>(node_.w.in) / static_cast<float>(node_.w.out);
  }

  Hypothesis named(const Variant& v, std::optional<ResizeCoordinates> flag, const Table& taps) const {
    const Family family = family_of(v.sampling);
    const Variant model{node_.coordinates, !model_gives_scale(), node_.sampling};
    const Hypothesis scale{.cause = "resize_scale_taken_from_dims_not_from_model",
                           .parameter = "scale",
                           .used = fmt::format("input extent / output extent = {:g} x {:g}",
                                               static_cast<double>(node_.h.in) / static_cast<double>(node_.h.out),
                                               static_cast<double>(node_.w.in) / static_cast<double>(node_.w.out)),
                           .meant = fmt::format("1 / scale of the model = {:g} x {:g}", node_.step_h, node_.step_w)};
    const Hypothesis source{.cause = "resize_nearest_source_index_differs",
                            .parameter = "source index",
                            .used = rule_of(v),
                            .meant = rule_of(model)};
    const Hypothesis mode{.cause = "resize_coordinate_mode_wrong",
                          .parameter = "coordinate mode (align_corners, half_pixel_centers)",
                          .used = name_of(flag.value_or(v.coordinates)),
                          .meant = name_of(node_.coordinates)};
    if (family != family_) {
      return {.cause = "resize_coordinate_mode_wrong",
              .parameter = "node type",
              .used = fmt::format("{}, {}", node_type(family), name_of(flag.value_or(v.coordinates))),
              .meant = fmt::format("{}, {}", node_type(family_), name_of(node_.coordinates))};
    }
    if (taps == by_extents_) return scale;
    // The flag that MNN asks for: what differs from the model is the library's way to step and round.
    const bool as_asked = flag == node_.asked || v.coordinates == node_.coordinates;
    if (!as_asked) return mode;
    if (family == Family::nearest) return source;
    if (family == Family::cubic && v.sampling != node_.sampling) {
      // MNN's CPU is the one that leaves the textbook here; the node and its parameters are right.
      Hypothesis library = source;
      library.cause = "library_behaviour";
      library.parameter = "source index of the cubic kernel";
      return v.by_extents && model_gives_scale() ? scale : library;
    }
    return v.by_extents && model_gives_scale() ? scale : mode;
  }

  void consider(const Variant& v, std::optional<ResizeCoordinates> flag = std::nullopt) {
    Table taps = table(axis_of(v, node_.h, node_.step_h), axis_of(v, node_.w, node_.step_w), v.sampling);
    Table function = canonical(taps);
    if (std::find(seen_.begin(), seen_.end(), function) != seen_.end()) return;
    seen_.push_back(std::move(function));
    const bool nearest = family_of(v.sampling) == Family::nearest;
    const bool fits = screen_.may_fit([&](std::int64_t i) {
      return Estimate{resize_element(x_, taps.rows, taps.columns, i, false),
                      nearest ? 0 : resize_element(x_, taps.rows, taps.columns, i, true)};
    });
    if (!fits) return;
    Hypothesis h = named(v, flag, taps);
    h.file = kMnnFile;
    h.bound = bound_of(family_of(v.sampling));
    h.compute = [taps = std::move(taps)](const RunContext& run) -> Result<StageResult> {
      StageResult result{.value = resize(*run.inputs[0], taps.rows, taps.columns, false)};
      if (run.want_magnitude) result.magnitude = resize(*run.inputs[0], taps.rows, taps.columns, true);
      return result;
    };
    list_.push_back(std::move(h));
  }

  const Tensor& x_;
  Screen screen_;
  const ResizeNode& node_;
  Family family_;
  Table by_extents_;
  std::vector<Table> seen_;
  std::vector<Hypothesis> list_;
};

}  // namespace

std::vector<Hypothesis> resize_mistakes(const Evidence& evidence, const ResizeNode& node) {
  const Tensor& x = *evidence.context.inputs[0];
  if (x.type() != DType::f32 || x.empty() || evidence.device.empty()) return {};
  return Mistakes(evidence, node).list();
}

}  // namespace qnndbg
