// TopKV2: the k best values along an axis, best first, and their places. k is the second operand, the axis the third
// or the last one.
#include <algorithm>
#include <array>
#include <numeric>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"

namespace qnndbg {
namespace {

struct Choice {
  int axis = 0;
  std::int64_t k = 0;
  bool largest = true;
};

/// Places along the axis of the best values, in the output's order; equal values keep their order.
/// `magnitude`: how far an equal value lies away. QNN does not say which of equal values comes first.
template <class T>
void rank(std::span<const T> x, const AxisView& view, const Choice& c, std::span<std::int32_t> places,
          std::span<float> magnitude) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(view.extent));
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      const auto at = [&](std::int64_t k) {
        return x[static_cast<std::size_t>((o * view.extent + k) * view.inner + i)];
      };
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        if (at(a) != at(a) || at(b) != at(b)) return at(a) == at(a) && at(b) != at(b);  // what is no number goes last
        return c.largest ? at(a) > at(b) : at(a) < at(b);
      });
      // Equal values stand side by side, their places ascending.
      for (std::size_t begin = 0, end = 0; begin < static_cast<std::size_t>(c.k); begin = end) {
        while (end < order.size() && at(order[end]) == at(order[begin])) ++end;
        if (end == begin) ++end;  // not a number
        for (std::size_t k = begin; k < std::min(end, static_cast<std::size_t>(c.k)); ++k) {
          const auto out = static_cast<std::size_t>((o * c.k + static_cast<std::int64_t>(k)) * view.inner + i);
          places[out] = order[k];
          if (!magnitude.empty())
            magnitude[out] = static_cast<float>(std::max(order[k] - order[begin], order[end - 1] - order[k]));
        }
      }
    }
  }
}

StageResult places_of(const Tensor& x, const Choice& c, const Dims& out, bool want_magnitude) {
  StageResult result{.value = Tensor::i32(out)};
  if (want_magnitude) result.magnitude = Tensor::f32(out);
  const AxisView view = view_axis(x.dims(), c.axis);
  if (x.type() == DType::f32) {
    rank<float>(x.f32(), view, c, result.value.i32(), result.magnitude.f32());
  } else {
    rank<std::int32_t>(x.i32(), view, c, result.value.i32(), result.magnitude.f32());
  }
  return result;
}

StageResult values_of(const Tensor& x, const Choice& c, const Dims& out, bool /*want_magnitude*/) {
  const StageResult places = places_of(x, c, out, false);
  const AxisView view = view_axis(x.dims(), c.axis);
  StageResult result{.value = Tensor(x.type(), out)};
  with_elements(x, result.value, [&]<class T>(std::span<const T> from, std::span<T> to) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      const auto flat = static_cast<std::int64_t>(i);
      const std::int64_t row = flat / (c.k * view.inner) * view.extent + places.value.i32()[i];
      to[i] = from[static_cast<std::size_t>(row * view.inner + flat % view.inner)];
    }
  });
  return result;
}

/// `of`: what the stage returns of a choice, values or places.
template <class F>
std::vector<Hypothesis> mistakes(const Dims& in, const Choice& meant, F of) {
  std::vector<Hypothesis> list;
  const auto what_if = [&](std::string cause, std::string parameter, std::string used, std::string right, Choice c) {
    Dims out = in;
    out[static_cast<std::size_t>(c.axis)] = c.k;
    list.push_back({.cause = std::move(cause),
                    .parameter = std::move(parameter),
                    .used = std::move(used),
                    .meant = std::move(right),
                    .file = "source/backend/qnn/execution/QNNTopKV2.cpp",
                    .compute = [c, out, of](const RunContext& run) -> Result<StageResult> {
                      return of(*run.inputs[0], c, out, run.want_magnitude);
                    }});
  };
  for (int axis = 0; axis < static_cast<int>(in.size()); ++axis) {
    if (axis == meant.axis || in[static_cast<std::size_t>(axis)] != in[static_cast<std::size_t>(meant.axis)]) continue;
    what_if("argmax_axis_wrong", "axis", std::to_string(axis), std::to_string(meant.axis),
            {axis, meant.k, meant.largest});
  }
  what_if("reduce_op_wrong", "largest", meant.largest ? "false" : "true", meant.largest ? "true" : "false",
          {meant.axis, meant.k, !meant.largest});
  return list;
}

class TopK final : public Op {
 public:
  explicit TopK(bool largest) : largest_(largest) {}

  bool is_parameter(int input) const override { return input >= 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 1);
    if (!x) return fail(x.error());
    auto choice = choice_of(inputs);
    if (!choice) return fail(choice.error());
    std::int64_t& extent = x->dims[static_cast<std::size_t>(choice->axis)];
    if (choice->k < 0 || choice->k > extent) return fail("the best {} of {}", choice->k, extent);
    extent = choice->k;
    return std::vector<TensorSpec>{{x->type, x->dims}, {DType::i32, x->dims}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    auto choice = choice_of(context.inputs);
    if (!choice) return fail(choice.error());
    const Dims& out = context.outputs[0].spec.dims;
    std::vector<Stage> stages;
    const auto push = [&](int output, const char* bound, auto of) {
      stages.push_back({.output = output,
                        .qnn_type = "TopK",
                        .inputs = {0},
                        .bound = bound,
                        .compute = [c = *choice, out, of](const RunContext& run) -> Result<StageResult> {
                          return of(*run.inputs[0], c, out, run.want_magnitude);
                        },
                        .hypotheses = [c = *choice, in = context.inputs[0].spec.dims,
                                       of](const Evidence&) { return mistakes(in, c, of); }});
    };
    push(0, "exact", values_of);
    if (context.outputs.size() > 1) push(1, "Index", places_of);
    return stages;
  }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const Dims& in = context.inputs[0].spec.dims;
    const QnnParam largest = flag("largest", largest_);
    // k is the extent of the last axis, and that axis is searched, whatever the operands say.
    if (context.as_mnn()) return single_node(context, "TopK", {u32_scalar("k", context.in_dims(0).back()), largest});
    auto choice = choice_of(context.inputs);
    if (!choice) return not_mapped(choice.error());
    QnnBuilder builder(context);
    const int rank = static_cast<int>(in.size());
    const std::vector<int> swap = swap_with_last(choice->axis, rank);
    const bool last = choice->axis == rank - 1;
    Dims found = in;
    found[static_cast<std::size_t>(choice->axis)] = choice->k;
    std::swap(found[static_cast<std::size_t>(choice->axis)], found.back());
    QnnTensorRef x = builder.logical_input(0);
    if (!last) {
      Dims swapped = in;
      std::swap(swapped[static_cast<std::size_t>(choice->axis)], swapped.back());
      x = builder.transpose("_before", x, builder.stage("swapped", swapped, context.input_types[0]), swap, "before");
    }
    // QNN's node has two outputs, whether the model uses the second or not.
    std::array<QnnTensorRef, 2> made;
    for (int k = 0; k < 2; ++k) {
      const bool used = k < static_cast<int>(context.outputs.size());
      const QnnType type = k == 1 ? QnnType{DType::i32, {}} : context.output_types[0];
      made[static_cast<std::size_t>(k)] =
          used && last ? builder.logical_target(k) : builder.stage(k == 0 ? "values" : "places", found, type);
    }
    builder.add({.type = "TopK",
                 .inputs = {x},
                 .outputs = {made[0], made[1]},
                 .params = {u32_scalar("k", choice->k), largest}});
    for (int k = 0; k < static_cast<int>(context.outputs.size()) && k < 2; ++k) {
      const QnnTensorRef result = made[static_cast<std::size_t>(k)];
      if (last) {
        builder.finish_logical(k, result);
      } else {
        const std::string suffix = k == 0 ? "_values_after" : "_places_after";
        builder.logical_output(k,
                               [&](QnnTensorRef target) { builder.transpose(suffix, result, target, swap, suffix); });
      }
    }
    return builder.take();
  }

 private:
  Result<Choice> choice_of(std::span<const Operand> inputs) const {
    auto k = host_integer(inputs, 1, "k");
    if (!k) return fail(k.error());
    auto axis = axis_of(has_operand(inputs, 2) ? std::nullopt : std::optional<std::int64_t>(-1), inputs, 2);
    if (!axis) return fail(axis.error());
    return Choice{*axis, *k, largest_};
  }

  bool largest_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::TopKV2* main = model.wire_op(node.index).main_as_TopKV2();
  return std::make_unique<TopK>(main == nullptr || main->largest());
}

const RegisterOp kRegister{"TopKV2", make};

}  // namespace
}  // namespace qnndbg
