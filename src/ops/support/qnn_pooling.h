// QNN's 2-D pooling nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/support/qnn_movement.h"

namespace qnndbg {

/// The parameters of PoolAvg2d and PoolMax2d.
struct PoolWindow {
  bool average = false;
  std::int64_t filter_h = 1, filter_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;
  bool count_padding = false;  // average alone
  bool ceil = false;
};

inline std::string pool_type(const PoolWindow& window) { return window.average ? "PoolAvg2d" : "PoolMax2d"; }

inline std::vector<QnnParam> pool_params(const PoolWindow& w) {
  std::vector<QnnParam> params{u32_list("filter_size", {w.filter_h, w.filter_w}),
                               u32_list("stride", {w.stride_h, w.stride_w}),
                               u32_tensor("pad_amount", {2, 2}, {w.top, w.bottom, w.left, w.right})};
  if (w.average) params.push_back(flag("count_pad_for_edges", w.count_padding));
  params.push_back(u32_scalar("rounding_mode", w.ceil ? 1 : 0));
  return params;
}

inline QnnMapping pool_mapping(const QnnContext& context, const PoolWindow& window) {
  QnnBuilder builder(context);
  const QnnTensorRef x = context.as_mnn() ? QnnBuilder::input() : aligned_input(builder, context, 0);
  builder.node("", pool_type(window), {x}, QnnBuilder::output(), pool_params(window));
  return builder.take();
}

}  // namespace qnndbg
