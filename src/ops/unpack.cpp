// Unpack: one output per position of an axis, without that axis.
#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"
#include "ops/support/slice_kernel.h"

namespace qnndbg {
namespace {

class Unpack final : public Op {
 public:
  Unpack(int axis, std::size_t outputs) : axis_(axis), outputs_(outputs) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 1);
    if (!x) return fail(x.error());
    auto axis = normalize_axis(axis_, static_cast<int>(x->dims.size()));
    if (!axis) return fail(axis.error());
    const std::int64_t extent = x->dims[static_cast<std::size_t>(*axis)];
    if (extent != static_cast<std::int64_t>(outputs_))
      return fail("{} outputs for axis {} of {}", outputs_, axis_, to_string(x->dims));
    x->dims.erase(x->dims.begin() + *axis);
    return std::vector<TensorSpec>(outputs_, *x);
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const Dims& in = context.inputs[0].spec.dims;
    const int axis = *normalize_axis(axis_, static_cast<int>(in.size()));
    std::vector<SliceAxis> window;
    for (std::int64_t extent : in) window.push_back({0, 1, extent});
    std::vector<Stage> stages;
    for (std::size_t k = 0; k < context.outputs.size(); ++k) {
      window[static_cast<std::size_t>(axis)] = {static_cast<std::int64_t>(k), 1, 1};
      stages.push_back(
          {.output = static_cast<int>(k),
           .qnn_type = "UnPack",
           .inputs = {0},
           .bound = "exact",
           .compute = [window, out = context.outputs[k].spec.dims](const RunContext& run) -> Result<StageResult> {
             StageResult result{.value = slice(*run.inputs[0], window)};
             result.value.reshape(out);
             return result;
           },
           .hypotheses = [in, out = context.outputs[k].spec.dims, axis,
                          k](const Evidence&) { return mistakes(in, out, axis, static_cast<std::int64_t>(k)); }});
    }
    return stages;
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const int axis = *normalize_axis(axis_, static_cast<int>(context.inputs[0].spec.dims.size()));
    if (context.outputs.empty()) return refuse(QnnRefusal::Kind::not_mapped, "no outputs");
    if (context.as_mnn()) {
      // The axis of the input is moved by the rank and order of the outputs.
      const Operand& out = context.outputs[0];
      return single_node(context, "UnPack",
                         {u32_scalar("axis", device_axis(axis, static_cast<int>(out.spec.dims.size()), out.layout))});
    }
    QnnBuilder builder(context);
    QnnNode node{.type = "UnPack", .inputs = {builder.logical_input(0)}, .params = {u32_scalar("axis", axis)}};
    std::vector<QnnTensorRef> parts;
    for (int k = 0; k < static_cast<int>(context.outputs.size()); ++k) parts.push_back(builder.logical_target(k));
    node.outputs = parts;
    builder.add(std::move(node));
    for (int k = 0; k < static_cast<int>(parts.size()); ++k)
      builder.finish_logical(k, parts[static_cast<std::size_t>(k)]);
    return builder.take();
  }

 private:
  /// Another position of the axis, or a position of another axis of the same extent.
  static std::vector<Hypothesis> mistakes(const Dims& in, const Dims& out, int axis, std::int64_t part) {
    std::vector<Hypothesis> list;
    const std::int64_t extent = in[static_cast<std::size_t>(axis)];
    for (int other = 0; other < static_cast<int>(in.size()); ++other) {
      if (in[static_cast<std::size_t>(other)] != extent) continue;
      for (std::int64_t k = 0; k < extent; ++k) {
        if (other == axis ? k == part : k != part) continue;
        std::vector<SliceAxis> window;
        for (std::int64_t e : in) window.push_back({0, 1, e});
        window[static_cast<std::size_t>(other)] = {k, 1, 1};
        list.push_back({.cause = "slice_begin_wrong",
                        .parameter = other == axis ? "part" : "axis",
                        .used = fmt::format("{}", other == axis ? k : other),
                        .meant = fmt::format("{}", other == axis ? part : axis),
                        .file = "source/backend/qnn/execution/QNNConcat.cpp",
                        .compute = [window, out](const RunContext& run) -> Result<StageResult> {
                          StageResult result{.value = slice(*run.inputs[0], window)};
                          result.value.reshape(out);
                          return result;
                        }});
      }
    }
    return list;
  }

  int axis_;
  std::size_t outputs_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Axis* main = model.wire_op(node.index).main_as_Axis();
  if (main == nullptr) return fail("its Axis parameter is missing");
  return std::make_unique<Unpack>(main->axis(), node.outputs.size());
}

const RegisterOp kRegister{"Unpack", make};

}  // namespace
}  // namespace qnndbg
