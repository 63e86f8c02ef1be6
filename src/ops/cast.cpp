// Cast between float and int32; MNN keeps BOOL and INT64 as int32 and DOUBLE as float.
#include <algorithm>
#include <cmath>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"

namespace qnndbg {
namespace {

std::int32_t truncate(float value) {
  if (std::isnan(value)) return 0;
  return static_cast<std::int32_t>(std::clamp(static_cast<double>(std::trunc(value)), -2147483648.0, 2147483647.0));
}

class Cast final : public Op {
 public:
  Cast(DType target, bool to_bool) : target_(target), to_bool_(to_bool) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    return std::vector<TensorSpec>{{target_, std::move(x->dims)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext&) const override {
    return std::vector<Stage>{
        {.qnn_type = "Cast",
         .inputs = {0},
         .bound = "exact",
         .compute = [target = target_, to_bool = to_bool_](const RunContext& run) -> Result<StageResult> {
           const Tensor& x = *run.inputs[0];
           if (x.type() == target && !to_bool) return StageResult{.value = x.clone()};
           StageResult result{.value = Tensor(target, x.dims())};
           if (x.type() == DType::i32 && target == DType::f32) {
             std::copy(x.i32().begin(), x.i32().end(), result.value.f32().begin());
           } else if (x.type() == DType::i32) {
             std::transform(x.i32().begin(), x.i32().end(), result.value.i32().begin(),
                            [](std::int32_t v) { return v != 0 ? 1 : 0; });
           } else {
             std::transform(x.f32().begin(), x.f32().end(), result.value.i32().begin(),
                            [to_bool](float v) { return to_bool ? (v != 0 ? 1 : 0) : truncate(v); });
           }
           return result;
         }}};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

 private:
  DType target_;
  bool to_bool_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::CastParam* main = model.wire_op(node.index).main_as_CastParam();
  if (main == nullptr) return fail("its CastParam parameters are missing");
  switch (main->dstT()) {
    case wire::DType_DT_FLOAT:
    case wire::DType_DT_DOUBLE: return std::make_unique<Cast>(DType::f32, false);
    case wire::DType_DT_INT32:
    case wire::DType_DT_INT64: return std::make_unique<Cast>(DType::i32, false);
    case wire::DType_DT_BOOL: return std::make_unique<Cast>(DType::i32, true);
    default: return fail("a cast to MNN type {} is not implemented", static_cast<int>(main->dstT()));
  }
}

const RegisterOp kRegister{"Cast", make};

}  // namespace
}  // namespace qnndbg
