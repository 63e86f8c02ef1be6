// Flatten: with endAxis 0 (ONNX) to two axes split at `axis`, otherwise axes axis..endAxis become one (Torch).
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"
#include "ops/support/qnn_movement.h"

namespace qnndbg {
namespace {

class Flatten final : public Op {
 public:
  Flatten(int axis, int end_axis) : axis_(axis), end_axis_(end_axis) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    const int rank = static_cast<int>(x->dims.size());
    const auto product = [&](int from, int to) {
      std::int64_t p = 1;
      for (int k = from; k < to; ++k) p *= x->dims[static_cast<std::size_t>(k)];
      return p;
    };
    if (end_axis_ == 0) {
      const int split = axis_ < 0 ? axis_ + rank : axis_;
      if (split < 0 || split > rank) return fail("axis {} is outside a tensor of rank {}", axis_, rank);
      return std::vector<TensorSpec>{{x->type, {product(0, split), product(split, rank)}}};
    }
    auto first = normalize_axis(axis_, rank);
    if (!first) return fail(first.error());
    auto last = normalize_axis(end_axis_, rank);
    if (!last) return fail(last.error());
    if (*last < *first) return fail("axes {} to {}", axis_, end_axis_);
    Dims out(x->dims.begin(), x->dims.begin() + *first);
    out.push_back(product(*first, *last + 1));
    out.insert(out.end(), x->dims.begin() + *last + 1, x->dims.end());
    return std::vector<TensorSpec>{{x->type, std::move(out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    return reshape_family_stages(context);
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override { return reshape_family_mapping(context); }

 private:
  int axis_;
  int end_axis_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Flatten* main = model.wire_op(node.index).main_as_Flatten();
  if (main == nullptr) return fail("its Flatten parameters are missing");
  return std::make_unique<Flatten>(main->axis(), main->endAxis());
}

const RegisterOp kRegister{"Flatten", make};

}  // namespace
}  // namespace qnndbg
