#include <gtest/gtest.h>

#include "dump/dump.h"

namespace qnndbg {
namespace {

using Kind = DumpRole::Kind;

Graph graph_of(const std::vector<std::string>& names, std::size_t tensors) {
  Graph graph;
  graph.tensors.resize(tensors);
  for (const std::string& name : names) {
    OpNode op;
    op.index = static_cast<int>(graph.ops.size());
    op.name = name;
    graph.ops.push_back(op);
  }
  return graph;
}

void expect_tensor(const DumpRole& role, Kind kind, int tensor) {
  EXPECT_EQ(role.kind, kind);
  EXPECT_EQ(role.tensor, tensor);
  EXPECT_EQ(role.op, -1);
  EXPECT_EQ(role.stage, "");
}

void expect_stage(const DumpRole& role, int op, std::string_view stage) {
  EXPECT_EQ(role.kind, Kind::stage);
  EXPECT_EQ(role.op, op);
  EXPECT_EQ(role.stage, stage);
  EXPECT_EQ(role.tensor, -1);
}

TEST(DumpNames, TensorsAndTheirAliases) {
  const DumpNames names(graph_of({"conv"}, 21));
  expect_tensor(names.role("t0"), Kind::tensor, 0);
  expect_tensor(names.role("t20"), Kind::tensor, 20);
  expect_tensor(names.role("t20_cast"), Kind::cast, 20);
  expect_tensor(names.role("t7_dequant"), Kind::dequant, 7);
}

TEST(DumpNames, NotEveryNameThatBeginsWithTIsATensor) {
  const DumpNames names(graph_of({"conv"}, 21));
  for (const char* name : {"", "t", "t_cast", "tx", "t-1", "t21", "t020", "t20_Cast", "t20_", "t20_cast_cast", "t 2",
                           "T2", "t99999999999999999999", "t4294967297"}) {
    EXPECT_EQ(names.role(name).kind, Kind::unknown) << name;
  }
}

TEST(DumpNames, StagesBelongToTheLongestNode) {
  const DumpNames names(graph_of({"conv", "conv_1", "block/conv.2:0", "conv_1_ReluTensor_x"}, 4));
  expect_stage(names.role("conv_ReluTensor"), 0, "ReluTensor");
  expect_stage(names.role("conv_1_ReluTensor"), 1, "ReluTensor");
  expect_stage(names.role("conv_2_ReluTensor"), 0, "2_ReluTensor");
  expect_stage(names.role("conv_stage_0"), 0, "stage_0");
  expect_stage(names.role("block_conv_2_0_tempInput"), 2, "tempInput");
  expect_stage(names.role("conv_1_ReluTensor_x"), 3, "");
  expect_stage(names.role("conv_1"), 1, "");
  expect_stage(names.role("conv_"), 0, "");
  EXPECT_EQ(names.role("convReluTensor").kind, Kind::unknown);
  EXPECT_EQ(names.role("xconv_ReluTensor").kind, Kind::unknown);
}

TEST(DumpNames, OperatorsMayBeNamedLikeTheBackendsOwn) {
  const DumpNames names(graph_of({"t5", "QnnTensor", "", "_", "_mnn"}, 4));
  expect_stage(names.role("t5_cast"), 0, "cast");  // the model has no tensor 5
  expect_stage(names.role("QnnTensor_7"), 1, "7");
  expect_stage(names.role("_mnn_mask"), 4, "mask");
  expect_stage(names.role("__x"), 3, "x");
}

TEST(DumpNames, FirstOfTwoOperatorsWithOneNodeNameWins) {
  const DumpNames names(graph_of({"a/b", "a_b", "a/b"}, 1));
  expect_stage(names.role("a_b_ReluTensor"), 0, "ReluTensor");
}

TEST(DumpNames, NamesOfTheBackendItself) {
  const DumpNames names(graph_of({"conv", ""}, 4));
  EXPECT_EQ(names.role("QnnTensor_2").kind, Kind::quant_stage);
  EXPECT_EQ(names.role("_mnn_i0").kind, Kind::attention);
  EXPECT_EQ(names.role("_mnn_mask").kind, Kind::attention);
  for (const char* name : {"QnnTensor_", "QnnTensor_x", "QnnTensor_2_cast", "mnn_i0", "LayerNorm_I_3_O_4_tempInput",
                           "FloatToInt8_I_0_O_2_Cast", "_conv"}) {
    EXPECT_EQ(names.role(name).kind, Kind::unknown) << name;
  }
}

TEST(DumpNames, NoOperators) { EXPECT_EQ(DumpNames(Graph{}).role("t0").kind, Kind::unknown); }

}  // namespace
}  // namespace qnndbg
