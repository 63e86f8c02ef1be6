// Concat along one axis of the logical shape; empty operands are skipped.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/axis_swap.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"
#include "ops/support/operand_source.h"
#include "ops/support/qnn_movement.h"
#include "tensor/layout.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNConcat.cpp";
// Beyond this many operands only neighbours are tried as exchanged: the number of pairs grows with the square.
constexpr std::size_t kMostInPairs = 24;

void copy(const Tensor& x, const AxisView& from, Tensor& y, const AxisView& to, std::int64_t at) {
  const auto run = static_cast<std::size_t>(from.extent * from.inner);
  for (std::int64_t o = 0; o < from.outer; ++o) {
    const auto source = static_cast<std::size_t>(o) * run;
    const auto target = static_cast<std::size_t>((o * to.extent + at) * to.inner);
    if (x.type() == DType::f32) {
      std::memcpy(&y.f32()[target], &x.f32()[source], run * sizeof(float));
    } else {
      std::memcpy(&y.i32()[target], &x.i32()[source], run * sizeof(std::int32_t));
    }
  }
}

Tensor concatenate(std::span<const Tensor* const> operands, int axis, const TensorSpec& out) {
  Tensor y(out.type, out.dims);
  const AxisView to = view_axis(out.dims, axis);
  std::int64_t at = 0;
  for (const Tensor* x : operands) {
    if (x->empty()) continue;
    const AxisView view = view_axis(x->dims(), axis);
    copy(*x, view, y, to, at);
    at += view.extent;
  }
  return y;
}

/// The mistakes of one broken concatenation of f32 tensors.
class Mistakes {
 public:
  Mistakes(const Evidence& evidence, int axis, TensorSpec out, Layout layout)
      : evidence_(evidence), axis_(axis), out_(std::move(out)), layout_(layout) {}

  std::vector<Hypothesis> all() {
    for (const Tensor* x : evidence_.context.inputs) {
      if (x == nullptr || x->type() != DType::f32) return {};
      own_.push_back({.load = stage_input(own_.size()), .dims = x->dims()});
    }
    exchanged();
    repeated();
    misread();
    other_axes();
    if (!any_fits_sample(list_, evidence_)) other_tensors();
    return std::move(list_);
  }

 private:
  std::size_t count() const { return own_.size(); }
  const Dims& dims(std::size_t k) const { return evidence_.context.inputs[k]->dims(); }

  void add(std::string_view cause, std::string parameter, std::string used, std::string meant,
           std::vector<OperandView> operands) {
    list_.push_back({.cause = std::string(cause),
                     .parameter = std::move(parameter),
                     .used = std::move(used),
                     .meant = std::move(meant),
                     .file = kMnnFile,
                     .compute = whole(operands),
                     .exact = by_element(std::move(operands))});
  }

  static Result<std::vector<ViewedOperand>> look_at_all(const std::vector<OperandView>& operands,
                                                        const RunContext& run) {
    std::vector<ViewedOperand> all;
    for (const OperandView& operand : operands) {
      auto seen = look(operand, run);
      if (!seen) return fail(seen.error());
      all.push_back(std::move(*seen));
    }
    return all;
  }

  Compute whole(const std::vector<OperandView>& operands) const {
    return [operands, axis = axis_, out = out_](const RunContext& run) -> Result<StageResult> {
      auto all = look_at_all(operands, run);
      if (!all) return fail(all.error());
      std::vector<OperandValue> values;
      std::vector<const Tensor*> tensors;
      for (const ViewedOperand& operand : *all) {
        values.push_back(operand.whole());
        tensors.push_back(values.back().get());
      }
      return StageResult{.value = concatenate(tensors, axis, out)};
    };
  }

  MakeExact by_element(std::vector<OperandView> operands) const {
    return [operands = std::move(operands), axis = axis_,
            to = view_axis(out_.dims, axis_)](const RunContext& run) -> Result<ElementValue> {
      auto all = look_at_all(operands, run);
      if (!all) return fail(all.error());
      return [all = std::move(*all), axis, to](std::int64_t element) -> double {
        const std::int64_t inner = element % to.inner;
        std::int64_t k = element / to.inner % to.extent;
        const std::int64_t outer = element / (to.inner * to.extent);
        for (const ViewedOperand& x : all) {
          const std::int64_t extent = x.tensor->empty() ? 0 : x.dims[static_cast<std::size_t>(axis)];
          if (k < extent) return x.at((outer * extent + k) * to.inner + inner);
          k -= extent;
        }
        return 0;
      };
    };
  }

  void reordered(std::string used, const std::vector<std::size_t>& order) {
    std::vector<OperandView> operands;
    for (std::size_t k : order) operands.push_back(own_[k]);
    add("operand_order_swapped", "order of the inputs", std::move(used), "as in the model", std::move(operands));
  }

  void exchanged() {
    std::vector<std::size_t> model_order(count());
    std::iota(model_order.begin(), model_order.end(), 0);
    for (std::size_t i = 0; i < count(); ++i) {
      for (std::size_t j = i + 1; j < count() && (count() <= kMostInPairs || j == i + 1); ++j) {
        std::vector<std::size_t> order = model_order;
        std::swap(order[i], order[j]);
        reordered(fmt::format("inputs {} and {} exchanged", i, j), order);
      }
    }
    if (count() < 3) return;
    std::vector<std::size_t> order = model_order;
    std::rotate(order.begin(), order.begin() + 1, order.end());
    reordered("the first input last", order);
    order = model_order;
    std::rotate(order.begin(), order.end() - 1, order.end());
    reordered("the last input first", order);
    if (count() == 3) return;  // three reversed are the outer two exchanged
    order = model_order;
    std::reverse(order.begin(), order.end());
    reordered("reversed", order);
  }

  void replaced(std::size_t k, std::string used, OperandView by) {
    std::vector<OperandView> operands = own_;
    operands[k] = std::move(by);
    add("second_input_wrong", fmt::format("input {}", k), std::move(used), fmt::format("input {}", k),
        std::move(operands));
  }

  void repeated() {
    const std::size_t others = count() <= kMostInPairs ? count() : 1;
    for (std::size_t k = count(); k-- > 0;) {
      for (std::size_t i = 0; i < others; ++i) {
        if (i != k && dims(i) == dims(k)) replaced(k, fmt::format("input {} once more", i), own_[i]);
      }
      if (evidence_.context.inputs[k]->empty()) continue;
      replaced(k, "zeros", zeros_for(own_[k]));
    }
  }

  /// NHWC and NCHW mixed up in one input, or in all of them.
  void misread() {
    for (std::size_t way = 0; way < 2; ++way) {
      std::vector<OperandView> every = own_;
      std::string used;
      std::size_t affected = 0;
      for (std::size_t k = 0; k < count(); ++k) {
        const std::vector<LayoutMistake> ways = layout_mistakes(dims(k));
        if (ways.empty()) continue;
        used = ways[way].used;
        every[k].source = ways[way].source;
        ++affected;
        replaced_layout(fmt::format("layout of input {}", k), used, k, every[k]);
      }
      if (affected > 1) add("flatten_layout_wrong", "layout of the inputs", used, "as the output", std::move(every));
    }
  }

  void replaced_layout(std::string parameter, const std::string& used, std::size_t k, const OperandView& by) {
    std::vector<OperandView> operands = own_;
    operands[k] = by;
    add("flatten_layout_wrong", std::move(parameter), used, "as the output", std::move(operands));
  }

  /// The blocks that another axis lines up, stored under the dims that the right one gives.
  void other_axes() {
    const Dims out = to_device_dims(out_.dims, layout_);
    const int rank = static_cast<int>(out.size());
    const int meant = device_axis(axis_);
    std::set<std::int64_t> seen{view_axis(out, meant).outer};
    for (int axis = 0; axis < rank; ++axis) {
      // Axes with the same number of blocks give the same memory.
      if (axis == meant || !lines_up(axis) || !seen.insert(view_axis(out, axis).outer).second) continue;
      list_.push_back({.cause = "concat_axis_wrong",
                       .parameter = "axis",
                       .used = fmt::format("{} of the device's tensor", axis),
                       .meant = fmt::format("{}", meant),
                       .file = kMnnFile,
                       .compute = [out_spec = out_, layout = layout_, axis](const RunContext& run) {
                         return along(run, axis, out_spec, layout);
                       }});
    }
  }

  int device_axis(int axis) const {
    const int rank = static_cast<int>(out_.dims.size());
    if (layout_ == Layout::logical || rank < 3 || axis == 0) return axis;
    return axis == 1 ? rank - 1 : axis - 1;
  }

  /// True when the inputs agree in every axis of the device's tensors but this one.
  bool lines_up(int axis) const {
    std::optional<Dims> common;
    for (std::size_t k = 0; k < count(); ++k) {
      if (evidence_.context.inputs[k]->empty()) continue;
      Dims own = to_device_dims(dims(k), layout_);
      own[static_cast<std::size_t>(axis)] = 0;
      if (common && *common != own) return false;
      common = std::move(own);
    }
    return common.has_value();
  }

  static Result<StageResult> along(const RunContext& run, int axis, const TensorSpec& out, Layout layout) {
    std::vector<Tensor> stored;
    Dims total;
    for (const Tensor* x : run.inputs) {
      if (x->empty()) continue;
      stored.push_back(Tensor::f32(to_device_dims(x->dims(), layout)));
      to_device_order(x->f32(), x->dims(), layout, stored.back().f32());
      if (total.empty()) {
        total = stored.back().dims();
      } else {
        total[static_cast<std::size_t>(axis)] += stored.back().dims()[static_cast<std::size_t>(axis)];
      }
    }
    std::vector<const Tensor*> operands;
    for (const Tensor& x : stored) operands.push_back(&x);
    const Tensor blocks = concatenate(operands, axis, {DType::f32, total});
    StageResult result{.value = Tensor::f32(out.dims)};
    if (blocks.size() != result.value.size()) return fail("another number of elements along axis {}", axis);
    to_logical_order(blocks.f32(), out.dims, layout, result.value.f32());
    return result;
  }

  void other_tensors() {
    const AxisView to = view_axis(out_.dims, axis_);
    std::int64_t at = 0;
    for (std::size_t k = 0; k < count(); ++k) {
      if (evidence_.context.inputs[k]->empty()) continue;
      const std::int64_t extent = dims(k)[static_cast<std::size_t>(axis_)];
      if (differs(to, at, extent)) {
        for (Peer& peer : nearest_peers(evidence_, dims(k))) {
          const std::string tensor = peer.name;
          replaced(k, tensor, {.load = peer_operand(std::move(peer)), .dims = dims(k)});
        }
      }
      at += extent;
    }
  }

  /// Whether the device's part [at, at + extent) of the axis is not what it should be.
  bool differs(const AxisView& to, std::int64_t at, std::int64_t extent) const {
    for (std::int64_t o = 0; o < to.outer; ++o) {
      const auto begin = (o * to.extent + at) * to.inner;
      const float* device = evidence_.device.f32().data() + begin;
      if (!std::equal(device, device + extent * to.inner, evidence_.reference.f32().data() + begin)) return true;
    }
    return false;
  }

  const Evidence& evidence_;
  int axis_;
  TensorSpec out_;
  Layout layout_;
  std::vector<OperandView> own_;
  std::vector<Hypothesis> list_;
};

class Concat final : public Op {
 public:
  explicit Concat(int axis) : axis_(axis) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    std::optional<TensorSpec> out;
    for (int k = 0; k < static_cast<int>(inputs.size()); ++k) {
      auto x = require_operand(inputs, k);
      if (!x) return fail(x.error());
      if (element_count(x->dims) == 0) continue;
      if (!out) {
        out = std::move(*x);
        continue;
      }
      auto axis = normalize_axis(axis_, static_cast<int>(out->dims.size()));
      if (!axis) return fail(axis.error());
      const auto a = static_cast<std::size_t>(*axis);
      Dims other = x->dims;
      if (other.size() != out->dims.size() || x->type != out->type) {
        return fail("operands {} and {} do not concatenate", to_string(out->dims), to_string(x->dims));
      }
      other[a] = out->dims[a];
      if (other != out->dims)
        return fail("operands {} and {} do not concatenate along axis {}", to_string(out->dims), to_string(x->dims),
                    axis_);
      out->dims[a] += x->dims[a];
    }
    if (!out) return fail("every operand is empty");
    auto axis = normalize_axis(axis_, static_cast<int>(out->dims.size()));
    if (!axis) return fail(axis.error());
    auto count = check_dims(out->dims);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{std::move(*out)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    const TensorSpec& out = context.outputs[0].spec;
    std::vector<int> from;
    for (std::size_t k = 0; k < context.inputs.size(); ++k) from.push_back(static_cast<int>(k));
    const int axis = *normalize_axis(axis_, static_cast<int>(out.dims.size()));
    const Layout layout = context.outputs[0].layout;
    return std::vector<Stage>{
        {.qnn_type = "Concat",
         .inputs = std::move(from),
         .bound = "exact",
         .compute = [out, axis](const RunContext& run) -> Result<StageResult> {
           return StageResult{.value = concatenate(run.inputs, axis, out)};
         },
         .hypotheses = [out, axis,
                        layout](const Evidence& evidence) { return Mistakes(evidence, axis, out, layout).all(); }}};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_majority(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const Operand& out = context.outputs[0];
    const int rank = static_cast<int>(out.spec.dims.size());
    const QnnParam axis = u32_scalar("axis", device_axis(*normalize_axis(axis_, rank), rank, out.layout));
    std::vector<int> filled;
    for (int k = 0; k < static_cast<int>(context.inputs.size()); ++k) {
      if (element_count(context.inputs[static_cast<std::size_t>(k)].spec.dims) > 0) filled.push_back(k);
    }
    QnnBuilder builder(context);
    if (context.as_mnn()) {
      if (rank > 5) return refuse(QnnRefusal::Kind::refused, "an output of rank {}, 5 is the most", rank);
      const bool first_empty = context.inputs.size() == 2 && filled == std::vector<int>{1};
      if (!first_empty) return single_node(context, "Concat", {axis}, static_cast<int>(context.inputs.size()));
      builder.reshape("_Reshape", QnnBuilder::input(1), QnnBuilder::output());
      return builder.take();
    }
    if (filled.empty()) return refuse(QnnRefusal::Kind::not_mapped, "all operands are empty");
    std::vector<QnnTensorRef> parts;
    for (int k : filled) parts.push_back(aligned_input(builder, context, k));
    if (parts.size() == 1) {
      builder.reshape("_Reshape", parts[0], QnnBuilder::output());
    } else {
      builder.node("", "Concat", std::move(parts), QnnBuilder::output(), {axis});
    }
    return builder.take();
  }

 private:
  int axis_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Axis* main = model.wire_op(node.index).main_as_Axis();
  if (main == nullptr) return fail("its Axis parameter is missing");
  return std::make_unique<Concat>(main->axis());
}

const RegisterOp kRegister{"Concat", make};

}  // namespace
}  // namespace qnndbg
