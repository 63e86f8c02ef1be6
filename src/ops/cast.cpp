// Cast between float and int32; MNN keeps BOOL and INT64 as int32 and DOUBLE as float. Bytes wrap, and are kept as
// int32 here.
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

enum class Target : std::uint8_t { floats, integers, truth, bytes, signed_bytes };

std::int32_t narrowed(Target target, std::int32_t value) {
  switch (target) {
    case Target::truth: return value != 0 ? 1 : 0;
    case Target::bytes: return static_cast<std::uint8_t>(value);
    case Target::signed_bytes: return static_cast<std::int8_t>(value);
    default: return value;
  }
}

std::int32_t narrowed(Target target, float value) {
  return target == Target::truth ? (value != 0 ? 1 : 0) : narrowed(target, truncate(value));
}

class Cast final : public Op {
 public:
  explicit Cast(Target target) : target_(target) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    return std::vector<TensorSpec>{{target_ == Target::floats ? DType::f32 : DType::i32, std::move(x->dims)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext&) const override {
    return std::vector<Stage>{{.qnn_type = "Cast",
                               .inputs = {0},
                               .bound = "exact",
                               .compute = [target = target_](const RunContext& run) -> Result<StageResult> {
                                 const Tensor& x = *run.inputs[0];
                                 const bool to_floats = target == Target::floats;
                                 if (x.type() == DType::f32 && to_floats) return StageResult{.value = x.clone()};
                                 StageResult result{.value = Tensor(to_floats ? DType::f32 : DType::i32, x.dims())};
                                 const auto narrow = [target](auto v) { return narrowed(target, v); };
                                 if (to_floats) {
                                   std::copy(x.i32().begin(), x.i32().end(), result.value.f32().begin());
                                 } else if (x.type() == DType::i32) {
                                   std::transform(x.i32().begin(), x.i32().end(), result.value.i32().begin(), narrow);
                                 } else {
                                   std::transform(x.f32().begin(), x.f32().end(), result.value.i32().begin(), narrow);
                                 }
                                 return result;
                               }}};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

 private:
  Target target_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::CastParam* main = model.wire_op(node.index).main_as_CastParam();
  if (main == nullptr) return fail("its CastParam parameters are missing");
  switch (main->dstT()) {
    case wire::DType_DT_FLOAT:
    case wire::DType_DT_DOUBLE: return std::make_unique<Cast>(Target::floats);
    case wire::DType_DT_INT32:
    case wire::DType_DT_INT64: return std::make_unique<Cast>(Target::integers);
    case wire::DType_DT_BOOL: return std::make_unique<Cast>(Target::truth);
    case wire::DType_DT_UINT8: return std::make_unique<Cast>(Target::bytes);
    case wire::DType_DT_INT8: return std::make_unique<Cast>(Target::signed_bytes);
    default: return fail("a cast to MNN type {} is not implemented", static_cast<int>(main->dstT()));
  }
}

const RegisterOp kRegister{"Cast", make};

}  // namespace
}  // namespace qnndbg
