#include "ops/support/qnn_movement.h"

#include <algorithm>

#include "ops/support/data_movement.h"

namespace qnndbg {
namespace {

/// True when device and model keep the elements in one order: no channel axis to move, or nothing to move it past.
bool same_order(const Operand& operand) {
  if (!QnnBuilder::is_reordered(operand)) return true;
  const Dims& dims = operand.spec.dims;
  return dims[1] == 1 || element_count({dims.begin() + 2, dims.end()}) == 1;
}

/// True when only the spatial axes are regrouped, which channel-last data shows as plainly as the model's.
bool keeps_batch_and_channels(const Operand& x, const Operand& y) {
  return QnnBuilder::is_reordered(x) && QnnBuilder::is_reordered(y) && x.spec.dims[0] == y.spec.dims[0] &&
         x.spec.dims[1] == y.spec.dims[1];
}

Dims padded_to(const Dims& dims, std::size_t rank) {
  Dims padded(rank, 1);
  std::copy(dims.begin(), dims.end(), padded.end() - static_cast<std::ptrdiff_t>(dims.size()));
  return padded;
}

/// A host value under the output's rank, order and kind of number.
QnnConstant aligned_constant(const QnnContext& context, int k, const Tensor& value) {
  const Operand& out = context.outputs[0];
  const Dims dims = padded_to(value.dims(), std::max(out.spec.dims.size(), value.dims().size()));
  const Layout layout = QnnBuilder::is_reordered(out) ? out.layout : Layout::logical;
  const bool floats = value.type() == DType::f32;
  return {.name = fmt::format("operand_{}", k),
          .dims = device_dims(dims, layout),
          .type = {floats ? context.float_type : DType::i32, {}},
          .data = [&value, dims, layout, type = context.float_type,
                   rounding = context.rounding]() -> Result<std::vector<std::byte>> {
            return host_value_bytes(reshaped(value, dims), layout, type, rounding);
          }};
}

}  // namespace

QnnMapping transpose_mapping(const QnnContext& context, const std::vector<int>& permutation,
                             const std::vector<std::int64_t>& as_stored) {
  if (context.as_mnn()) return single_node(context, "Transpose", {u32_list("perm", as_stored)});
  QnnBuilder builder(context);
  builder.transpose("", QnnBuilder::input(), QnnBuilder::output(),
                    device_permutation(permutation, context.inputs[0].layout, context.outputs[0].layout));
  return builder.take();
}

QnnMapping reshape_family_mapping(const QnnContext& context) {
  const Operand& x = context.inputs[0];
  const Operand& y = context.outputs[0];
  const bool plain = context.as_mnn()
                         ? !QnnBuilder::is_reordered(x) || context.in_dims(0).back() == context.out_dims(0).back()
                         : keeps_batch_and_channels(x, y) || (same_order(x) && same_order(y));
  if (plain) return single_node(context, "Reshape", {}, 1, "_Reshape");
  const int in_rank = static_cast<int>(x.spec.dims.size());
  const int out_rank = static_cast<int>(y.spec.dims.size());
  // MNN takes the output for channel-last wherever it brings the input to the model's order.
  const bool reorder_in = QnnBuilder::is_reordered(x);
  const bool reorder_out = context.as_mnn() ? out_rank > 2 : QnnBuilder::is_reordered(y);
  QnnBuilder builder(context);
  QnnTensorRef from = QnnBuilder::input();
  if (reorder_in) {
    from =
        builder.transpose("_input_transpose", from, builder.stage("permute_input", x.spec.dims, context.input_types[0]),
                          to_logical_permutation(in_rank), "_input_transpose");
  }
  if (!reorder_out) {
    builder.reshape("", from, QnnBuilder::output());
    return builder.take();
  }
  const QnnTensorRef reshaped_data = builder.reshape(
      "", from, builder.stage("permute_output", device_dims(y.spec.dims, Layout::logical), context.output_types[0]));
  builder.transpose("_output_transpose", reshaped_data, QnnBuilder::output(), to_channel_last_permutation(out_rank),
                    "_output_transpose");
  return builder.take();
}

QnnTensorRef aligned_input(QnnBuilder& builder, const QnnContext& context, int k) {
  const auto at = static_cast<std::size_t>(k);
  const Operand& operand = context.inputs[at];
  const Operand& out = context.outputs[0];
  const std::size_t rank = out.spec.dims.size();
  if (operand.host != nullptr && !is_quantized(context.input_types[at].type))
    return builder.constant(aligned_constant(context, k, *operand.host));
  const bool same_rank = operand.spec.dims.size() == rank;
  if (same_rank && QnnBuilder::is_reordered(operand) == QnnBuilder::is_reordered(out)) return QnnBuilder::input(k);
  QnnTensorRef aligned = builder.logical_input(k);
  const QnnType& type = context.input_types[at];
  const Dims padded = padded_to(operand.spec.dims, rank);
  if (!same_rank) {
    aligned = builder.reshape(fmt::format("_reshape_{}", k), aligned,
                              builder.stage(fmt::format("reshape_{}", k), device_dims(padded, Layout::logical), type));
  }
  if (!QnnBuilder::is_reordered(out)) return aligned;
  const std::string suffix = fmt::format("_align_{}", k);
  return builder.transpose(suffix, aligned,
                           builder.stage(fmt::format("aligned_{}", k), device_dims(padded, Layout::channel_last), type,
                                         Layout::channel_last),
                           to_channel_last_permutation(static_cast<int>(rank)), suffix);
}

}  // namespace qnndbg
