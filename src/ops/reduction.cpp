// Reduction: sum, mean, max, min, product over axes; any and all of integers.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "graph/mnn_wire.h"
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"
#include "ops/support/operand_source.h"
#include "tensor/layout.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNReduce.cpp";
// Every set of axes is tried up to this rank, the largest that QNN's tensors of images and sequences have.
constexpr int kLargestRank = 6;

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

const char* bound_of(wire::Red operation) {
  if (operation == wire::Red_MAXIMUM || operation == wire::Red_MINIMUM || is_logical(operation)) return "exact";
  return qnn_type_of(operation).value_or("unmeasured");
}

/// The reduction over `axes` (sorted), its elements stored under `out`.
Result<StageResult> reduce(const Tensor& x, const std::vector<int>& axes, wire::Red operation, const Dims& out) {
  std::int64_t kept = x.size();
  for (int axis : axes) kept /= std::max<std::int64_t>(1, x.dims()[static_cast<std::size_t>(axis)]);
  StageResult result{.value = Tensor(x.type(), out)};
  if (kept != result.value.size()) return fail("{} elements do not make {}", kept, to_string(out));
  if (x.type() == DType::f32) {
    reduce<double, float>(x.f32(), x.dims(), axes, operation, result.value.f32());
  } else {
    reduce<std::int32_t, std::int32_t>(x.i32(), x.dims(), axes, operation, result.value.i32());
  }
  return result;
}

/// One element of the reduction of an f32 tensor: offsets of the kept axes, and of all that is reduced into it.
ElementValue reduced_element(const Tensor& x, const std::vector<int>& axes, wire::Red operation) {
  const Dims strides = strides_of(x.dims());
  std::vector<std::int64_t> inside{0};
  Dims kept_extents;
  Dims kept_strides;
  for (std::size_t k = 0; k < x.dims().size(); ++k) {
    if (std::find(axes.begin(), axes.end(), static_cast<int>(k)) == axes.end()) {
      kept_extents.push_back(x.dims()[k]);
      kept_strides.push_back(strides[k]);
      continue;
    }
    std::vector<std::int64_t> wider;
    for (std::int64_t base : inside) {
      for (std::int64_t i = 0; i < x.dims()[k]; ++i) wider.push_back(base + i * strides[k]);
    }
    inside = std::move(wider);
  }
  return [&x, operation, inside = std::move(inside), kept_extents, kept_strides](std::int64_t element) {
    std::int64_t base = 0;
    for (std::size_t k = kept_extents.size(); k-- > 0;) {
      base += element % kept_extents[k] * kept_strides[k];
      element /= kept_extents[k];
    }
    double value = neutral<double>(operation);
    for (std::int64_t offset : inside)
      value = combine<double>(operation, value, x.f32()[static_cast<std::size_t>(base + offset)]);
    return operation == wire::Red_MEAN ? value / static_cast<double>(inside.size()) : value;
  };
}

/// One reduction as a stage performs it.
struct Node {
  wire::Red operation = wire::Red_SUM;
  std::vector<int> axes = {};  // sorted
  Dims out = {};
  Layout in_layout = Layout::logical;
  Layout out_layout = Layout::logical;
};

Hypothesis mistake(std::string_view cause, std::string used, std::string meant, const Node& wrong) {
  return {.cause = std::string(cause),
          .parameter = cause == "reduce_op_wrong" ? "node type" : "axes",
          .used = std::move(used),
          .meant = std::move(meant),
          .file = kMnnFile,
          .bound = bound_of(wrong.operation),
          .compute =
              [wrong](const RunContext& run) { return reduce(*run.inputs[0], wrong.axes, wrong.operation, wrong.out); },
          .exact = [wrong](const RunContext& run) -> Result<ElementValue> {
            return reduced_element(*run.inputs[0], wrong.axes, wrong.operation);
          }};
}

std::string listed(const std::vector<int>& axes) { return fmt::format("{{{}}}", fmt::join(axes, ", ")); }

/// Axes of extent 1 reduce nothing.
std::vector<int> effective(const std::vector<int>& axes, const Dims& in) {
  std::vector<int> longer;
  std::copy_if(axes.begin(), axes.end(), std::back_inserter(longer),
               [&](int axis) { return in[static_cast<std::size_t>(axis)] != 1; });
  return longer;
}

std::int64_t count_kept(const std::vector<int>& axes, const Dims& in) {
  std::int64_t count = element_count(in);
  for (int axis : axes) count /= in[static_cast<std::size_t>(axis)];
  return count;
}

/// The same number of elements from other axes.
void add_other_axes(std::vector<Hypothesis>& list, const Node& meant, const Dims& in) {
  const int rank = static_cast<int>(in.size());
  if (rank > kLargestRank) return;
  const std::vector<int> right = effective(meant.axes, in);
  for (unsigned set = 1; set < 1U << rank; ++set) {
    std::vector<int> axes;
    for (int axis = 0; axis < rank; ++axis) {
      if ((set >> axis & 1U) != 0) axes.push_back(axis);
    }
    if (effective(axes, in) != axes || axes == right || count_kept(axes, in) != element_count(meant.out)) continue;
    Node other = meant;
    other.axes = axes;
    list.push_back(mistake("reduce_axis_wrong", listed(axes), listed(meant.axes), other));
  }
}

/// The model's axis numbers applied to channel-last memory.
void add_device_axes(std::vector<Hypothesis>& list, const Node& meant, const Dims& in) {
  if (meant.in_layout != Layout::channel_last || in.size() < 3) return;
  const Dims stored = to_device_dims(in, meant.in_layout);
  if (count_kept(meant.axes, stored) != element_count(meant.out)) return;
  Hypothesis h = mistake("reduce_axis_wrong", fmt::format("{} of the channel-last tensor", listed(meant.axes)),
                         fmt::format("{} in the model's order", listed(meant.axes)), meant);
  h.exact = {};
  h.compute = [meant, stored](const RunContext& run) -> Result<StageResult> {
    const Tensor& x = *run.inputs[0];
    Tensor device = Tensor::f32(stored);
    to_device_order(x.f32(), x.dims(), meant.in_layout, device.f32());
    auto reduced = reduce(device, meant.axes, meant.operation, meant.out);
    if (!reduced) return reduced;
    StageResult result{.value = Tensor::f32(meant.out)};
    to_logical_order(reduced->value.f32(), meant.out, meant.out_layout, result.value.f32());
    return result;
  };
  list.push_back(std::move(h));
}

std::vector<Hypothesis> mistakes(const Evidence& evidence, const Node& meant) {
  const Tensor& x = *evidence.context.inputs[0];
  if (x.type() != DType::f32 || x.empty() || evidence.device.size() != element_count(meant.out)) return {};
  std::vector<Hypothesis> list;
  for (wire::Red other : {wire::Red_MEAN, wire::Red_SUM, wire::Red_MAXIMUM, wire::Red_MINIMUM, wire::Red_PROD}) {
    if (other == meant.operation) continue;
    Node wrong = meant;
    wrong.operation = other;
    list.push_back(mistake("reduce_op_wrong", *qnn_type_of(other), *qnn_type_of(meant.operation), wrong));
  }
  add_other_axes(list, meant, x.dims());
  // Often that is one of the sets above, in the order in which the output is stored.
  if (!any_fits_sample(list, evidence)) add_device_axes(list, meant, x.dims());
  return list;
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
      Stage main = main_stage({.operation = operation_, .axes = {rank - 2}, .out = kept});
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
    stages.push_back(main_stage({.operation = operation_,
                                 .axes = axes,
                                 .out = out,
                                 .in_layout = context.inputs[0].layout,
                                 .out_layout = context.outputs[0].layout}));
    return stages;
  }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const Operand& x = context.inputs[0];
    const int rank = static_cast<int>(x.spec.dims.size());
    auto axes = axes_for(context.inputs, rank);
    if (!axes) return not_mapped(axes.error());
    if (context.as_mnn()) {
      if (*qnn_type_ == '\0')
        return refuse(QnnRefusal::Kind::encode_error, "a reduction that the backend does not know");
      if (axes_.empty() && !has_operand(context.inputs, 1))
        return refuse(QnnRefusal::Kind::crash, "no axes: the backend ends the process");
    }
    QnnBuilder builder(context);
    if (context.as_mnn() && axes->size() == 1 && axes->front() == rank - 1 && rank >= 2) {
      write_last_axis(builder, context);
      return builder.take();
    }
    const std::vector<std::int64_t> along(axes->begin(), axes->end());
    const std::string type =
        is_logical(operation_) ? (operation_ == wire::Red_ANY ? "ReduceMax" : "ReduceMin") : qnn_type_;
    const auto write = [&](QnnTensorRef from, QnnTensorRef target) {
      builder.node("", type, {from}, target, {u32_list("axes", along), flag("keep_dims", keep_dims_)});
    };
    if (context.as_mnn()) {
      write(QnnBuilder::input(), QnnBuilder::output());
      return builder.take();
    }
    if (rank == 0) return refuse(QnnRefusal::Kind::not_mapped, "a reduction of a scalar");
    const QnnTensorRef from = builder.logical_input(0);
    builder.logical_output(0, [&](QnnTensorRef target) {
      if (keep_dims_ || static_cast<int>(axes->size()) < rank) {
        write(from, target);
        return;
      }
      // QNN has no scalars.
      const QnnTensorRef kept = builder.stage("kept", Dims(static_cast<std::size_t>(rank), 1), context.output_types[0]);
      builder.node("", type, {from}, kept, {u32_list("axes", along), flag("keep_dims", true)});
      builder.reshape("_Reshape", kept, target);
    });
    return builder.take();
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

  /// The last axis is exchanged with the one before it, which is reduced.
  void write_last_axis(QnnBuilder& builder, const QnnContext& context) const {
    Dims dims = context.in_dims(0);
    const int rank = static_cast<int>(dims.size());
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    const QnnTensorRef swapped = builder.stage("reduce_tin", dims, context.input_types[0]);
    dims[dims.size() - 2] = 1;
    const QnnTensorRef reduced = builder.stage("reduce_tout", dims, context.output_types[0]);
    builder.transpose("_reduce_transpose_in", QnnBuilder::input(), swapped, swap_with_last(rank - 2, rank));
    builder.node("_reduce_t", qnn_type_, {swapped}, reduced, {u32_list("axes", {rank - 2}), flag("keep_dims", true)});
    builder.reshape("_reduce_reshape_t", reduced, QnnBuilder::output());
  }

  Stage main_stage(const Node& node) const {
    return {.qnn_type = qnn_type_,
            .inputs = {0},
            .bound = bound_of(operation_),
            .compute =
                [node](const RunContext& run) { return reduce(*run.inputs[0], node.axes, node.operation, node.out); },
            .hypotheses = [node](const Evidence& evidence) { return mistakes(evidence, node); }};
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
