// Reshape: 0 copies the input's extent at that position, -1 is what remains. Elements keep their logical order.
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"
#include "ops/support/qnn_movement.h"

namespace qnndbg {
namespace {

Result<Dims> resolve(const Dims& in, std::span<const std::int64_t> wanted, bool zero_copies) {
  Dims out;
  int open = -1;
  std::int64_t known = 1;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    std::int64_t extent = wanted[k];
    if (extent == 0 && zero_copies) {
      if (k >= in.size()) return fail("extent {} is to be copied from {}, which has no such axis", k, to_string(in));
      extent = in[k];
    }
    if (extent < -1) return fail("extent {} in a shape", extent);
    if (extent == -1) {
      if (open >= 0) return fail("two open extents in one shape");
      open = static_cast<int>(k);
      extent = 1;
    }
    out.push_back(extent);
    auto count = check_dims(out);
    if (!count) return fail(count.error());
    known = *count;
  }
  const std::int64_t total = element_count(in);
  if (open >= 0) {
    if (known == 0 || total % known != 0) return fail("{} elements do not divide into {}", total, to_string(out));
    out[static_cast<std::size_t>(open)] = total / known;
  } else if (known != total) {
    return fail("{} cannot become {}", to_string(in), to_string(out));
  }
  return out;
}

class Reshape final : public Op {
 public:
  Reshape(std::vector<std::int64_t> dims, bool zero_copies) : dims_(std::move(dims)), zero_copies_(zero_copies) {}

  bool is_parameter(int input) const override { return input == 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    std::vector<std::int64_t> wanted = dims_;
    if (has_operand(inputs, 1)) {
      auto given = host_integers(inputs, 1, "shape");
      if (!given) return fail(given.error());
      wanted = std::move(*given);
    }
    auto out = resolve(x->dims, wanted, zero_copies_);
    if (!out) return fail(out.error());
    return std::vector<TensorSpec>{{x->type, std::move(*out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    return reshape_family_stages(context);
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override { return reshape_family_mapping(context); }

 private:
  std::vector<std::int64_t> dims_;
  bool zero_copies_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Reshape* main = model.wire_op(node.index).main_as_Reshape();
  std::vector<std::int64_t> dims = main == nullptr ? std::vector<std::int64_t>{} : ints_of(main->dims());
  return std::make_unique<Reshape>(std::move(dims), model.graph().source != "TENSORFLOW");
}

const RegisterOp kRegister{"Reshape", make};

}  // namespace
}  // namespace qnndbg
