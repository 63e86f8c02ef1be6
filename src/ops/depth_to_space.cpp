// DepthToSpace and SpaceToDepth: blocks of b x b pixels against runs of channels, as in ONNX.
#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"

namespace qnndbg {
namespace {

// Its square still counts channels of a tensor.
constexpr std::int64_t kMaxBlock = 1 << 15;

/// x under dims `split`, its axes permuted, and the result under the output's dims.
Stage regroup_stage(std::string qnn_type, Dims split, std::vector<int> permutation, const Dims& out) {
  return {.qnn_type = std::move(qnn_type),
          .inputs = {0},
          .bound = "exact",
          .compute = [split = std::move(split), permutation = std::move(permutation),
                      out](const RunContext& run) -> Result<StageResult> {
            StageResult result{.value = permute(reshaped(*run.inputs[0], split), permutation)};
            result.value.reshape(out);
            return result;
          }};
}

Result<TensorSpec> image_operand(std::span<const Operand> inputs) {
  auto x = require_operand(inputs, 0, 4);
  if (!x) return fail(x.error());
  if (x->dims.size() != 4) return fail("input of rank {}, blocks of pixels need rank 4", x->dims.size());
  return x;
}

/// QNN's nodes work on channel-last images.
QnnMapping regroup_mapping(const QnnContext& context, std::string type, std::int64_t block, bool column_row_depth) {
  QnnBuilder builder(context);
  const Operand& x = context.inputs[0];
  const Operand& y = context.outputs[0];
  QnnTensorRef from = QnnBuilder::input();
  QnnTensorRef to = QnnBuilder::output();
  if (!QnnBuilder::is_reordered(x)) {
    from = builder.transpose("_to_channel_last", from,
                             builder.stage("channel_last", to_device_dims(x.spec.dims, Layout::channel_last),
                                           context.input_types[0], Layout::channel_last),
                             to_channel_last_permutation(4), "to_channel_last");
    to = builder.stage("regrouped", to_device_dims(y.spec.dims, Layout::channel_last), context.output_types[0],
                       Layout::channel_last);
  }
  builder.node("", std::move(type), {from}, to,
               {u32_list("block_size", {block, block}), u32_scalar("mode", column_row_depth ? 1 : 0)});
  if (!QnnBuilder::is_reordered(y))
    builder.transpose("_from_channel_last", to, QnnBuilder::output(), to_logical_permutation(4), "from_channel_last");
  return builder.take();
}

class DepthToSpace final : public Op {
 public:
  DepthToSpace(std::int64_t block, bool column_row_depth) : block_(block), column_row_depth_(column_row_depth) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = image_operand(inputs);
    if (!x) return fail(x.error());
    Dims& d = x->dims;
    if (d[1] % (block_ * block_) != 0)
      return fail("{} channels do not divide into blocks of {}x{}", d[1], block_, block_);
    d = {d[0], d[1] / (block_ * block_), d[2] * block_, d[3] * block_};
    auto count = check_dims(d);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{std::move(*x)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const Dims& in = context.inputs[0].spec.dims;
    const Dims& out = context.outputs[0].spec.dims;
    // DCR: the block's row and column are the slow part of the channel; CRD: the fast one.
    if (column_row_depth_) {
      return std::vector<Stage>{
          regroup_stage("DepthToSpace", {in[0], out[1], block_, block_, in[2], in[3]}, {0, 1, 4, 2, 5, 3}, out)};
    }
    return std::vector<Stage>{
        regroup_stage("DepthToSpace", {in[0], block_, block_, out[1], in[2], in[3]}, {0, 3, 4, 1, 5, 2}, out)};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (context.as_mnn()) return Op::qnn_mapping(context);
    return regroup_mapping(context, "DepthToSpace", block_, column_row_depth_);
  }

 private:
  std::int64_t block_;
  bool column_row_depth_;
};

class SpaceToDepth final : public Op {
 public:
  explicit SpaceToDepth(std::int64_t block) : block_(block) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = image_operand(inputs);
    if (!x) return fail(x.error());
    Dims& d = x->dims;
    if (d[2] % block_ != 0 || d[3] % block_ != 0)
      return fail("{}x{} pixels do not divide into blocks of {}x{}", d[2], d[3], block_, block_);
    d = {d[0], d[1] * block_ * block_, d[2] / block_, d[3] / block_};
    auto count = check_dims(d);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{std::move(*x)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const Dims& in = context.inputs[0].spec.dims;
    const Dims& out = context.outputs[0].spec.dims;
    return std::vector<Stage>{
        regroup_stage("SpaceToDepth", {in[0], in[1], out[2], block_, out[3], block_}, {0, 3, 5, 1, 2, 4}, out)};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (context.as_mnn()) return Op::qnn_mapping(context);
    return regroup_mapping(context, "SpaceToDepth", block_, false);
  }

 private:
  std::int64_t block_;
};

Result<const wire::DepthSpaceParam*> parameters_of(const Model& model, const OpNode& node) {
  const wire::DepthSpaceParam* main = model.wire_op(node.index).main_as_DepthSpaceParam();
  if (main == nullptr) return fail("its DepthSpaceParam parameters are missing");
  if (main->blockSize() < 1 || main->blockSize() > kMaxBlock) return fail("blocks of {} pixels", main->blockSize());
  return main;
}

Result<std::unique_ptr<Op>> make_depth_to_space(const Model& model, const OpNode& node) {
  auto main = parameters_of(model, node);
  if (!main) return fail(main.error());
  return std::make_unique<DepthToSpace>((*main)->blockSize(), (*main)->mode() == wire::D2SMode_CRD);
}

Result<std::unique_ptr<Op>> make_space_to_depth(const Model& model, const OpNode& node) {
  auto main = parameters_of(model, node);
  if (!main) return fail(main.error());
  return std::make_unique<SpaceToDepth>((*main)->blockSize());
}

const RegisterOp kDepthToSpace{"DepthToSpace", make_depth_to_space};
const RegisterOp kSpaceToDepth{"SpaceToDepth", make_space_to_depth};

}  // namespace
}  // namespace qnndbg
