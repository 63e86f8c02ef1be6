// Padding: amounts before and after each logical axis (second operand), filled with a constant (third operand or 0) or
// with the data itself, mirrored or repeated.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNPadding.cpp";

struct Amount {
  std::int64_t before = 0;
  std::int64_t after = 0;
  bool operator==(const Amount&) const = default;
};

struct Pad {
  wire::PadKind mode = wire::PadKind_CONSTANT;
  float value = 0;
  std::vector<Amount> amounts = {};  // one per axis
};

/// QNN's numbers for the parameter "scheme" of Pad.
constexpr std::int64_t kSchemeConstant = 0;

std::int64_t scheme_of(wire::PadKind mode) {
  switch (mode) {
    case wire::PadKind_SYMMETRIC: return 1;
    case wire::PadKind_REFLECT: return 2;
    case wire::PadKind_EDGE: return 3;
    case wire::PadKind_CONSTANT: break;
  }
  return kSchemeConstant;
}

/// The fill value: a float beside float data, else an integer, in steps of the data's encoding where it has one.
QnnParam fill_parameter(const QnnType& type, float value) {
  if (type.type == DType::f16 || type.type == DType::f32) return {"pad_constant_value", value};
  double stored = value;
  if (type.encoding.kind == QnnEncoding::Kind::per_tensor) {
    const Encoding& encoding = type.encoding.values[0];
    stored = std::nearbyint(value / encoding.scale) - encoding.offset;
  }
  const IntRange range = range_of(type.type);
  if (std::isnan(stored)) stored = 0;
  return {"pad_constant_value", static_cast<std::int32_t>(std::clamp(stored, range.low, range.high))};
}

std::string_view name_of(wire::PadKind mode) {
  switch (mode) {
    case wire::PadKind_CONSTANT: return "constant";
    case wire::PadKind_REFLECT: return "reflect";
    case wire::PadKind_SYMMETRIC: return "symmetric";
    case wire::PadKind_EDGE: return "edge";
  }
  return "?";
}

/// How many cells one side of an axis can take in a mode that copies from the data.
std::int64_t reach(wire::PadKind mode, std::int64_t extent) {
  switch (mode) {
    case wire::PadKind_REFLECT: return extent - 1;  // the edge itself is not repeated
    case wire::PadKind_SYMMETRIC: return extent;
    default: return extent > 0 ? std::numeric_limits<std::int64_t>::max() : 0;
  }
}

Result<Dims> padded_dims(const Dims& in, const Pad& pad) {
  Dims out;
  for (std::size_t k = 0; k < in.size(); ++k) {
    const auto [before, after] = pad.amounts[k];
    // A negative amount cuts in ONNX; MNN's CPU then gives wrong data, so there is no reference for it.
    if (before < 0 || after < 0)
      return fail("padding {}, {} of axis {}: negative amounts are not implemented", before, after, k);
    if (pad.mode != wire::PadKind_CONSTANT && std::max(before, after) > reach(pad.mode, in[k]))
      return fail("{} padding {}, {} of an axis of {}", name_of(pad.mode), before, after, in[k]);
    out.push_back(before + in[k] + after);
  }
  auto count = check_dims(out);
  if (!count) return fail(count.error());
  return out;
}

/// Where position `at` of the padded axis comes from; -1 for the fill value.
std::int64_t source_of(wire::PadKind mode, std::int64_t at, std::int64_t extent) {
  if (at >= 0 && at < extent) return at;
  switch (mode) {
    case wire::PadKind_CONSTANT: return -1;
    case wire::PadKind_REFLECT: return at < 0 ? -at : 2 * (extent - 1) - at;
    case wire::PadKind_SYMMETRIC: return at < 0 ? -at - 1 : 2 * extent - 1 - at;
    case wire::PadKind_EDGE: return std::clamp<std::int64_t>(at, 0, extent - 1);
  }
  return -1;
}

template <class T>
void copy_padded(std::span<const T> x, const Dims& in, const Pad& pad, const Dims& dims, std::span<T> y) {
  if (y.empty()) return;
  // Per axis: the offset in x that a position contributes, -1 for the fill value.
  const Dims strides = strides_of(in);
  std::vector<Dims> offsets(dims.size());
  for (std::size_t k = 0; k < dims.size(); ++k) {
    for (std::int64_t i = 0; i < dims[k]; ++i) {
      const std::int64_t source = source_of(pad.mode, i - pad.amounts[k].before, in[k]);
      offsets[k].push_back(source < 0 ? -1 : source * strides[k]);
    }
  }
  Dims index(dims.size(), 0);
  for (T& out : y) {
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < dims.size() && offset >= 0; ++k) {
      const std::int64_t part = offsets[k][static_cast<std::size_t>(index[k])];
      offset = part < 0 ? -1 : offset + part;
    }
    out = offset < 0 ? static_cast<T>(pad.value) : x[static_cast<std::size_t>(offset)];
    for (std::size_t k = dims.size(); k-- > 0;) {
      if (++index[k] < dims[k]) break;
      index[k] = 0;
    }
  }
}

Result<StageResult> padded(const Tensor& x, const Pad& pad) {
  auto dims = padded_dims(x.dims(), pad);
  if (!dims) return fail(dims.error());
  StageResult result{.value = Tensor(x.type(), *dims)};
  with_elements(x, result.value, [&]<class T>(std::span<const T> in, std::span<T> out) {
    copy_padded<T>(in, x.dims(), pad, *dims, out);
  });
  return result;
}

/// The device's value at the first padded position, which a constant fill must have everywhere.
std::optional<float> device_fill(const Evidence& evidence, const Pad& pad) {
  const Dims& dims = evidence.device.dims();
  const Dims strides = strides_of(dims);
  std::int64_t at = 0;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (pad.amounts[k].before > 0) return evidence.device.f32()[static_cast<std::size_t>(at)];
    if (pad.amounts[k].after > 0)
      return evidence.device.f32()[static_cast<std::size_t>(at + (dims[k] - 1) * strides[k])];
  }
  return std::nullopt;
}

Hypothesis what_if(std::string cause, std::string parameter, std::string used, std::string meant, Pad pad,
                   int free_parameters = 0) {
  return {.cause = std::move(cause),
          .parameter = std::move(parameter),
          .used = std::move(used),
          .meant = std::move(meant),
          .file = kMnnFile,
          .free_parameters = free_parameters,
          .compute = [pad = std::move(pad)](const RunContext& run) { return padded(*run.inputs[0], pad); }};
}

void add_other_modes(const Pad& meant, const Dims& in, std::vector<Hypothesis>& list) {
  for (int mode = wire::PadKind_MIN; mode <= wire::PadKind_MAX; ++mode) {
    Pad other{static_cast<wire::PadKind>(mode), 0, meant.amounts};
    if (other.mode == meant.mode || !padded_dims(in, other)) continue;
    const std::string used{name_of(other.mode)};
    list.push_back(what_if("pad_mode_wrong", "scheme", used, std::string(name_of(meant.mode)), std::move(other)));
  }
}

void add_other_sides(const Pad& meant, std::vector<Hypothesis>& list) {
  struct Split {
    const char* name;
    Amount (*of)(const Amount&);
  };
  constexpr Split kSplits[] = {
      {"before and after exchanged", [](const Amount& a) { return Amount{a.after, a.before}; }},
      {"everything before the data", [](const Amount& a) { return Amount{a.before + a.after, 0}; }},
      {"everything after the data", [](const Amount& a) { return Amount{0, a.before + a.after}; }},
      {"half on each side",
       [](const Amount& a) { return Amount{(a.before + a.after) / 2, (a.before + a.after + 1) / 2}; }}};
  for (const Split& split : kSplits) {
    Pad other = meant;
    for (Amount& amount : other.amounts) amount = split.of(amount);
    if (other.amounts == meant.amounts) continue;
    list.push_back(what_if("padding_side_wrong", "pad_amount", split.name, "the model's amounts", std::move(other)));
  }
}

std::vector<Hypothesis> mistakes(const Evidence& evidence, const Pad& meant) {
  std::vector<Hypothesis> list;
  const Dims& in = evidence.context.inputs[0]->dims();
  if (meant.mode == wire::PadKind_CONSTANT) {
    Pad other = meant;
    other.value = 0;
    const std::string value = fmt::format("{}", meant.value);
    if (meant.value != 0) list.push_back(what_if("pad_value_wrong", "pad_constant_value", "0", value, other));
    if (const auto fill = device_fill(evidence, meant); fill && *fill != 0) {
      other.value = *fill;
      list.push_back(what_if("pad_value_wrong", "pad_constant_value", fmt::format("{}", *fill), value, other, 1));
    }
  }
  add_other_modes(meant, in, list);
  add_other_sides(meant, list);
  return list;
}

class Padding final : public Op {
 public:
  explicit Padding(wire::PadKind mode) : mode_(mode) {}

  bool is_parameter(int input) const override { return input >= 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    auto pad = pad_of(inputs);
    if (!pad) return fail(pad.error());
    auto out = padded_dims(x->dims, *pad);
    if (!out) return fail(out.error());
    return std::vector<TensorSpec>{{x->type, std::move(*out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    auto pad = pad_of(context.inputs);
    if (!pad) return fail(pad.error());
    return std::vector<Stage>{
        {.qnn_type = "Pad",
         .inputs = {0},
         .bound = "exact",
         .compute = [pad = *pad](const RunContext& run) { return padded(*run.inputs[0], pad); },
         .hypotheses = [pad = *pad](const Evidence& evidence) { return mistakes(evidence, pad); }}};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const int rank = static_cast<int>(context.inputs[0].spec.dims.size());
    if (context.as_mnn()) {
      // The amounts stay in the model's order; mode and fill value are not looked at.
      auto amounts = host_integers(context.inputs, 1, "padding");
      if (!amounts) return not_mapped(amounts.error());
      return single_node(
          context, "Pad",
          {u32_scalar("scheme", kSchemeConstant), u32_tensor("pad_amount", {rank, 2}, std::move(*amounts))});
    }
    auto pad = pad_of(context.inputs);
    if (!pad) return not_mapped(pad.error());
    std::vector<std::int64_t> amounts(2 * static_cast<std::size_t>(rank));
    for (int axis = 0; axis < rank; ++axis) {
      const auto at = 2 * static_cast<std::size_t>(device_axis(axis, rank, context.inputs[0].layout));
      amounts[at] = pad->amounts[static_cast<std::size_t>(axis)].before;
      amounts[at + 1] = pad->amounts[static_cast<std::size_t>(axis)].after;
    }
    std::vector<QnnParam> params{u32_scalar("scheme", scheme_of(mode_)),
                                 u32_tensor("pad_amount", {rank, 2}, std::move(amounts))};
    if (mode_ == wire::PadKind_CONSTANT) params.push_back(fill_parameter(context.input_types[0], pad->value));
    return single_node(context, "Pad", std::move(params));
  }

 private:
  Result<Pad> pad_of(std::span<const Operand> inputs) const {
    Pad pad{.mode = mode_};
    auto amounts = host_integers(inputs, 1, "padding");
    if (!amounts) return fail(amounts.error());
    const Dims& in = inputs[0].spec.dims;
    if (amounts->size() != 2 * in.size()) return fail("{} padding amounts for {}", amounts->size(), to_string(in));
    for (std::size_t k = 0; k < in.size(); ++k) pad.amounts.push_back({(*amounts)[2 * k], (*amounts)[2 * k + 1]});
    if (mode_ == wire::PadKind_CONSTANT && has_operand(inputs, 2)) {
      auto value = host_floats(inputs, 2, "fill value");
      if (!value) return fail(value.error());
      if (value->size() != 1) return fail("{} fill values", value->size());
      pad.value = value->front();
    }
    return pad;
  }

  wire::PadKind mode_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::PadParam* main = model.wire_op(node.index).main_as_PadParam();
  const wire::PadKind mode = main == nullptr ? wire::PadKind_CONSTANT : main->mode();
  if (mode < wire::PadKind_MIN || mode > wire::PadKind_MAX)
    return fail("padding mode {} is not known", static_cast<int>(mode));
  return std::make_unique<Padding>(mode);
}

const RegisterOp kRegister{"Padding", make};

}  // namespace
}  // namespace qnndbg
