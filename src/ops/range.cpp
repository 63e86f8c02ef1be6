// Range: start, start + step, ... below the limit; evaluated on the host.
#include <cmath>

#include "ops/registry.h"
#include "ops/support/host_values.h"

namespace qnndbg {
namespace {

// No shape computation comes near this many values.
constexpr double kMaxValues = 1 << 24;

class Range final : public Op {
 public:
  bool is_parameter(int /*input*/) const override { return true; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto values = values_of(inputs);
    if (!values) return fail(values.error());
    return std::vector<TensorSpec>{{inputs[0].spec.type, {static_cast<std::int64_t>(values->size())}}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    auto values = values_of(context.inputs);
    if (!values) return fail(values.error());
    return std::vector<Stage>{{.compute = [held = std::move(*values),
                                           spec = context.outputs[0].spec](const RunContext&) -> Result<StageResult> {
      Tensor out(spec.type, spec.dims);
      for (std::size_t i = 0; i < held.size(); ++i) {
        if (spec.type == DType::f32) {
          out.f32()[i] = held[i];
        } else {
          out.i32()[i] = static_cast<std::int32_t>(held[i]);
        }
      }
      return StageResult{.value = std::move(out)};
    }}};
  }

 private:
  static Result<std::vector<float>> values_of(std::span<const Operand> inputs) {
    float parts[3] = {};
    constexpr std::string_view kNames[] = {"start", "limit", "step"};
    for (int k = 0; k < 3; ++k) {
      auto value = host_floats(inputs, k, kNames[k]);
      if (!value) return fail(value.error());
      if (value->size() != 1) return fail("{} values for its {}", value->size(), kNames[k]);
      parts[k] = value->front();
    }
    const double count = std::ceil((static_cast<double>(parts[1]) - parts[0]) / parts[2]);
    if (!(count <= kMaxValues)) return fail("a range from {} to {} by {}", parts[0], parts[1], parts[2]);
    std::vector<float> values;
    for (double i = 0; i < count; ++i) values.push_back(static_cast<float>(parts[0] + i * parts[2]));
    return values;
  }
};

Result<std::unique_ptr<Op>> make(const Model&, const OpNode&) { return std::make_unique<Range>(); }

const RegisterOp kRegister{"Range", make};

}  // namespace
}  // namespace qnndbg
