#include "graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qnndbg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

OpNode op(int index, const std::string& name, std::vector<int> outputs) {
  OpNode node;
  node.index = index;
  node.name = name;
  node.type_name = "Convolution";
  node.outputs = std::move(outputs);
  return node;
}

Graph small_graph() {
  Graph graph;
  graph.ops = {op(0, "image", {0}), op(1, "conv1", {1}), op(2, "twin", {2}), op(3, "twin", {3}), op(4, "t0", {4})};
  graph.tensors.resize(6);
  for (const OpNode& node : graph.ops) graph.tensors[static_cast<std::size_t>(node.outputs[0])].producer = node.index;
  graph.tensors[0].name = "pixels";
  graph.inputs.emplace_back();  // operator 0 makes tensor 0
  return graph;
}

TEST(Graph, FindsOperatorsByNamePositionAndTensor) {
  const Graph graph = small_graph();
  EXPECT_EQ(graph.find_op("conv1"), 1);
  EXPECT_EQ(graph.find_op("#3"), 3);
  EXPECT_EQ(graph.find_op("t1"), 1);
  EXPECT_EQ(graph.find_op("t0"), 4) << "a name goes before a tensor number";
}

std::string miss(const Graph& graph, std::string_view text) { return graph.find_op(text).error().message; }

TEST(Graph, SaysWhyAnOperatorIsNotFound) {
  const Graph graph = small_graph();
  EXPECT_EQ(miss(graph, "twin"), "\"twin\" names 2 operators; say which one: #2, #3");
  EXPECT_THAT(miss(graph, "covn1"), HasSubstr("did you mean \"conv1\"?"));
  EXPECT_THAT(miss(graph, "#5"), HasSubstr("5 operators, #0 to #4"));
  EXPECT_THAT(miss(graph, "t6"), HasSubstr("6 tensors, t0 to t5"));
  EXPECT_THAT(miss(graph, "t5"), HasSubstr("no operator of the model makes tensor t5"));
  EXPECT_THAT(miss(graph, "#99999999999"), HasSubstr("no operator \"#99999999999\""));
  EXPECT_THAT(miss(graph, "#-1"), HasSubstr("no operator \"#-1\""));
  EXPECT_THAT(miss(graph, "t1x"), HasSubstr("no operator \"t1x\""));
  EXPECT_THAT(miss(graph, ""), HasSubstr("#position"));
}

TEST(Graph, FindsInputsByTensorOrOperatorName) {
  const Graph graph = small_graph();
  ASSERT_NE(graph.find_input("pixels"), nullptr);
  EXPECT_EQ(graph.find_input("pixels"), graph.find_input("image"));
  EXPECT_EQ(graph.find_input("conv1"), nullptr);
}

TEST(Names, FollowTheDevice) {
  EXPECT_EQ(qnn_node_name("/model.0/conv:Conv-1 x"), "_model_0_conv_Conv-1 x");
  EXPECT_EQ(tensor_id(20), "t20");
  EXPECT_EQ(name_of(MnnFormat::nc4hw4), "NC4HW4");
}

TEST(Names, DescribeOperators) {
  EXPECT_EQ(describe(op(3, "conv1", {})), "operator #3 \"conv1\" (Convolution)");
  EXPECT_EQ(describe(op(3, "", {})), "operator #3 (Convolution)");
  std::string umlauts = "x";
  for (int i = 0; i < 5000; ++i) umlauts += "\xC3\xA4";
  const std::string text = describe(op(3, umlauts, {}));
  EXPECT_LT(text.size(), 200U);
  EXPECT_THAT(text, HasSubstr("\xC3\xA4...\xC3\xA4")) << "no character is cut";
}

TEST(NearestNames, OrdersByDistance) {
  const std::vector<std::string> names = {"conv2", "conv1_relu", "conv1", "pool", "conv11", "conv1"};
  EXPECT_THAT(nearest_names("conv1", names), ElementsAre("conv1", "conv2", "conv11"));
  EXPECT_THAT(nearest_names("ocnv1", names, 1), ElementsAre("conv1")) << "swapped neighbours are one slip";
  EXPECT_THAT(nearest_names("something_else", names), IsEmpty());
  EXPECT_THAT(nearest_names("", names), IsEmpty());
  EXPECT_THAT(nearest_names(std::string(100'000, 'x'), names), IsEmpty());
  EXPECT_THAT(nearest_names("ab", {"xy"}), IsEmpty()) << "nothing in common is no suggestion";
}

}  // namespace
}  // namespace qnndbg
