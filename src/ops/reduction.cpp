// Reduction: sum, mean, max, min, product over axes; any and all of integers.
#include <algorithm>
#include <limits>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"

namespace qnndbg {
namespace {

/// QNN's node; empty where the backend has none.
Result<const char*> qnn_type_of(wire::Red operation) {
  switch (operation) {
    case wire::Red_SUM: return "ReduceSum";
    case wire::Red_MEAN: return "ReduceMean";
    case wire::Red_MAXIMUM: return "ReduceMax";
    case wire::Red_MINIMUM: return "ReduceMin";
    case wire::Red_PROD: return "ReduceProd";
    case wire::Red_ANY:
    case wire::Red_ALL: return "";
    default:
      return fail("reduction {} is not implemented (MNN's CPU does not run it either)", static_cast<int>(operation));
  }
}

bool is_logical(wire::Red operation) { return operation == wire::Red_ANY || operation == wire::Red_ALL; }

double plus(double a, double b) { return a + b; }
double times(double a, double b) { return a * b; }
// Integers wrap.
std::int32_t plus(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
std::int32_t times(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
}

template <class T>
T neutral(wire::Red operation) {
  using Limits = std::numeric_limits<T>;
  switch (operation) {
    case wire::Red_PROD:
    case wire::Red_ALL: return 1;
    case wire::Red_MAXIMUM: return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case wire::Red_MINIMUM: return Limits::has_infinity ? Limits::infinity() : Limits::max();
    default: return 0;
  }
}

template <class T>
T combine(wire::Red operation, T value, T next) {
  switch (operation) {
    case wire::Red_MAXIMUM: return std::max(value, next);
    case wire::Red_MINIMUM: return std::min(value, next);
    case wire::Red_PROD: return times(value, next);
    case wire::Red_ANY: return value != 0 || next != 0 ? 1 : 0;
    case wire::Red_ALL: return value != 0 && next != 0 ? 1 : 0;
    default: return plus(value, next);
  }
}

template <class T>
std::vector<T> reduce_axis(const std::vector<T>& x, const AxisView& view, wire::Red operation) {
  std::vector<T> y(static_cast<std::size_t>(view.outer * view.inner));
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      T value = neutral<T>(operation);
      for (std::int64_t k = 0; k < view.extent; ++k)
        value = combine(operation, value, x[static_cast<std::size_t>((o * view.extent + k) * view.inner + i)]);
      // Of integers this is C's division.
      y[static_cast<std::size_t>(o * view.inner + i)] =
          operation == wire::Red_MEAN ? value / static_cast<T>(view.extent) : value;
    }
  }
  return y;
}

/// One axis at a time, as MNN does. `T`: double for floats, or int32.
template <class T, class Element>
void reduce(std::span<const Element> x, Dims dims, const std::vector<int>& axes, wire::Red operation,
            std::span<Element> y) {
  std::vector<T> values(x.begin(), x.end());
  for (int axis : axes) {
    values = reduce_axis(values, view_axis(dims, axis), operation);
    dims[static_cast<std::size_t>(axis)] = 1;
  }
  std::transform(values.begin(), values.end(), y.begin(), [](T v) { return static_cast<Element>(v); });
}

class Reduction final : public Op {
 public:
  Reduction(wire::Red operation, const char* qnn_type, std::vector<std::int64_t> axes, bool keep_dims)
      : operation_(operation), qnn_type_(qnn_type), axes_(std::move(axes)), keep_dims_(keep_dims) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    if (is_logical(operation_) && x->type != DType::i32) return fail("any or all of floats");
    auto axes = axes_for(inputs, static_cast<int>(x->dims.size()));
    if (!axes) return fail(axes.error());
    Dims out;
    for (int k = 0; k < static_cast<int>(x->dims.size()); ++k) {
      const bool reduced = std::find(axes->begin(), axes->end(), k) != axes->end();
      if (reduced && x->dims[static_cast<std::size_t>(k)] == 0) return fail("reduction over an empty axis");
      if (!reduced) out.push_back(x->dims[static_cast<std::size_t>(k)]);
      if (reduced && keep_dims_) out.push_back(1);
    }
    return std::vector<TensorSpec>{{x->type, std::move(out)}};
  }

  bool is_parameter(int input) const override { return input == 1; }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const Dims& in = context.inputs[0].spec.dims;
    const int rank = static_cast<int>(in.size());
    const std::vector<int> axes = *axes_for(context.inputs, rank);
    const Dims& out = context.outputs[0].spec.dims;
    std::vector<Stage> stages;
    if (axes.size() == 1 && rank >= 2 && context.dumped("reduce_tin") && context.dumped("reduce_tout")) {
      // The backend swaps the last two axes and reduces the last but one.
      std::vector<int> swapped = swap_with_last(rank - 2, rank);
      stages.push_back(transpose_stage("reduce_tin", "_reduce_transpose_in", 0, swapped));
      Dims kept = in;
      std::swap(kept[static_cast<std::size_t>(rank) - 1], kept[static_cast<std::size_t>(rank) - 2]);
      kept[static_cast<std::size_t>(rank) - 2] = 1;
      Stage main = main_stage({rank - 2}, kept);
      main.name = "reduce_tout";
      main.node_suffix = "_reduce_t";
      main.inputs = {-1};
      stages.push_back(std::move(main));
      Stage last = reshape_stage("Reshape", out);
      last.node_suffix = "_reduce_reshape_t";
      last.inputs = {-2};
      stages.push_back(std::move(last));
      return stages;
    }
    stages.push_back(main_stage(axes, out));
    return stages;
  }

 private:
  Result<std::vector<int>> axes_for(std::span<const Operand> inputs, int rank) const {
    auto listed = listed_integers(axes_, inputs, 1, "axes");
    if (!listed) return fail(listed.error());
    std::vector<int> axes;
    for (std::int64_t axis : *listed) {
      auto normal = normalize_axis(axis, rank);
      if (!normal) return fail(normal.error());
      axes.push_back(*normal);
    }
    if (listed->empty()) {
      for (int k = 0; k < rank; ++k) axes.push_back(k);
    }
    std::sort(axes.begin(), axes.end());
    axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
    return axes;
  }

  Stage main_stage(const std::vector<int>& axes, const Dims& out) const {
    const bool exact = operation_ == wire::Red_MAXIMUM || operation_ == wire::Red_MINIMUM || is_logical(operation_);
    return {.qnn_type = qnn_type_,
            .inputs = {0},
            .bound = exact ? "exact" : qnn_type_,
            .compute = [axes, out, operation = operation_](const RunContext& run) -> Result<StageResult> {
              const Tensor& x = *run.inputs[0];
              StageResult result{.value = Tensor(x.type(), out)};
              if (x.type() == DType::f32) {
                reduce<double, float>(x.f32(), x.dims(), axes, operation, result.value.f32());
              } else {
                reduce<std::int32_t, std::int32_t>(x.i32(), x.dims(), axes, operation, result.value.i32());
              }
              return result;
            }};
  }

  wire::Red operation_;
  const char* qnn_type_;
  std::vector<std::int64_t> axes_;
  bool keep_dims_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::ReductionParam* main = model.wire_op(node.index).main_as_ReductionParam();
  if (main == nullptr) return fail("its ReductionParam parameters are missing");
  auto type = qnn_type_of(main->operation());
  if (!type) return fail(type.error());
  return std::make_unique<Reduction>(main->operation(), *type, ints_of(main->dim()), main->keepDims());
}

const RegisterOp kRegister{"Reduction", make};

}  // namespace
}  // namespace qnndbg
