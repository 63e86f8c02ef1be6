// SliceTf: data, begin, size; a size of -1 takes the rest of the axis.
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"
#include "ops/support/slice_kernel.h"

namespace qnndbg {
namespace {

class SliceTf final : public Op {
 public:
  bool is_parameter(int input) const override { return input >= 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto axes = plan(inputs);
    if (!axes) return fail(axes.error());
    Dims out;
    for (const SliceAxis& axis : *axes) out.push_back(axis.size);
    return std::vector<TensorSpec>{{inputs[0].spec.type, std::move(out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    auto axes = plan(context.inputs);
    if (!axes) return fail(axes.error());
    return std::vector<Stage>{{.qnn_type = "StridedSlice",
                               .inputs = {0},
                               .bound = "exact",
                               .compute = [axes_ = std::move(*axes)](const RunContext& run) -> Result<StageResult> {
                                 return StageResult{.value = slice(*run.inputs[0], axes_)};
                               }}};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (context.as_mnn()) return Op::qnn_mapping(context);
    auto axes = plan(context.inputs);
    if (!axes) return not_mapped(axes.error());
    const int rank = static_cast<int>(axes->size());
    std::vector<std::int64_t> ranges(3 * axes->size());
    for (int axis = 0; axis < rank; ++axis) {
      const SliceAxis& cut = (*axes)[static_cast<std::size_t>(axis)];
      if (cut.size == 0) return refuse(QnnRefusal::Kind::not_mapped, "an empty slice");
      const auto at = 3 * static_cast<std::size_t>(device_axis(axis, rank, context.inputs[0].layout));
      ranges[at] = cut.begin;
      ranges[at + 1] = cut.begin + cut.size;
      ranges[at + 2] = 1;
    }
    return single_node(context, "StridedSlice", {i32_tensor("ranges", {rank, 3}, std::move(ranges))});
  }

 private:
  static Result<std::vector<SliceAxis>> plan(std::span<const Operand> inputs) {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    auto begin = host_integers(inputs, 1, "begin");
    if (!begin) return fail(begin.error());
    auto size = host_integers(inputs, 2, "size");
    if (!size) return fail(size.error());
    if (begin->size() != x->dims.size() || size->size() != x->dims.size()) {
      return fail("{} begins and {} sizes for a tensor of rank {}", begin->size(), size->size(), x->dims.size());
    }
    std::vector<SliceAxis> axes;
    for (std::size_t k = 0; k < x->dims.size(); ++k) {
      const std::int64_t extent = (*size)[k] == -1 ? x->dims[k] - (*begin)[k] : (*size)[k];
      if ((*begin)[k] < 0 || extent < 0 || (*begin)[k] > x->dims[k] || extent > x->dims[k] - (*begin)[k]) {
        return fail("positions {} to {} on an axis of {}", (*begin)[k], (*begin)[k] + extent, x->dims[k]);
      }
      axes.push_back({(*begin)[k], 1, extent});
    }
    return axes;
  }
};

Result<std::unique_ptr<Op>> make(const Model&, const OpNode&) { return std::make_unique<SliceTf>(); }

const RegisterOp kRegister{"SliceTf", make};

}  // namespace
}  // namespace qnndbg
