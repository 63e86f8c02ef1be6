// Operators along one axis (Softmax, LayerNorm, one-axis Reduction): QNN works on the last axis, so the backend swaps
// the axis with the last one before and back after.
#pragma once

#include <numeric>
#include <vector>

#include "ops/support/data_movement.h"

namespace qnndbg {

/// The permutation that swaps `axis` with the last one; its own inverse.
inline std::vector<int> swap_with_last(int axis, int rank) {
  std::vector<int> permutation(static_cast<std::size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[static_cast<std::size_t>(axis)], permutation.back());
  return permutation;
}

/// A Transpose stage: logical dims permuted. The stage keeps logical order on the device.
inline Stage transpose_stage(std::string name, std::string node_suffix, int from, std::vector<int> permutation) {
  return {.name = std::move(name),
          .node_suffix = std::move(node_suffix),
          .qnn_type = "Transpose",
          .inputs = {from},
          .bound = "exact",
          .compute = [permutation = std::move(permutation)](const RunContext& run) -> Result<StageResult> {
            return StageResult{.value = permute(*run.inputs[0], permutation)};
          }};
}

/// The same for the swap of `axis` with the last one, with its mistake: another axis swapped, `cause`.
inline Stage swap_stage(std::string name, std::string node_suffix, int from, int axis, int rank, std::string cause,
                        std::string file) {
  Stage stage = transpose_stage(std::move(name), std::move(node_suffix), from, swap_with_last(axis, rank));
  stage.hypotheses = [axis, rank, cause = std::move(cause), file = std::move(file)](const Evidence& evidence) {
    std::vector<Hypothesis> list;
    for (int other = 0; other < rank; ++other) {
      if (other == axis) continue;
      list.push_back({.cause = cause,
                      .parameter = "axis",
                      .used = fmt::format("{}", other),
                      .meant = fmt::format("{}", axis),
                      .file = file,
                      .compute = [permutation = swap_with_last(other, rank),
                                  dims = evidence.device.dims()](const RunContext& run) -> Result<StageResult> {
                        StageResult result{.value = permute(*run.inputs[0], permutation)};
                        result.value.reshape(dims);  // the node's output keeps its declared dims
                        return result;
                      }});
    }
    return list;
  };
  return stage;
}

/// How an axis lies in memory: outer x extent x inner.
struct AxisView {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
};

inline AxisView view_axis(const Dims& dims, int axis) {
  AxisView v;
  for (int k = 0; k < static_cast<int>(dims.size()); ++k) {
    const std::int64_t d = dims[static_cast<std::size_t>(k)];
    (k < axis ? v.outer : k == axis ? v.extent : v.inner) *= d;
  }
  return v;
}

}  // namespace qnndbg
