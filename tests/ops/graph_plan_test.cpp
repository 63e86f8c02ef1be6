// What is known of a whole graph before anything runs.
#include "ops/graph_plan.h"

#include "oracle.h"

namespace qnndbg::test {
namespace {

OpSpec node(int kind, std::vector<int> inputs, int output) {
  return {kind, "op" + std::to_string(output), std::move(inputs), {output}};
}

/// x -> Shape -> Reshape(x, shape) -> Svd (not implemented) -> ReLU
ModelBytes chain(const std::vector<int>& input_dims) {
  NetSpec net{.tensors = {"x", "shape", "same", "u", "y"}};
  net.ops = {input_op("x", 0, input_dims), node(wire::Kind_Shape, {0}, 1), node(wire::Kind_Reshape, {0, 1}, 2),
             node(wire::Kind_Svd, {2}, 3), node(wire::Kind_ReLU, {3}, 4)};
  return build(net);
}

TEST(GraphPlan, HostValuesAreComputedAndShapesFollow) {
  const ModelBytes bytes = chain({2, 3});
  const auto model = Model::parse(bytes.bytes(), "chain.mnn");
  ASSERT_TRUE(model) << model.error().message;
  const GraphPlan plan = plan_graph(*model, {});
  EXPECT_TRUE(plan.ops[0].is_input);
  EXPECT_TRUE(plan.ops[1].set_aside);
  ASSERT_TRUE(plan.tensors[1].host);
  expect_same(*plan.tensors[1].host, integers({2}, {2, 3}));
  EXPECT_EQ(plan.ops[2].problem, "");
  EXPECT_FALSE(plan.ops[2].set_aside);
  ASSERT_TRUE(plan.tensors[2].spec);
  EXPECT_EQ(plan.tensors[2].spec->dims, (Dims{2, 3}));
  EXPECT_EQ(plan.operands(2).size(), 2U);
  EXPECT_EQ(plan.outputs(2).at(0).spec.dims, (Dims{2, 3}));
}

TEST(GraphPlan, WhatCannotBePlannedNamesItsProblemAndTheDumpHelpsOn) {
  const ModelBytes bytes = chain({2, 3});
  const auto model = Model::parse(bytes.bytes(), "chain.mnn");
  ASSERT_TRUE(model) << model.error().message;
  const GraphPlan blind = plan_graph(*model, {});
  EXPECT_FALSE(blind.ops[3].problem.empty());
  EXPECT_FALSE(blind.ops[4].problem.empty());  // the shape of its input is not known
  EXPECT_FALSE(blind.tensors[4].spec);

  PlanHints hints;
  hints.dumped_spec = [](int tensor, bool) {
    return tensor == 3 ? std::optional(TensorSpec{DType::f32, {5, 7}}) : std::nullopt;
  };
  const GraphPlan seen = plan_graph(*model, hints);
  EXPECT_FALSE(seen.ops[3].problem.empty());
  EXPECT_EQ(seen.ops[4].problem, "");
  ASSERT_TRUE(seen.tensors[4].spec);
  EXPECT_EQ(seen.tensors[4].spec->dims, (Dims{5, 7}));
}

TEST(GraphPlan, OpenInputsNeedDims) {
  const ModelBytes bytes = chain({-1, 3});
  const auto model = Model::parse(bytes.bytes(), "chain.mnn");
  ASSERT_TRUE(model) << model.error().message;
  const GraphPlan open = plan_graph(*model, {});
  EXPECT_FALSE(open.ops[0].problem.empty());
  EXPECT_FALSE(open.tensors[2].spec);

  PlanHints hints;
  hints.input_dims[0] = {4, 3};
  const GraphPlan given = plan_graph(*model, hints);
  EXPECT_EQ(given.ops[0].problem, "");
  ASSERT_TRUE(given.tensors[2].spec);
  EXPECT_EQ(given.tensors[2].spec->dims, (Dims{4, 3}));
}

}  // namespace
}  // namespace qnndbg::test
