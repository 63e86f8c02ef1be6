// ArgMax and ArgMin: the place of the extreme value along one axis, which is removed. The first of equal values wins.
#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"

namespace qnndbg {
namespace {

/// Indices of the extreme values; M_i is the distance to the last equal one. QNN does not say which of equal values
/// wins, and after a ReLU whole rows are equal.
template <class T>
void search(std::span<const T> x, const AxisView& view, bool largest, std::span<std::int32_t> index,
            std::span<float> magnitude) {
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      const auto at = [&](std::int64_t k) {
        return x[static_cast<std::size_t>((o * view.extent + k) * view.inner + i)];
      };
      std::int64_t first = 0;
      std::int64_t last = 0;
      for (std::int64_t k = 1; k < view.extent; ++k) {
        if (largest ? at(k) > at(first) : at(k) < at(first)) first = last = k;
        if (at(k) == at(first)) last = k;
      }
      const auto out = static_cast<std::size_t>(o * view.inner + i);
      index[out] = static_cast<std::int32_t>(first);
      if (!magnitude.empty()) magnitude[out] = static_cast<float>(last - first);
    }
  }
}

Dims without_axis(Dims dims, int axis) {
  dims.erase(dims.begin() + axis);
  return dims;
}

Result<StageResult> search(const RunContext& run, int axis, bool largest) {
  const Tensor& x = *run.inputs[0];
  const Dims out = without_axis(x.dims(), axis);
  const AxisView view = view_axis(x.dims(), axis);
  StageResult result{.value = Tensor::i32(out)};
  if (run.want_magnitude) result.magnitude = Tensor::f32(out);
  if (x.type() == DType::f32) {
    search<float>(x.f32(), view, largest, result.value.i32(), result.magnitude.f32());
  } else {
    search<std::int32_t>(x.i32(), view, largest, result.value.i32(), result.magnitude.f32());
  }
  return result;
}

std::vector<Hypothesis> mistakes(const Dims& in, int axis, bool largest) {
  const auto what_if = [](std::string cause, std::string parameter, std::string used, std::string meant, int along,
                          bool want_largest) {
    return Hypothesis{
        .cause = std::move(cause),
        .parameter = std::move(parameter),
        .used = std::move(used),
        .meant = std::move(meant),
        .file = "source/backend/qnn/execution/QNNArgmax.cpp",
        .compute = [along, want_largest](const RunContext& run) { return search(run, along, want_largest); }};
  };
  std::vector<Hypothesis> list{what_if("reduce_op_wrong", "node type", largest ? "Argmin" : "Argmax",
                                       largest ? "Argmax" : "Argmin", axis, !largest)};
  const std::int64_t size = element_count(without_axis(in, axis));
  for (int other = 0; other < static_cast<int>(in.size()); ++other) {
    if (other != axis && element_count(without_axis(in, other)) == size)
      list.push_back(what_if("argmax_axis_wrong", "axis", std::to_string(other), std::to_string(axis), other, largest));
  }
  return list;
}

class ArgExtreme final : public Op {
 public:
  ArgExtreme(int axis, bool largest) : axis_(axis), largest_(largest) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 1);
    if (!x) return fail(x.error());
    auto axis = normalize_axis(axis_, static_cast<int>(x->dims.size()));
    if (!axis) return fail(axis.error());
    if (x->dims[static_cast<std::size_t>(*axis)] == 0) return fail("a search along an empty axis");
    return std::vector<TensorSpec>{{DType::i32, without_axis(std::move(x->dims), *axis)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const Dims& in = context.inputs[0].spec.dims;
    const int axis = *normalize_axis(axis_, static_cast<int>(in.size()));
    return std::vector<Stage>{
        {.qnn_type = largest_ ? "Argmax" : "Argmin",
         .inputs = {0},
         .bound = "Index",
         .compute = [axis, largest = largest_](const RunContext& run) { return search(run, axis, largest); },
         .hypotheses = [in, axis, largest = largest_](const Evidence&) { return mistakes(in, axis, largest); }}};
  }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const int rank = static_cast<int>(context.inputs[0].spec.dims.size());
    const char* type = largest_ ? "Argmax" : "Argmin";
    if (context.as_mnn()) {
      if (rank > 4) return refuse(QnnRefusal::Kind::encode_error, "an input of rank {}, 4 is the most", rank);
      // The axis is written as the model has it: not wrapped, not moved to its place on the device.
      return single_node(context, type, {u32_scalar("axis", axis_)});
    }
    QnnBuilder builder(context);
    const QnnTensorRef x = builder.logical_input(0);
    builder.logical_output(0, [&](QnnTensorRef target) {
      builder.node("", type, {x}, target, {u32_scalar("axis", *normalize_axis(axis_, rank))});
    });
    return builder.take();
  }

 private:
  int axis_;
  bool largest_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node, bool largest) {
  const wire::ArgMax* main = model.wire_op(node.index).main_as_ArgMax();
  if (main == nullptr) return fail("its ArgMax parameters are missing");
  if (main->outMaxVal() != 0 || main->topK() > 1)
    return fail("Caffe's form, which returns the values or several places, is not implemented");
  return std::make_unique<ArgExtreme>(main->axis(), largest);
}

const RegisterOp kArgMax{"ArgMax", [](const Model& model, const OpNode& node) { return make(model, node, true); }};
const RegisterOp kArgMin{"ArgMin", [](const Model& model, const OpNode& node) { return make(model, node, false); }};

}  // namespace
}  // namespace qnndbg
