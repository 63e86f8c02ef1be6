#include "ops/support/data_movement.h"

#include <algorithm>

#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"
#include "ops/support/movement_mistakes.h"

namespace qnndbg {
namespace {

constexpr const char* kReshapeFile = "source/backend/qnn/execution/QNNReshape.cpp";

template <class T>
void copy_strided(std::span<const T> in, const Dims& out_dims, const Dims& strides, std::span<T> out) {
  const int rank = static_cast<int>(out_dims.size());
  if (out.empty()) return;
  if (rank == 0) {
    out[0] = in[0];
    return;
  }
  const std::int64_t inner = out_dims[static_cast<std::size_t>(rank - 1)];
  const std::int64_t inner_stride = strides[static_cast<std::size_t>(rank - 1)];
  std::vector<std::int64_t> index(static_cast<std::size_t>(rank), 0);
  std::int64_t base = 0;
  for (std::size_t at = 0; at < out.size(); at += static_cast<std::size_t>(inner)) {
    for (std::int64_t i = 0; i < inner; ++i)
      out[at + static_cast<std::size_t>(i)] = in[static_cast<std::size_t>(base + i * inner_stride)];
    for (int axis = rank - 2; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      base += strides[a];
      if (++index[a] < out_dims[a]) break;
      base -= strides[a] * out_dims[a];
      index[a] = 0;
    }
  }
}

}  // namespace

Tensor strided_copy(const Tensor& in, Dims dims, const Dims& strides) {
  Tensor out(in.type(), std::move(dims));
  with_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    copy_strided<T>(from, out.dims(), strides, to);
  });
  return out;
}

Tensor stack(std::span<const Tensor* const> parts, Dims dims, int axis) {
  const AxisView view = view_axis(dims, axis);
  Tensor out(parts[0]->type(), std::move(dims));
  for (std::size_t k = 0; k < parts.size(); ++k) {
    with_elements(*parts[k], out, [&]<class T>(std::span<const T> from, std::span<T> to) {
      for (std::int64_t o = 0; o < view.outer; ++o) {
        std::copy_n(from.begin() + o * view.inner, view.inner,
                    to.begin() + (o * view.extent + static_cast<std::int64_t>(k)) * view.inner);
      }
    });
  }
  return out;
}

Tensor permute(const Tensor& in, const std::vector<int>& permutation) {
  const Dims in_strides = strides_of(in.dims());
  Dims dims;
  Dims strides;
  for (int axis : permutation) {
    dims.push_back(in.dims()[static_cast<std::size_t>(axis)]);
    strides.push_back(in_strides[static_cast<std::size_t>(axis)]);
  }
  return strided_copy(in, std::move(dims), strides);
}

Tensor reshaped(const Tensor& in, Dims dims) {
  Tensor out = in.clone();
  out.reshape(std::move(dims));
  return out;
}

Stage reshape_stage(std::string qnn_type, const Dims& output_dims) {
  return {.qnn_type = std::move(qnn_type),
          .inputs = {0},
          .bound = "exact",
          .compute = [output_dims](const RunContext& run) -> Result<StageResult> {
            if (run.inputs[0]->size() != element_count(output_dims)) {
              return fail("{} elements cannot become {}", run.inputs[0]->size(), to_string(output_dims));
            }
            return StageResult{.value = reshaped(*run.inputs[0], output_dims)};
          }};
}

std::vector<Stage> reshape_family_stages(const LowerContext& context) {
  const Dims& in = context.inputs[0].spec.dims;
  const Dims& out = context.outputs[0].spec.dims;
  const auto flatten = [in, out](const Evidence& evidence) {
    return flatten_mistakes(evidence, in, out, kReshapeFile);
  };
  std::vector<Stage> stages;
  int from = 0;
  // Both helper tensors hold the data in logical order, so for the reference they are copies.
  if (context.dumped("permute_input")) {
    Stage stage = reshape_stage("Transpose", in);
    stage.name = "permute_input";
    stage.node_suffix = "_input_transpose";
    stage.hypotheses = layout_exchange_mistakes(place_of(context.inputs[0]), {in, Layout::logical}, kReshapeFile);
    stages.push_back(std::move(stage));
    from = -1;
  }
  if (context.dumped("permute_output")) {
    Stage stage = reshape_stage("Reshape", out);
    stage.name = "permute_output";
    stage.inputs = {from};
    stage.hypotheses = flatten;
    stages.push_back(std::move(stage));
    from = -static_cast<int>(stages.size());
  }
  Stage last = reshape_stage(context.dumped("permute_output") ? "Transpose" : "Reshape", out);
  last.node_suffix = context.dumped("permute_output") ? "_output_transpose" : stages.empty() ? "_Reshape" : "";
  last.inputs = {from};
  if (context.dumped("permute_output")) {
    last.hypotheses = layout_exchange_mistakes({out, Layout::logical}, place_of(context.outputs[0]), kReshapeFile);
  } else {
    last.hypotheses = flatten;
  }
  stages.push_back(std::move(last));
  return stages;
}

Result<std::vector<int>> check_permutation(const std::vector<std::int64_t>& permutation, int rank) {
  if (static_cast<int>(permutation.size()) != rank) {
    return fail("a permutation of {} axes for a tensor of rank {}", permutation.size(), rank);
  }
  std::vector<bool> seen(static_cast<std::size_t>(rank), false);
  std::vector<int> out;
  for (std::int64_t axis : permutation) {
    auto normal = normalize_axis(axis, rank);
    if (!normal) return fail(normal.error());
    if (seen[static_cast<std::size_t>(*normal)]) return fail("axis {} stands twice in the permutation", axis);
    seen[static_cast<std::size_t>(*normal)] = true;
    out.push_back(*normal);
  }
  return out;
}

}  // namespace qnndbg
