#include "ops/support/binary_mistakes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/support/altered_constants.h"
#include "ops/support/broadcast.h"

namespace qnndbg {
namespace {

constexpr auto kFunctions = std::to_array<BinaryFunction>({
    {"ElementWiseAdd", "ElementWiseAdd", [](float x, float y) { return x + y; }, {}, true},
    {"ElementWiseMultiply", "ElementWiseMultiply", [](float x, float y) { return x * y; }, {}, true},
    {"ElementWiseSubtract", "ElementWiseSubtract", [](float x, float y) { return x - y; }},
    {"ElementWiseDivide", "ElementWiseDivide", [](float x, float y) { return x / y; }},
    {"ElementWiseMaximum", "exact", [](float x, float y) { return std::max(x, y); }, {}, true},
    {"ElementWiseMinimum", "exact", [](float x, float y) { return std::min(x, y); }, {}, true},
    {"ElementWisePower", "unmeasured", [](float x, float y) { return std::pow(x, y); }},
    {"ElementWiseFloorDiv", "unmeasured",
     [](float x, float y) { return static_cast<float>(std::floor(static_cast<double>(x) / y)); },
     BinaryFunction::Group::remainder},
    // MNN: FLOORMOD becomes Fmod and MOD becomes Mod, the reverse of what the names say.
    {"ElementWiseFmod", "unmeasured", [](float x, float y) { return x - std::floor(x / y) * y; },
     BinaryFunction::Group::remainder},
    {"ElementWiseMod", "unmeasured", [](float x, float y) { return std::fmod(x, y); },
     BinaryFunction::Group::remainder},
});

bool is(const BinaryFunction& f, std::string_view qnn_type) { return f.qnn_type == qnn_type; }

/// y * 1 = y, y + 0 = y: the second operand that leaves the first as it is. Nothing for max and min.
std::optional<float> neutral_element(const BinaryFunction& f) {
  if (is(f, "ElementWiseAdd") || is(f, "ElementWiseSubtract")) return 0.0F;
  if (is(f, "ElementWiseMultiply") || is(f, "ElementWiseDivide")) return 1.0F;
  return std::nullopt;
}

bool broadcasts_to(const Dims& dims, const Dims& out) {
  if (dims.size() > out.size()) return false;
  const std::size_t lead = out.size() - dims.size();
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] != 1 && dims[k] != out[lead + k]) return false;
  }
  return true;
}

struct Seen {
  ViewedOperand a, b;
};

Result<Seen> look_at_both(const BinaryStage& stage, const RunContext& run) {
  for (const BinaryOperand& operand : stage.operands) {
    if (!broadcasts_to(operand.view.dims, stage.out))
      return fail("{} does not broadcast to {}", to_string(operand.view.dims), to_string(stage.out));
  }
  auto a = look(stage.operands[0].view, run);
  if (!a) return fail(a.error());
  auto b = look(stage.operands[1].view, run);
  if (!b) return fail(b.error());
  return Seen{std::move(*a), std::move(*b)};
}

/// Offset into a tensor with these broadcast strides of an element of `out`.
std::int64_t offset_of(std::int64_t element, const Dims& out, const Dims& strides) {
  std::int64_t offset = 0;
  for (std::size_t k = out.size(); k-- > 0;) {
    offset += element % out[k] * strides[k];
    element /= out[k];
  }
  return offset;
}

/// An operand with its axes in another order under `out`, or its memory read in another layout.
struct Misreading {
  std::string used;
  Dims dims;
  std::function<std::int64_t(std::int64_t)> source;
};

Dims padded_to(const Dims& dims, std::size_t rank) {
  Dims padded(rank, 1);
  std::copy(dims.begin(), dims.end(), padded.end() - static_cast<std::ptrdiff_t>(dims.size()));
  return padded;
}

/// Result axis i walks along axis order[i] of the operand. Where the extents disagree the validator refuses the node,
/// but the library computes: it steps through the operand's memory as far as the output's extents go.
struct Turned {
  Dims dims;
  Dims strides;

  Turned(const Dims& operand, const std::vector<int>& order, const Dims& out) {
    const Dims own = strides_of(operand);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto axis = static_cast<std::size_t>(order[i]);
      dims.push_back(operand[axis] == 1 ? 1 : out[i]);
      strides.push_back(own[axis]);
    }
  }

  std::int64_t last_offset() const {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * strides[i];
    return last;
  }
};

/// NHWC and NCHW mixed up. The backend hands both operands to QNN as they lie: a channel-last one beside one in the
/// model's order is broadcast along the wrong axes.
std::vector<Misreading> misreadings(const Dims& dims, const Dims& out) {
  std::vector<Misreading> list;
  const std::size_t rank = out.size();
  if (rank < 3 || element_count(dims) <= 1) return list;
  const Dims padded = padded_to(dims, rank);
  const auto consider = [&](std::string used, const std::vector<int>& order) {
    const Turned turned(padded, order, out);
    if (turned.last_offset() >= element_count(dims)) return;
    list.push_back(
        {std::move(used), turned.dims, [turned](std::int64_t i) { return offset_of(i, turned.dims, turned.strides); }});
  };
  std::vector<int> model_order(rank);
  std::iota(model_order.begin(), model_order.end(), 0);
  std::vector<int> to_last = model_order;  // element [n, c, h, w] of the result is [n, h, w, c] of the operand
  std::rotate(to_last.begin() + 1, to_last.end() - 1, to_last.end());
  std::vector<int> from_last = model_order;
  std::rotate(from_last.begin() + 1, from_last.begin() + 2, from_last.end());
  consider("its axes in the model's order beside a channel-last tensor", to_last);
  if (from_last != to_last) consider("channel-last beside a tensor in the model's order", from_last);

  // In a cube the memory of one layout is the other with its axes turned: listed already.
  const bool cube = std::all_of(padded.begin() + 1, padded.end(), [&](std::int64_t d) { return d == padded[1]; });
  if (dims.size() != rank || cube) return list;
  for (LayoutMistake& mistake : layout_mistakes(dims))
    list.push_back({std::move(mistake.used), dims, std::move(mistake.source)});
  return list;
}

/// Collects the mistakes of one broken stage.
class Mistakes {
 public:
  Mistakes(const Evidence& evidence, const BinaryStage& stage) : evidence_(evidence), stage_(stage) {}

  std::vector<Hypothesis> all() {
    if (!load_operands()) return {};
    operands_twice();
    operands_swapped();
    other_operations();
    operands_ignored();
    for (std::size_t k = 0; k < 2; ++k) altered_constant(k);
    for (std::size_t k = 2; k-- > 0;) misread(k);
    if (!any_fits_sample(list_, evidence_)) other_tensors();
    return std::move(list_);
  }

 private:
  /// False where the stage has nothing to compare or works on integers.
  bool load_operands() {
    for (const BinaryOperand& operand : stage_.operands) {
      auto seen = look(operand.view, evidence_.context);
      if (!seen || !broadcasts_to(seen->dims, stage_.out)) return false;
      values_.push_back(seen->whole());
    }
    return !evidence_.device.empty() && evidence_.device.size() == element_count(stage_.out);
  }

  Hypothesis& add(std::string_view cause, std::string parameter, std::string used, std::string meant,
                  const BinaryStage& wrong) {
    list_.push_back({.cause = std::string(cause),
                     .parameter = std::move(parameter),
                     .used = std::move(used),
                     .meant = std::move(meant),
                     .file = stage_.file,
                     .compute = binary_compute(wrong),
                     .exact = binary_exact(wrong)});
    return list_.back();
  }

  const std::string& name(std::size_t k) const { return stage_.operands[k].name; }

  void operands_twice() {
    BinaryStage wrong = stage_;
    wrong.operands[1].view = stage_.operands[0].view;
    add("second_input_wrong", name(1), fmt::format("the {} once more", name(0)), fmt::format("the {}", name(1)), wrong);
    // x - x and x / x are the same whichever operand it was.
    if (is(*stage_.meant, "ElementWiseSubtract") || is(*stage_.meant, "ElementWiseDivide")) return;
    wrong = stage_;
    wrong.operands[0].view = stage_.operands[1].view;
    add("second_input_wrong", name(0), fmt::format("the {} once more", name(1)), fmt::format("the {}", name(0)), wrong);
  }

  void operands_swapped() {
    if (stage_.meant->commutative) return;
    BinaryStage wrong = stage_;
    std::swap(wrong.operands[0].view, wrong.operands[1].view);
    add("operand_order_swapped", "order of the operands", "second, first", "first, second", wrong);
  }

  void other_operations() {
    for (const BinaryFunction& other : kFunctions) {
      const bool arithmetic = other.group == BinaryFunction::Group::arithmetic;
      if (is(other, stage_.meant->qnn_type) || (!arithmetic && other.group != stage_.meant->group)) continue;
      BinaryStage wrong = stage_;
      wrong.meant = &other;
      add("binary_op_wrong", "node type", std::string(other.qnn_type), std::string(stage_.meant->qnn_type), wrong)
          .bound = other.bound;
    }
  }

  /// f(x, neutral) = x: the node passes one operand through. A constant that is added and reads as zeros is a bias.
  void operands_ignored() {
    const auto neutral = neutral_element(*stage_.meant);
    if (!neutral) return;
    for (std::size_t k = 2; k-- > 0;) {
      const bool added = *neutral == 0.0F;
      if (stage_.operands[k].constant && added) continue;  // altered_constant() has it
      // 1 / y is a division all right, but no operand was ignored.
      if (k == 0 && is(*stage_.meant, "ElementWiseDivide")) continue;
      Tensor constant = Tensor::f32({});
      constant.f32()[0] = *neutral;
      BinaryStage wrong = stage_;
      wrong.operands[k].view = given_operand(std::move(constant));
      add("second_input_wrong", name(k), added ? "zeros" : "ones", fmt::format("the {}", name(k)), wrong);
    }
  }

  void altered_constant(std::size_t k) {
    const BinaryOperand& operand = stage_.operands[k];
    if (!operand.constant) return;
    const std::vector<ConstantEstimate> device = estimates(k);
    if (device.empty()) return;
    const bool added = is(*stage_.meant, "ElementWiseAdd") || is(*stage_.meant, "ElementWiseSubtract");
    for (AlteredConstant& mistake : altered_constants(values_[k]->f32(), operand.unrounded, device,
                                                      added ? kAddedConstant : kFactorConstant, evidence_.context)) {
      Tensor other = Tensor::f32(values_[k]->dims());
      std::copy(mistake.values.begin(), mistake.values.end(), other.f32().begin());
      BinaryStage wrong = stage_;
      wrong.operands[k].view = given_operand(std::move(other));
      add(mistake.cause, name(k), mistake.used, "the model's values", wrong).free_parameters = mistake.free_parameters;
    }
  }

  /// t = w c, with c the element of constant operand k: the operation undone for one output.
  struct Equation {
    double weight;
    double target;
  };
  std::optional<Equation> undo(std::size_t k, double y, double other) const {
    const BinaryFunction& f = *stage_.meant;
    if (is(f, "ElementWiseAdd")) return Equation{1, y - other};
    if (is(f, "ElementWiseSubtract")) return k == 1 ? Equation{1, other - y} : Equation{1, y + other};
    if (is(f, "ElementWiseMultiply")) return Equation{other, y};
    if (is(f, "ElementWiseDivide")) return k == 1 ? Equation{y, other} : Equation{1 / other, y};
    return std::nullopt;
  }

  /// What the output tells of each element of constant operand k; empty where the operation cannot be undone.
  std::vector<ConstantEstimate> estimates(std::size_t k) const {
    const Tensor& constant = *values_[k];
    const Tensor& other = *values_[1 - k];
    if (!undo(k, 1, 1) || constant.size() > std::numeric_limits<std::int32_t>::max()) return {};
    std::vector<std::int32_t> index(static_cast<std::size_t>(constant.size()));
    std::iota(index.begin(), index.end(), 0);
    std::vector<SlopeFit> sums(index.size());
    const std::span<const float> device = evidence_.device.f32();
    std::vector<float> visited(device.size());
    std::int64_t element = 0;
    broadcast_apply<std::int32_t, float, float>(
        index, constant.dims(), other.f32(), other.dims(), visited, stage_.out, [&](std::int32_t c, float x) {
          const float stored = device[static_cast<std::size_t>(element)];
          const std::optional<double> y = stage_.finish.invert ? stage_.finish.invert(stored, element) : stored;
          ++element;
          if (!y) return 0.0F;
          const Equation e = *undo(k, *y, x);
          // An unseen intermediate result rounds too; a quotient errs by 2.5 units, and as a weight it carries its
          // error over to the target.
          const double error =
              3 * kHalfUnitRoundoff * (std::fabs(*y) + std::fabs(stored) + std::fabs(e.target)) + kHalfMinNormal;
          sums[static_cast<std::size_t>(c)].add(e.weight, e.target, error);
          return 0.0F;
        });
    std::vector<ConstantEstimate> all(sums.size());
    std::transform(sums.begin(), sums.end(), all.begin(), [](const SlopeFit& sum) { return sum.estimate(); });
    return all;
  }

  void misread(std::size_t k) {
    for (Misreading& other : misreadings(values_[k]->dims(), stage_.out)) {
      BinaryStage wrong = stage_;
      wrong.operands[k].view.dims = std::move(other.dims);
      wrong.operands[k].view.source = std::move(other.source);
      add("flatten_layout_wrong", fmt::format("layout of the {}", name(k)), other.used, "as the other operand", wrong);
    }
  }

  void other_tensors() {
    for (std::size_t k = 2; k-- > 0;) {
      other_tensors(k, values_[k]->dims());
      // One that needs no broadcasting is a mistake as easily made.
      if (values_[k]->dims() != stage_.out) other_tensors(k, stage_.out);
    }
  }

  void other_tensors(std::size_t k, const Dims& dims) {
    for (Peer& peer : nearest_peers(evidence_, dims)) {
      BinaryStage wrong = stage_;
      const std::string tensor = peer.name;
      wrong.operands[k].view = {.load = peer_operand(std::move(peer)), .dims = dims};
      add("second_input_wrong", name(k), tensor, fmt::format("the {}", name(k)), wrong);
    }
  }

  const Evidence& evidence_;
  const BinaryStage& stage_;
  std::vector<OperandValue> values_;
  std::vector<Hypothesis> list_;
};

}  // namespace

std::span<const BinaryFunction> binary_functions() { return kFunctions; }

const BinaryFunction* find_binary_function(std::string_view qnn_type) {
  const auto found =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const BinaryFunction& f) { return is(f, qnn_type); });
  return found == kFunctions.end() ? nullptr : &*found;
}

BinaryOperand binary_operand(const LowerContext& context, std::size_t k) {
  BinaryOperand operand{.name = k == 0 ? "first operand" : "second operand",
                        .view = {.load = stage_input(k), .dims = context.inputs[k].spec.dims}};
  const Tensor* host = context.inputs[k].host;
  operand.constant = host != nullptr;
  if (host != nullptr && host->type() == DType::f32) operand.unrounded = host->f32();
  return operand;
}

Finish relu_finish() {
  return {.apply = [](float v, std::int64_t) { return std::max(0.0F, v); },
          .invert = [](double v, std::int64_t) { return v > 0 ? std::optional<double>(v) : std::nullopt; }};
}

Compute binary_compute(const BinaryStage& stage) {
  return [stage](const RunContext& run) -> Result<StageResult> {
    auto seen = look_at_both(stage, run);
    if (!seen) return fail(seen.error());
    const OperandValue a = seen->a.whole();
    const OperandValue b = seen->b.whole();
    StageResult result{.value = Tensor::f32(stage.out)};
    broadcast_apply<float, float, float>(a->f32(), a->dims(), b->f32(), b->dims(), result.value.f32(), stage.out,
                                         stage.meant->f);
    if (!stage.finish.apply) return result;
    std::int64_t element = 0;
    for (float& y : result.value.f32()) y = stage.finish.apply(y, element++);
    return result;
  };
}

MakeExact binary_exact(const BinaryStage& stage) {
  return [stage](const RunContext& run) -> Result<ElementValue> {
    auto seen = look_at_both(stage, run);
    if (!seen) return fail(seen.error());
    const Dims a_strides = broadcast_strides(seen->a.dims, stage.out);
    const Dims b_strides = broadcast_strides(seen->b.dims, stage.out);
    return [stage, seen = std::move(*seen), a_strides, b_strides](std::int64_t element) -> double {
      const float y = stage.meant->f(seen.a.at(offset_of(element, stage.out, a_strides)),
                                     seen.b.at(offset_of(element, stage.out, b_strides)));
      return stage.finish.apply ? stage.finish.apply(y, element) : y;
    };
  };
}

std::vector<Hypothesis> binary_mistakes(const Evidence& evidence, const BinaryStage& stage) {
  return Mistakes(evidence, stage).all();
}

}  // namespace qnndbg
