// Tests of operators against oracles: one-operator models, random tensors, and comparison with values that the test
// worked out itself, in double, by the plainest loop.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "graph/model_builder.h"
#include "ops/op.h"
#include "ops/registry.h"

namespace qnndbg::test {

using Rng = std::mt19937;

inline std::size_t u(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Uniform integer of low..high, both included.
inline int pick(Rng& rng, int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); }
inline bool coin(Rng& rng) { return pick(rng, 0, 1) == 1; }

inline Dims random_dims(Rng& rng, int rank, int low = 1, int high = 5) {
  Dims dims;
  for (int k = 0; k < rank; ++k) dims.push_back(pick(rng, low, high));
  return dims;
}

inline std::vector<float> random_floats(Rng& rng, std::int64_t count, float low = -2, float high = 2) {
  std::uniform_real_distribution<float> value(low, high);
  std::vector<float> values(u(count));
  for (float& v : values) v = value(rng);
  return values;
}

inline Tensor floats(const Dims& dims, const std::vector<float>& values) {
  Tensor t = Tensor::f32(dims);
  EXPECT_EQ(t.f32().size(), values.size());
  std::copy(values.begin(), values.end(), t.f32().begin());
  return t;
}

inline Tensor integers(const Dims& dims, const std::vector<std::int32_t>& values) {
  Tensor t = Tensor::i32(dims);
  EXPECT_EQ(t.i32().size(), values.size());
  std::copy(values.begin(), values.end(), t.i32().begin());
  return t;
}

inline Tensor random_tensor(Rng& rng, const Dims& dims, float low = -2, float high = 2) {
  return floats(dims, random_floats(rng, element_count(dims), low, high));
}

inline Tensor random_integers(Rng& rng, const Dims& dims, int low, int high) {
  Tensor t = Tensor::i32(dims);
  for (std::int32_t& v : t.i32()) v = pick(rng, low, high);
  return t;
}

/// Every index of a tensor of these dims, in row-major order; one empty index for rank 0.
inline std::vector<Dims> indices_of(const Dims& dims) {
  std::vector<Dims> all{{}};
  for (std::int64_t extent : dims) {
    std::vector<Dims> longer;
    for (const Dims& index : all) {
      for (std::int64_t i = 0; i < extent; ++i) {
        longer.push_back(index);
        longer.back().push_back(i);
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// Element at an index. An index beyond the dims is a bug of the test and fails it.
inline double at(const Tensor& t, const Dims& index) {
  EXPECT_EQ(index.size(), t.dims().size());
  std::int64_t offset = 0;
  for (std::size_t k = 0; k < index.size(); ++k) {
    EXPECT_TRUE(index[k] >= 0 && index[k] < t.dims()[k]);
    offset = offset * t.dims()[k] + index[k];
  }
  return t.type() == DType::f32 ? static_cast<double>(t.f32()[u(offset)]) : static_cast<double>(t.i32()[u(offset)]);
}

/// What an oracle says of one output element: the value, and how far fp32 arithmetic may be away from it.
struct Exact {
  double value = 0;
  double tolerance = 0;
};

/// Compares a tensor with the oracle `f(index)`; tells the first element that is off.
inline void expect_tensor(const Tensor& actual, DType type, const Dims& dims,
                          const std::function<Exact(const Dims&)>& f) {
  ASSERT_EQ(actual.type(), type);
  ASSERT_EQ(to_string(actual.dims()), to_string(dims));
  for (const Dims& index : indices_of(dims)) {
    const Exact exact = f(index);
    const double got = at(actual, index);
    if (std::isnan(exact.value) && std::isnan(got)) continue;
    if (got == exact.value) continue;  // infinities too
    ASSERT_LE(std::abs(got - exact.value), exact.tolerance)
        << "at " << ::testing::PrintToString(index) << " of " << to_string(dims) << ": " << got << " instead of "
        << exact.value;
  }
}

/// The same element for element, for operators that only move data.
inline void expect_moved(const Tensor& actual, const Tensor& source, const Dims& dims,
                         const std::function<Dims(const Dims&)>& from) {
  expect_tensor(actual, source.type(), dims, [&](const Dims& index) { return Exact{at(source, from(index)), 0}; });
}

/// A model of one operator, and its Op.
class OneOp {
 public:
  /// `inputs` operands that are there; more by name can be left out with a null tensor in run().
  OneOp(int kind, int inputs, wire::OpParameter main_type = wire::OpParameter_NONE,
        std::function<Table(Builder&)> main = {}, int outputs = 1)
      : bytes_(build(net(kind, inputs, main_type, std::move(main), outputs))) {
    auto parsed = Model::parse(bytes_.bytes(), "one.mnn");
    if (!parsed) {
      ADD_FAILURE() << parsed.error().message;
      return;
    }
    model_ = std::make_unique<Model>(std::move(*parsed));
    auto made = make_op(*model_, model_->graph().ops.back());
    if (made) {
      op_ = std::move(*made);
    } else {
      error_ = made.error();
    }
  }

  /// Precondition: make_op() succeeded.
  const Op& op() const { return *op_; }

  /// Operands as the planner would give them, all of them host values; null tensors are omitted ones.
  static std::vector<Operand> operands(const std::vector<const Tensor*>& inputs) {
    std::vector<Operand> all;
    for (const Tensor* t : inputs) {
      all.push_back(t == nullptr ? Operand{} : Operand{.present = true, .spec = {t->type(), t->dims()}, .host = t});
    }
    return all;
  }

  Result<std::vector<Tensor>> run(const std::vector<const Tensor*>& inputs) const {
    if (!op_) return fail(error_);
    return run_reference(*op_, operands(inputs), inputs, std::nullopt);
  }

  /// The stages of the operator when the dump holds `dumped`; a failed test and none if it refuses.
  std::vector<Stage> stages(const std::vector<const Tensor*>& inputs, const std::set<std::string>& dumped = {}) const {
    if (!op_) {
      ADD_FAILURE() << error_.message;
      return {};
    }
    const std::vector<Operand> in = operands(inputs);
    auto specs = op_->infer(in);
    if (!specs) {
      ADD_FAILURE() << specs.error().message;
      return {};
    }
    std::vector<Operand> out;
    for (const TensorSpec& spec : *specs) out.push_back({.present = true, .spec = spec});
    auto stages = op_->lower({.inputs = in, .outputs = out, .dumped = [&](std::string_view name) {
                                return dumped.count(std::string(name)) == 1;
                              }});
    if (!stages) {
      ADD_FAILURE() << stages.error().message;
      return {};
    }
    return std::move(*stages);
  }

  /// The operator's first output; a failed test and an empty tensor if it refuses.
  Tensor output(const std::vector<const Tensor*>& inputs) const {
    auto result = run(inputs);
    if (!result) {
      ADD_FAILURE() << result.error().message;
      return {};
    }
    return std::move(result->front());
  }

  /// It must refuse, in words.
  void expect_error(const std::vector<const Tensor*>& inputs, const std::string& what) const {
    auto result = run(inputs);
    ASSERT_FALSE(result) << what << ": accepted";
    EXPECT_FALSE(result.error().message.empty()) << what;
  }

  /// The operator in the stages that it has when the dump holds `dumped`, chained. Checks that every name of `dumped`
  /// is a stage, that exact() agrees with the value, and that |value| <= magnitude.
  std::vector<Tensor> chained(const std::vector<const Tensor*>& inputs, const std::set<std::string>& dumped) const {
    const std::vector<Stage> stages = this->stages(inputs, dumped);
    int count = 0;
    for (const Stage& stage : stages) count = std::max(count, stage.output + 1);
    std::vector<Tensor> values(stages.size());
    std::vector<Tensor> outputs(u(count));
    std::set<std::string> names;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const Stage& stage = stages[s];
      std::vector<const Tensor*> from;
      for (int k : stage.inputs) from.push_back(k >= 0 ? inputs[u(k)] : &values[u(-1 - k)]);
      const RunContext context{.inputs = from, .want_magnitude = true};
      auto result = stage.compute(context);
      if (!result) {
        ADD_FAILURE() << result.error().message;
        return {};
      }
      expect_consistent(stage, context, *result);
      values[s] = std::move(result->value);
      if (stage.name.empty()) {
        outputs[u(stage.output)] = values[s].clone();
      } else {
        names.insert(stage.name);
      }
    }
    EXPECT_EQ(names, dumped);
    return outputs;
  }

 private:
  static NetSpec net(int kind, int inputs, wire::OpParameter main_type, std::function<Table(Builder&)> main,
                     int outputs) {
    NetSpec spec;
    OpSpec op{kind, "op", {}, {}, main_type, std::move(main)};
    for (int k = 0; k < inputs; ++k) {
      spec.tensors.push_back("x" + std::to_string(k));
      spec.ops.push_back(input_op(spec.tensors.back(), k, {1}));
      op.inputs.push_back(k);
    }
    for (int k = 0; k < outputs; ++k) {
      spec.tensors.push_back("y" + std::to_string(k));
      op.outputs.push_back(inputs + k);
    }
    spec.ops.push_back(std::move(op));
    return spec;
  }

  static void expect_consistent(const Stage& stage, const RunContext& context, const StageResult& result) {
    const Tensor& magnitude = result.magnitude;
    if (!magnitude.dims().empty()) {
      ASSERT_EQ(magnitude.dims(), result.value.dims());
      for (std::size_t i = 0; i < magnitude.f32().size(); ++i) {
        ASSERT_GE(magnitude.f32()[i] * 1.00001, std::abs(result.value.f32()[i])) << stage.qnn_type << " element " << i;
      }
    }
    if (!stage.exact) return;
    auto evaluate = stage.exact(context);
    ASSERT_TRUE(evaluate) << evaluate.error().message;
    for (std::int64_t i = 0; i < result.value.size(); ++i) {
      const double sum = magnitude.empty() ? 1 : magnitude.f32()[u(i)];
      ASSERT_NEAR((*evaluate)(i), result.value.f32()[u(i)], 1e-5 * sum + 1e-30) << stage.qnn_type << " element " << i;
    }
  }

  ModelBytes bytes_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Op> op_;
  Error error_;
};

/// Two tensors of one shape, equal within `tolerance` relative to the larger value (0: bit for bit).
inline void expect_same(const Tensor& actual, const Tensor& expected, double tolerance = 0) {
  expect_tensor(actual, expected.type(), expected.dims(), [&](const Dims& index) {
    const double v = at(expected, index);
    return Exact{v, tolerance * std::max(1.0, std::abs(v))};
  });
}

}  // namespace qnndbg::test
