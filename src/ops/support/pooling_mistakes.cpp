#include "ops/support/pooling_mistakes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "ops/support/screen_mistakes.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNPool.cpp";
// Of larger total paddings only the ends and the middle are tried.
constexpr std::int64_t kAllSplitsUpTo = 16;
constexpr auto kCounts = std::to_array({PoolCount::inside, PoolCount::with_padding, PoolCount::whole_window});

// Far above any rounding of an average, relative to its value.
constexpr double kPlainlyWrong = 0.05;

/// Windows that stick out beyond the padded input: below, to the right, or either.
enum class Edge : std::uint8_t { none, both, rows, columns };

struct Variant {
  PoolKind kind;
  PoolCount count;
  PoolGeometry geometry;
  Edge zero = Edge::none;  // these windows give 0
};

std::string name_of(Edge edge) {
  return edge == Edge::rows ? "last row" : edge == Edge::columns ? "last column" : "last row and column";
}

std::string name_of(PoolKind kind) { return kind == PoolKind::max ? "PoolMax2d" : "PoolAvg2d"; }

std::string name_of(PoolCount count) {
  switch (count) {
    case PoolCount::inside: return "cells inside the input";
    case PoolCount::with_padding: return "cells inside the padded input";
    case PoolCount::whole_window: break;
  }
  return "cells of the window, all of them";
}

/// Which outputs of a plane belong to windows that stick out beyond the padded input.
class Overhang {
 public:
  Overhang(const PoolNode& node, const Dims& in) : plane_(node.out[2] * node.out[3]), width_(node.out[3]) {
    const PoolGeometry& g = node.geometry;
    for (std::int64_t oh = 0; oh < node.out[2]; ++oh)
      rows_.push_back(oh * g.stride_h - g.pad_top + g.kernel_h > in[2] + node.pad_bottom);
    for (std::int64_t ow = 0; ow < node.out[3]; ++ow)
      columns_.push_back(ow * g.stride_w - g.pad_left + g.kernel_w > in[3] + node.pad_right);
  }

  bool holds(std::int64_t element, Edge edge = Edge::both) const {
    const std::int64_t at = element % plane_;
    const bool row = rows_[static_cast<std::size_t>(at / width_)];
    const bool column = columns_[static_cast<std::size_t>(at % width_)];
    switch (edge) {
      case Edge::none: return false;
      case Edge::both: return row || column;
      case Edge::rows: return row;
      case Edge::columns: break;
    }
    return column;
  }
  /// The same for all outputs in tiles of rows x columns that hold such a window.
  Overhang in_tiles(std::size_t rows, std::size_t columns) const {
    const auto widened = [](const std::vector<bool>& flags, std::size_t tile) {
      std::vector<bool> out(flags.size(), false);
      for (std::size_t i = 0; i < flags.size(); ++i) {
        const std::size_t from = i / tile * tile;
        for (std::size_t k = from; flags[i] && k < std::min(from + tile, flags.size()); ++k) out[k] = true;
      }
      return out;
    };
    Overhang wider = *this;
    wider.rows_ = widened(rows_, rows);
    wider.columns_ = widened(columns_, columns);
    return wider;
  }

  bool any() const {
    const auto set = [](const std::vector<bool>& flags) {
      return std::find(flags.begin(), flags.end(), true) != flags.end();
    };
    return set(rows_) || set(columns_);
  }

 private:
  std::int64_t plane_, width_;
  std::vector<bool> rows_, columns_;
};

Tensor computed(const Tensor& x, const Variant& v, const Overhang& overhang, const Dims& out, bool absolute) {
  Tensor y = pool(x, absolute ? PoolKind::average : v.kind, v.count, v.geometry, out, absolute);
  if (v.zero == Edge::none) return y;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    if (overhang.holds(i, v.zero)) y.f32()[static_cast<std::size_t>(i)] = 0;
  }
  return y;
}

/// (before, after) of a total, all on one side first.
std::vector<std::int64_t> begins_of(std::int64_t total) {
  std::vector<std::int64_t> begins{0, total, total / 2, total - total / 2};
  for (std::int64_t b = 1; total <= kAllSplitsUpTo && b < total; ++b) begins.push_back(b);
  return begins;
}

class Mistakes {
 public:
  Mistakes(const Evidence& evidence, const PoolNode& node)
      : evidence_(evidence),
        x_(*evidence.context.inputs[0]),
        screen_(evidence),
        node_(node),
        overhang_(node, x_.dims()) {}

  std::vector<Hypothesis> list() {
    if (node_.out[0] * node_.out[1] * node_.out[2] * node_.out[3] == 0) return {};
    consider_kind();
    if (average()) consider_divisor();
    consider_padding();
    consider_stride();
    if (average() && overhang_.any()) consider_unwritten();
    return std::move(list_);
  }

 private:
  bool whole_plane() const {
    return node_.geometry.kernel_h >= x_.dims()[2] && node_.geometry.kernel_w >= x_.dims()[3];
  }
  bool average() const { return node_.kind == PoolKind::average; }
  Variant right() const { return {node_.kind, node_.count, node_.geometry}; }

  void consider_kind() {
    const PoolKind other = average() ? PoolKind::max : PoolKind::average;
    const Hypothesis texts{
        .cause = "pool_type_wrong", .parameter = "node type", .used = name_of(other), .meant = name_of(node_.kind)};
    for_each_divisor(other, [&](const Variant& v) { consider(texts, v); });
  }

  /// Every way in which an average may be divided, each function once and the right one not at all; once for a maximum.
  template <class F>
  void for_each_divisor(PoolKind kind, F f) const {
    Variant v = right();
    v.kind = kind;
    if (kind == PoolKind::max) return f(v);
    std::vector<std::vector<float>> seen;
    if (average()) seen.push_back(of_ones(right()));
    for (Edge zero : {Edge::none, Edge::both, Edge::rows, Edge::columns}) {
      for (PoolCount count : kCounts) {
        v.count = count;
        v.zero = zero;
        std::vector<float> weights = of_ones(v);
        if (std::find(seen.begin(), seen.end(), weights) != seen.end()) continue;
        seen.push_back(std::move(weights));
        f(v);
      }
    }
  }

  void consider_divisor() {
    for_each_divisor(PoolKind::average, [&](const Variant& v) {
      if (differs_only_at_overhang(v)) {
        consider({.cause = "avgpool_ceil_edge_row_zero",
                  .parameter = "last, partial windows (rounding_mode ceil)",
                  .used = v.zero != Edge::none ? "0 in the " + name_of(v.zero)
                                               : "divided by the number of " + name_of(v.count),
                  .meant = "divided by the number of " + name_of(node_.count)},
                 v);
      } else {
        consider({.cause = "avgpool_count_pad_wrong",
                  .parameter = "count_pad_for_edges",
                  .used = name_of(v.count) + (v.zero == Edge::none ? "" : "; 0 in the " + name_of(v.zero)),
                  .meant = name_of(node_.count)},
                 v);
      }
    });
  }

  /// A plane of ones pooled: how much of the right divisor each window has.
  std::vector<float> of_ones(const Variant& v) const {
    Tensor ones = Tensor::f32({1, 1, x_.dims()[2], x_.dims()[3]});
    std::fill(ones.f32().begin(), ones.f32().end(), 1.0F);
    const Tensor pooled = computed(ones, v, overhang_, {1, 1, node_.out[2], node_.out[3]}, false);
    return {pooled.f32().begin(), pooled.f32().end()};
  }

  bool differs_only_at_overhang(const Variant& v) const {
    const std::vector<float> meant = of_ones(right());
    const std::vector<float> used = of_ones(v);
    for (std::size_t i = 0; i < meant.size(); ++i) {
      if (meant[i] != used[i] && !overhang_.holds(static_cast<std::int64_t>(i))) return false;
    }
    return true;
  }

  void consider_padding() {
    const PoolGeometry& g = node_.geometry;
    const std::int64_t total_h = g.pad_top + node_.pad_bottom;
    const std::int64_t total_w = g.pad_left + node_.pad_right;
    std::set<std::pair<std::int64_t, std::int64_t>> tried{{g.pad_top, g.pad_left}};
    const auto split = [&](std::int64_t top, std::int64_t left, std::int64_t bottom, std::int64_t right) {
      if (!tried.insert({top, left}).second) return;
      Variant v = this->right();
      v.geometry.pad_top = top;
      v.geometry.pad_left = left;
      consider({.cause = "padding_side_wrong",
                .parameter = "pad_amount",
                .used = fmt::format("top {}, bottom {}, left {}, right {}", top, bottom, left, right),
                .meant = fmt::format("top {}, bottom {}, left {}, right {}", g.pad_top, node_.pad_bottom, g.pad_left,
                                     node_.pad_right)},
               v);
    };
    split(node_.pad_bottom, node_.pad_right, g.pad_top, g.pad_left);
    split(g.pad_left, g.pad_top, node_.pad_right, node_.pad_bottom);
    for (std::int64_t top : begins_of(total_h)) {
      for (std::int64_t left : begins_of(total_w)) split(top, left, total_h - top, total_w - left);
    }
  }

  void consider_stride() {
    const PoolGeometry& g = node_.geometry;
    std::set<std::pair<std::int64_t, std::int64_t>> tried{{g.stride_h, g.stride_w}};
    const auto stride = [&](std::int64_t h, std::int64_t w) {
      // The stride of an axis with one window changes nothing.
      if (node_.out[2] == 1) h = g.stride_h;
      if (node_.out[3] == 1) w = g.stride_w;
      if (!tried.insert({h, w}).second) return;
      Variant v = right();
      v.geometry.stride_h = h;
      v.geometry.stride_w = w;
      consider({.cause = "stride_wrong",
                .parameter = "stride",
                .used = fmt::format("{} x {}", h, w),
                .meant = fmt::format("{} x {}", g.stride_h, g.stride_w)},
               v);
    };
    stride(g.stride_w, g.stride_h);
    for (std::int64_t h : {g.stride_h, std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, g.kernel_h}) {
      for (std::int64_t w : {g.stride_w, std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, g.kernel_w}) stride(h, w);
    }
  }

  /// Windows that stick out hold values that nothing explains (what the buffer or the padding of the device's tiles
  /// held), and all others are right. libQnnHtp.so 2.51 also spoils their neighbours in the same tile of 8 x 4 or
  /// 8 x 8 outputs (seen with 2 x 2 windows on planes of more than one tile).
  void consider_unwritten() {
    const std::string used = "values unrelated to the input in ";
    int rank = 1;
    for (Edge edge : {Edge::rows, Edge::columns, Edge::both})
      consider_excluding(overhang_, edge, 0.5, used + "the " + name_of(edge), rank += edge == Edge::both ? 1 : 0);
    for (std::size_t columns : {4U, 8U}) {
      consider_excluding(overhang_.in_tiles(8, columns), Edge::both, 0.75,
                         fmt::format("{}tiles of 8 x {} outputs at the end", used, columns), ++rank);
    }
  }

  /// The claim is where the error lies: the elements in question are left out of the comparison, so they must be wrong
  /// in general and at most a share `most` of all. `rank` orders these claims behind those that give values.
  void consider_excluding(const Overhang& left_out, Edge edge, double most, std::string used, int rank) {
    std::vector<std::pair<std::size_t, float>> kept;
    std::size_t wrong = 0;
    const std::span<const float> device = evidence_.device.f32();
    for (std::size_t i = 0; i < device.size(); ++i) {
      if (!left_out.holds(static_cast<std::int64_t>(i), edge)) continue;
      kept.emplace_back(i, device[i]);
      const double reference = evidence_.reference.f32()[i];
      wrong += std::fabs(device[i] - reference) > kPlainlyWrong * std::fabs(reference) ? 1 : 0;
    }
    if (kept.empty() || static_cast<double>(kept.size()) > most * static_cast<double>(device.size()) ||
        2 * wrong < kept.size())
      return;
    const bool fits = screen_.may_fit([&](std::int64_t i) {
      return left_out.holds(i, edge) ? Estimate{device[static_cast<std::size_t>(i)], 0} : estimate(right(), i);
    });
    if (!fits) return;
    add({.cause = "avgpool_ceil_edge_row_zero",
         .parameter = "last, partial windows (rounding_mode ceil)",
         .used = std::move(used),
         .meant = "divided by the number of " + name_of(node_.count),
         .free_parameters = rank},
        right());
    Compute& compute = list_.back().compute;
    compute = [inner = std::move(compute), kept = std::move(kept)](const RunContext& run) {
      Result<StageResult> result = inner(run);
      if (!result) return result;
      for (const auto& [i, value] : kept) {
        if (i < static_cast<std::size_t>(result->value.size())) result->value.f32()[i] = value;
      }
      return result;
    };
  }

  Estimate estimate(const Variant& v, std::int64_t i) const {
    if (overhang_.holds(i, v.zero)) return {};
    const double value = pool_element(x_, v.kind, v.count, v.geometry, node_.out, i);
    if (v.kind == PoolKind::max) return {value, 0};
    return {value, pool_element(x_, PoolKind::average, v.count, v.geometry, node_.out, i, true)};
  }

  void consider(Hypothesis texts, const Variant& v) {
    if (screen_.may_fit([&](std::int64_t i) { return estimate(v, i); })) add(std::move(texts), v);
  }

  void add(Hypothesis texts, const Variant& v) {
    texts.file = kMnnFile;
    if (v.kind != node_.kind) texts.bound = average() ? "exact" : whole_plane() ? "GlobalAveragePool" : "PoolAvg2d";
    texts.compute = [v, overhang = overhang_, out = node_.out](const RunContext& run) -> Result<StageResult> {
      StageResult result{.value = computed(*run.inputs[0], v, overhang, out, false)};
      if (run.want_magnitude) result.magnitude = computed(*run.inputs[0], v, overhang, out, true);
      return result;
    };
    list_.push_back(std::move(texts));
  }

  const Evidence& evidence_;
  const Tensor& x_;
  Screen screen_;
  const PoolNode& node_;
  Overhang overhang_;
  std::vector<Hypothesis> list_;
};

}  // namespace

std::vector<Hypothesis> pooling_mistakes(const Evidence& evidence, const PoolNode& node) {
  const Tensor& x = *evidence.context.inputs[0];
  if (x.type() != DType::f32 || x.rank() != 4 || x.empty()) return {};
  return Mistakes(evidence, node).list();
}

}  // namespace qnndbg
