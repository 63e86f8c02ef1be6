// Eltwise: PROD, SUM, MAXIMUM or SUB of operands with one shape.
#include <algorithm>
#include <type_traits>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/binary_mistakes.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"
#include "ops/support/qnn_movement.h"

namespace qnndbg {
namespace {

constexpr const char* kMnnFile = "source/backend/qnn/execution/QNNBinary.cpp";

const char* node_type(wire::EltKind kind) {
  switch (kind) {
    case wire::EltKind_PROD: return "ElementWiseMultiply";
    case wire::EltKind_SUM: return "ElementWiseAdd";
    case wire::EltKind_SUB: return "ElementWiseSubtract";
    case wire::EltKind_MAXIMUM: return "ElementWiseMaximum";
  }
  return "";
}

const char* bound_of(wire::EltKind kind) { return kind == wire::EltKind_MAXIMUM ? "exact" : node_type(kind); }

/// y := y op x. Integers wrap.
template <class T>
void fold(wire::EltKind kind, std::span<const T> x, std::span<T> y) {
  using Wide = std::conditional_t<std::is_integral_v<T>, std::uint32_t, T>;
  const auto apply = [&](auto f) {
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = static_cast<T>(f(static_cast<Wide>(y[i]), static_cast<Wide>(x[i])));
  };
  switch (kind) {
    case wire::EltKind_PROD: apply([](Wide a, Wide b) { return a * b; }); break;
    case wire::EltKind_SUM: apply([](Wide a, Wide b) { return a + b; }); break;
    case wire::EltKind_SUB: apply([](Wide a, Wide b) { return a - b; }); break;
    case wire::EltKind_MAXIMUM:
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::max(y[i], x[i]);
      break;
  }
}

Result<StageResult> combine(wire::EltKind kind, std::span<const Tensor* const> operands) {
  StageResult result{.value = operands[0]->clone()};
  for (const Tensor* operand : operands.subspan(1)) {
    with_elements(*operand, result.value, [kind]<class T>(std::span<const T> x, std::span<T> y) { fold(kind, x, y); });
  }
  return result;
}

/// Three operands and more go to a node that takes two: some are left out, or taken twice, or combined otherwise.
std::vector<Hypothesis> mistakes_of_many(wire::EltKind meant, std::size_t count) {
  std::vector<Hypothesis> list;
  const auto choose = [&](std::string used, std::vector<std::size_t> from) {
    list.push_back({.cause = "second_input_wrong",
                    .parameter = "operands",
                    .used = std::move(used),
                    .meant = fmt::format("all {}, each once", count),
                    .file = kMnnFile,
                    .compute = [meant, from = std::move(from)](const RunContext& run) {
                      std::vector<const Tensor*> operands;
                      for (std::size_t k : from) operands.push_back(run.inputs[k]);
                      return combine(meant, operands);
                    }});
  };
  choose("the first two", {0, 1});
  for (std::size_t left_out = 0; left_out < count; ++left_out) {
    std::vector<std::size_t> rest;
    for (std::size_t k = 0; k < count; ++k) {
      if (k != left_out) rest.push_back(k);
    }
    if (rest != std::vector<std::size_t>{0, 1}) choose(fmt::format("all but number {}", left_out), std::move(rest));
  }
  for (wire::EltKind other : wire::EnumValuesEltKind()) {
    if (other == meant) continue;
    list.push_back({.cause = "binary_op_wrong",
                    .parameter = "node type",
                    .used = node_type(other),
                    .meant = node_type(meant),
                    .file = kMnnFile,
                    .bound = bound_of(other),
                    .compute = [other](const RunContext& run) { return combine(other, run.inputs); }});
  }
  return list;
}

class Eltwise final : public Op {
 public:
  explicit Eltwise(wire::EltKind kind) : kind_(kind) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto first = require_operand(inputs, 0);
    if (!first) return fail(first.error());
    for (int k = 1; k < static_cast<int>(inputs.size()); ++k) {
      auto other = require_operand(inputs, k);
      if (!other) return fail(other.error());
      if (other->type != first->type) return fail("operands of floats and of integers");
      if (other->dims != first->dims)
        return fail("operands {} and {} differ in shape", to_string(first->dims), to_string(other->dims));
    }
    return std::vector<TensorSpec>{std::move(*first)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    std::vector<int> from;
    for (std::size_t k = 0; k < context.inputs.size(); ++k) from.push_back(static_cast<int>(k));
    Stage stage{.qnn_type = node_type(kind_), .inputs = std::move(from), .bound = bound_of(kind_)};
    stage.compute = [kind = kind_](const RunContext& run) { return combine(kind, run.inputs); };
    if (context.inputs.size() == 2) {
      BinaryStage meant{.meant = find_binary_function(node_type(kind_)),
                        .operands = {binary_operand(context, 0), binary_operand(context, 1)},
                        .out = context.outputs[0].spec.dims,
                        .finish = {},
                        .file = kMnnFile};
      stage.hypotheses = [meant](const Evidence& evidence) { return binary_mistakes(evidence, meant); };
    } else if (context.inputs.size() > 2) {
      stage.hypotheses = [kind = kind_, count = context.inputs.size()](const Evidence&) {
        return mistakes_of_many(kind, count);
      };
    }
    return std::vector<Stage>{std::move(stage)};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_majority(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const int count = static_cast<int>(context.inputs.size());
    // However many operands there are, MNN gives them all to a node that takes two.
    if (context.as_mnn()) return single_node(context, node_type(kind_), {}, count);
    if (count < 2) return single_node(context, "Reshape");
    QnnBuilder builder(context);
    QnnTensorRef sum = aligned_input(builder, context, 0);
    for (int k = 1; k < count; ++k) {
      const bool last = k + 1 == count;
      const QnnTensorRef target = last ? QnnBuilder::output()
                                       : builder.stage(fmt::format("partial_{}", k), context.out_dims(0),
                                                       context.output_types[0], context.outputs[0].layout);
      sum = builder.node(last ? "" : fmt::format("_partial_{}", k), node_type(kind_),
                         {sum, aligned_input(builder, context, k)}, target);
    }
    return builder.take();
  }

 private:
  wire::EltKind kind_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Eltwise* main = model.wire_op(node.index).main_as_Eltwise();
  if (main == nullptr) return fail("its Eltwise parameters are missing");
  if (main->coeff() != nullptr && main->coeff()->size() > 0) {
    for (float c : *main->coeff()) {
      if (c != 1.0F) return fail("Eltwise with coefficients is not implemented (MNN's CPU does not run it either)");
    }
  }
  if (main->type() < wire::EltKind_MIN || main->type() > wire::EltKind_MAX)
    return fail("Eltwise type {} is not known", static_cast<int>(main->type()));
  return std::make_unique<Eltwise>(main->type());
}

const RegisterOp kRegister{"Eltwise", make};

}  // namespace
}  // namespace qnndbg
