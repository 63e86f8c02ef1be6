// Cast between float and int32; MNN keeps BOOL and INT64 as int32 and DOUBLE as float. Bytes wrap, and are kept as
// int32 here.
#include <algorithm>
#include <array>
#include <cmath>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"
#include "ops/support/operand_source.h"

namespace qnndbg {
namespace {

std::int32_t truncate(float value) {
  if (std::isnan(value)) return 0;
  return static_cast<std::int32_t>(std::clamp(static_cast<double>(std::trunc(value)), -2147483648.0, 2147483647.0));
}

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNCast.cpp";

float clipped(float value, float low, float high) { return std::min(std::max(std::trunc(value), low), high); }

/// What the integer keeps in its low bits, as a narrower type holds them.
template <class Narrow>
float wrapped(float value) {
  return static_cast<float>(static_cast<Narrow>(truncate(value)));
}

struct Conversion {
  const char* used;
  float (*f)(float);
};

constexpr auto kConversions = std::to_array<Conversion>({
    {"the value as it is", [](float v) { return v; }},
    {"to nearest", [](float v) { return std::nearbyint(v); }},
    {"to nearest, halves away from zero", [](float v) { return std::round(v); }},
    {"down", [](float v) { return std::floor(v); }},
    {"up", [](float v) { return std::ceil(v); }},
    {"toward zero", [](float v) { return std::trunc(v); }},
    {"as a truth value", [](float v) { return v != 0 ? 1.0F : 0.0F; }},
    {"true where positive", [](float v) { return v > 0 ? 1.0F : 0.0F; }},
    {"negative values as 0", [](float v) { return std::max(0.0F, std::trunc(v)); }},
    {"saturated to int8", [](float v) { return clipped(v, -128, 127); }},
    {"saturated to uint8", [](float v) { return clipped(v, 0, 255); }},
    {"saturated to int16", [](float v) { return clipped(v, -32768, 32767); }},
    {"saturated to uint16", [](float v) { return clipped(v, 0, 65535); }},
    {"wrapped to int8", wrapped<std::int8_t>},
    {"wrapped to uint8", wrapped<std::uint8_t>},
    {"wrapped to int16", wrapped<std::int16_t>},
});

const Tensor& float_input(const RunContext& run, Tensor& storage) {
  const Tensor& x = *run.inputs[0];
  if (x.type() == DType::f32) return x;
  storage = Tensor::f32(x.dims());
  std::copy(x.i32().begin(), x.i32().end(), storage.f32().begin());
  return storage;
}

Hypothesis cast_mistake(std::string used, std::string meant) {
  return {.cause = "cast_wrong",
          .parameter = "conversion",
          .used = std::move(used),
          .meant = std::move(meant),
          .file = kMnnFile,
          .compute = {}};
}

/// Integers came from floats somewhere before: those floats, when the library takes both casts out.
void add_unconverted(std::vector<Hypothesis>& list, const Evidence& evidence, const std::string& meant) {
  const Tensor& x = *evidence.context.inputs[0];
  for (Peer& peer : nearest_peers(evidence, x.dims())) {
    auto value = peer.load();
    if (!value || value->size() != x.size() || value->type() != DType::f32) continue;
    if (!std::equal(x.i32().begin(), x.i32().end(), value->f32().begin(), [](std::int32_t integer, float v) {
          return integer == truncate(v) || integer == (v != 0 ? 1 : 0);
        })) {
      continue;
    }
    Hypothesis h = cast_mistake(fmt::format("{}, its fraction kept", peer.name), meant);
    h.compute = [load = std::move(peer.load)](const RunContext&) -> Result<StageResult> {
      auto unconverted = load();
      if (!unconverted) return fail(unconverted.error());
      return StageResult{.value = std::move(*unconverted)};
    };
    list.push_back(std::move(h));
  }
}

std::vector<Hypothesis> mistakes(const Evidence& evidence, DType target, bool to_bool) {
  const std::string meant = to_bool ? "0 or 1" : target == DType::i32 ? "integer, toward zero" : "float";
  std::vector<Hypothesis> list;
  for (const Conversion& other : kConversions) {
    Hypothesis h = cast_mistake(other.used, meant);
    h.compute = [f = other.f](const RunContext& run) -> Result<StageResult> {
      Tensor storage;
      const Tensor& x = float_input(run, storage);
      StageResult result{.value = Tensor::f32(x.dims())};
      std::transform(x.f32().begin(), x.f32().end(), result.value.f32().begin(), f);
      return result;
    };
    h.exact = [f = other.f](const RunContext& run) -> Result<ElementValue> {
      const Tensor* x = run.inputs[0];
      return [x, f](std::int64_t i) -> double {
        const auto at = static_cast<std::size_t>(i);
        return f(x->type() == DType::f32 ? x->f32()[at] : static_cast<float>(x->i32()[at]));
      };
    };
    list.push_back(std::move(h));
  }
  if (evidence.context.inputs[0]->type() == DType::i32 && !any_fits_sample(list, evidence))
    add_unconverted(list, evidence, meant);
  return list;
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
                               },
                               .hypotheses =
                                   [target = target_](const Evidence& evidence) {
                                     return mistakes(evidence, target == Target::floats ? DType::f32 : DType::i32,
                                                     target == Target::truth);
                                   }}};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (target_ == Target::bytes || target_ == Target::signed_bytes)
      return refuse(QnnRefusal::Kind::refused, "a cast to eight bits");
    if (context.as_mnn() || target_ != Target::truth) return single_node(context, "Cast");
    if (context.quantized()) return refuse(QnnRefusal::Kind::not_mapped, "truth values of fixed-point data");
    // Anything but zero is true; a cast alone keeps the number.
    QnnBuilder builder(context);
    const QnnType type = context.input_types[0];
    const QnnTensorRef zero = builder.constant(
        {.name = "zero", .dims = {1}, .type = type, .data = [type]() -> Result<std::vector<std::byte>> {
           return std::vector<std::byte>(size_of(type.type), std::byte{0});
         }});
    const QnnTensorRef truth =
        builder.stage("truth", context.out_dims(0), {DType::bool8, {}}, context.outputs[0].layout);
    builder.node("_compare", "ElementWiseNotEqual", {QnnBuilder::input(), zero}, truth);
    builder.node("", "Cast", {truth}, QnnBuilder::output());
    return builder.take();
  }

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
