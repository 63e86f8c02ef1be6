// Slice (split): cuts one axis into parts, one output each.
#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"
#include "ops/support/movement_mistakes.h"
#include "ops/support/slice_kernel.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNStridedSlice.cpp";

class Slice final : public Op {
 public:
  Slice(int axis, std::vector<std::int64_t> points, wire::Source source, std::size_t outputs)
      : axis_(axis), points_(std::move(points)), source_(source), outputs_(outputs) {}

  bool is_parameter(int input) const override { return input == 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 1);
    if (!x) return fail(x.error());
    auto axis = normalize_axis(axis_, static_cast<int>(x->dims.size()));
    if (!axis) return fail(axis.error());
    auto sizes = part_sizes(inputs, x->dims[static_cast<std::size_t>(*axis)]);
    if (!sizes) return fail(sizes.error());
    std::vector<TensorSpec> specs;
    for (std::int64_t size : *sizes) {
      specs.push_back(*x);
      specs.back().dims[static_cast<std::size_t>(*axis)] = size;
    }
    return specs;
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const Dims& in = context.inputs[0].spec.dims;
    const auto axis = static_cast<std::size_t>(*normalize_axis(axis_, static_cast<int>(in.size())));
    std::vector<Stage> stages;
    std::int64_t at = 0;
    for (std::size_t k = 0; k < context.outputs.size(); ++k) {
      std::vector<SliceAxis> window;
      for (std::int64_t extent : in) window.push_back({0, 1, extent});
      const std::int64_t size = context.outputs[k].spec.dims[axis];
      window[axis] = {at, 1, size};
      at += size;
      stages.push_back(
          {.output = static_cast<int>(k),
           .node_suffix = "_part" + std::to_string(k),
           .qnn_type = "StridedSlice",
           .inputs = {0},
           .bound = "exact",
           .compute = [window](const RunContext& run) -> Result<StageResult> {
             return StageResult{.value = slice(*run.inputs[0], window)};
           },
           .hypotheses =
               [window, from = place_of(context.inputs[0]), to = place_of(context.outputs[k])](
                   const Evidence& evidence) { return slice_mistakes(evidence, from, to, window, kMnnFile); }});
    }
    return stages;
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const Operand& x = context.inputs[0];
    const int rank = static_cast<int>(x.spec.dims.size());
    const int axis = *normalize_axis(axis_, rank);
    if (context.as_mnn() && points_.size() == 1 && outputs_ == 1)
      return refuse(QnnRefusal::Kind::crash, "one slice point and one output: the backend takes the point for a count");
    const Dims in = context.in_dims(0);
    const auto along = static_cast<std::size_t>(device_axis(axis, rank, x.layout));
    QnnBuilder builder(context);
    std::int64_t at = 0;
    for (std::size_t k = 0; k < context.outputs.size(); ++k) {
      const std::int64_t size = context.outputs[k].spec.dims[static_cast<std::size_t>(axis)];
      std::vector<std::int64_t> ranges;
      for (std::size_t d = 0; d < in.size(); ++d) {
        const bool cut = d == along;
        ranges.insert(ranges.end(), {cut ? at : 0, cut ? at + size : in[d], 1});
      }
      at += size;
      const std::string part = std::to_string(k);
      builder.node("_part" + part, "StridedSlice", {QnnBuilder::input()}, QnnBuilder::output(static_cast<int>(k)),
                   {i32_tensor("ranges", {rank, 3}, std::move(ranges), part)});
    }
    return builder.take();
  }

 private:
  /// Lengths of the parts along an axis of `extent`; one open length (-1) takes the rest.
  Result<std::vector<std::int64_t>> part_sizes(std::span<const Operand> inputs, std::int64_t extent) const {
    std::vector<std::int64_t> sizes = points_;
    if (has_operand(inputs, 1)) {
      auto given = host_integers(inputs, 1, "sizes");
      if (!given) return fail(given.error());
      sizes = std::move(*given);
    } else if (source_ == wire::Source_CAFFE) {
      // Cut positions; the last part is the rest.
      std::int64_t before = 0;
      for (std::int64_t& point : sizes) {
        const std::int64_t length = point - before;
        before = point;
        point = length;
      }
      sizes.push_back(extent - before);
    } else if (sizes.size() == 1 && source_ == wire::Source_TENSORFLOW && sizes[0] > 0) {
      if (extent % sizes[0] != 0) return fail("{} equal parts of an axis of {}", sizes[0], extent);
      sizes.assign(static_cast<std::size_t>(std::min<std::int64_t>(sizes[0], static_cast<std::int64_t>(outputs_))),
                   extent / sizes[0]);
    } else if (sizes.size() == 1 && sizes[0] > 0) {
      sizes.assign(outputs_, sizes[0]);
      if (outputs_ > 0) sizes.back() = extent - static_cast<std::int64_t>(outputs_ - 1) * sizes[0];
    } else if (sizes.empty()) {
      if (outputs_ == 0 || extent % static_cast<std::int64_t>(outputs_) != 0)
        return fail("{} equal parts of an axis of {}", outputs_, extent);
      sizes.assign(outputs_, extent / static_cast<std::int64_t>(outputs_));
    }
    if (sizes.size() != outputs_) return fail("{} part sizes for {} outputs", sizes.size(), outputs_);
    std::int64_t known = 0;
    std::int64_t* open = nullptr;
    for (std::int64_t& size : sizes) {
      if (size == -1 && open == nullptr) {
        open = &size;
      } else if (size < 0 || size > extent) {
        return fail("a part of {} on an axis of {}", size, extent);
      } else {
        known += size;
      }
    }
    if (open != nullptr) *open = extent - known;
    if (known > extent || (open == nullptr && known != extent))
      return fail("the parts add up to {}, the axis has {}", known, extent);
    return sizes;
  }

  int axis_;
  std::vector<std::int64_t> points_;
  wire::Source source_;
  std::size_t outputs_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Slice* main = model.wire_op(node.index).main_as_Slice();
  if (main == nullptr) return fail("its Slice parameters are missing");
  return std::make_unique<Slice>(main->axis(), ints_of(main->slicePoints()), main->sourceType(), node.outputs.size());
}

const RegisterOp kRegister{"Slice", make};

}  // namespace
}  // namespace qnndbg
