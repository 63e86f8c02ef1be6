// A whole model as one QNN graph: names, layouts and types as MNN's dumps show them, and what must hold of every graph.
#include "ops/qnn_graph.h"

#include <filesystem>
#include <set>

#include "dump/dump.h"
#include "ops/qnn_text.h"

namespace qnndbg::test {
namespace {

/// A graph with what it refers to.
struct Built {
  std::unique_ptr<ModelBytes> bytes = {};
  std::unique_ptr<Model> model = {};
  std::unique_ptr<GraphPlan> plan = {};
  QnnGraph graph = {};
};

void build_graph(Built& built, const QnnGraphOptions& options) {
  built.plan = std::make_unique<GraphPlan>(plan_graph(*built.model, {}));
  auto graph = build_qnn_graph(*built.model, *built.plan, options);
  ASSERT_TRUE(graph) << graph.error().message;
  built.graph = std::move(*graph);
}

Built graph_of(const NetSpec& net, const QnnGraphOptions& options = {}) {
  Built built;
  built.bytes = std::make_unique<ModelBytes>(build(net));
  auto model = Model::parse(built.bytes->bytes(), "net.mnn");
  if (!model) {
    ADD_FAILURE() << model.error().message;
    return built;
  }
  built.model = std::make_unique<Model>(std::move(*model));
  build_graph(built, options);
  return built;
}

std::string example(const std::string& name) { return std::string(QNNDBG_SOURCE_DIR) + "/examples/" + name; }

Built graph_of_example(const std::string& name, const QnnGraphOptions& options = {}) {
  Built built;
  auto model = Model::open(example(name + "/model.mnn"));
  if (!model) {
    ADD_FAILURE() << model.error().message;
    return built;
  }
  built.model = std::make_unique<Model>(std::move(*model));
  build_graph(built, options);
  return built;
}

std::string tensors_of(const QnnGraph& graph) {
  std::string text;
  for (const QnnGraphTensor& t : graph.tensors) {
    const char* kind = t.kind == QnnTensorKind::input    ? "in"
                       : t.kind == QnnTensorKind::output ? "out"
                       : t.kind == QnnTensorKind::native ? "native"
                                                         : "static";
    text += fmt::format("{} {} {} {}\n", t.name, kind, text_of(t.type), to_string(t.dims));
  }
  return text;
}

std::string nodes_of(const QnnGraph& graph) {
  std::string text;
  for (const QnnGraphNode& node : graph.nodes) {
    text += node.type + " " + node.name + ":";
    for (int t : node.inputs) text += " " + graph.tensors.at(u(t)).name;
    text += " ->";
    for (int t : node.outputs) text += " " + graph.tensors.at(u(t)).name;
    text += "\n";
  }
  return text;
}

/// What holds of every graph: an operand exists and is made before it is read, a tensor is made once, static data has
/// the size of its dims, parameters are those of the node's type.
void expect_sound(const Built& built, MappingStyle style) {
  const QnnGraph& graph = built.graph;
  std::vector<bool> made(graph.tensors.size(), false);
  std::set<std::string> names;
  for (std::size_t k = 0; k < graph.tensors.size(); ++k) {
    const QnnGraphTensor& t = graph.tensors[k];
    EXPECT_TRUE(names.insert(t.name).second) << t.name << " twice";
    EXPECT_TRUE(check_dims(t.dims)) << t.name;
    EXPECT_FALSE(t.dims.empty()) << t.name;
    EXPECT_EQ(is_quantized(t.type.type), t.type.encoding.kind != QnnEncoding::Kind::none) << t.name;
    if (t.kind == QnnTensorKind::input || t.kind == QnnTensorKind::static_data) made[k] = true;
    ASSERT_EQ(t.kind == QnnTensorKind::static_data, static_cast<bool>(t.data)) << t.name;
    if (!t.data) continue;
    auto bytes = t.data();
    ASSERT_TRUE(bytes) << t.name << ": " << bytes.error().message;
    EXPECT_EQ(bytes->size(), static_cast<std::size_t>(element_count(t.dims)) * size_of(t.type.type)) << t.name;
  }
  for (const QnnGraphNode& node : graph.nodes) {
    for (int t : node.inputs) {
      ASSERT_TRUE(t >= 0 && t < static_cast<int>(made.size())) << node.name;
      EXPECT_TRUE(made[u(t)]) << node.name << " reads " << graph.tensors[u(t)].name << " before it is made";
    }
    for (int t : node.outputs) {
      ASSERT_TRUE(t >= 0 && t < static_cast<int>(made.size())) << node.name;
      EXPECT_FALSE(made[u(t)]) << node.name << " makes " << graph.tensors[u(t)].name << " again";
      made[u(t)] = true;
    }
    expect_defined(node.type, node.params, style == MappingStyle::mnn);
  }
  for (std::size_t k = 0; k < made.size(); ++k) {
    const QnnGraphTensor& t = graph.tensors[k];
    EXPECT_TRUE(made[k]) << "nothing makes " << t.name;
    if (t.tensor < 0 || t.stage == "Cast") continue;
    // A tensor of the model stands in the order that its consumers expect of it.
    const PlannedTensor& planned = built.plan->tensors[u(t.tensor)];
    const Layout layout = planned.host ? Layout::logical : planned.layout;
    EXPECT_EQ(to_string(t.dims), to_string(device_dims(planned.spec->dims, layout))) << t.name;
  }
}

/// Every tensor of a dump that MNN wrote, under its name, in its order, with dims, type and encoding. An example may
/// leave tensors out.
void expect_as_dumped(const QnnGraph& graph, const std::filesystem::path& directory) {
  auto dump = Dump::open(directory);
  ASSERT_TRUE(dump) << dump.error().message;
  auto execution = dump->read_last_complete();
  ASSERT_TRUE(execution) << execution.error().message;
  ASSERT_FALSE(execution->entries.empty());
  const std::vector<int> list = graph.dumped();
  std::size_t next = 0;
  for (const DumpEntry& theirs : execution->entries) {
    while (next < list.size() && graph.tensors[u(list[next])].name != theirs.name) ++next;
    ASSERT_LT(next, list.size()) << theirs.name << " is not there, or not in this place";
    const QnnGraphTensor& ours = graph.tensors[u(list[next])];
    EXPECT_EQ(to_string(ours.dims), to_string(theirs.dims)) << ours.name;
    EXPECT_EQ(ours.type.type, theirs.type) << ours.name;
    ASSERT_EQ(ours.type.encoding.kind == QnnEncoding::Kind::per_tensor, theirs.encoding.has_value()) << ours.name;
    if (!theirs.encoding) continue;
    EXPECT_EQ(ours.type.encoding.values[0].offset, theirs.encoding->offset) << ours.name;
    EXPECT_NEAR(ours.type.encoding.values[0].scale / theirs.encoding->scale, 1, 1e-6) << ours.name;
  }
}

TEST(QnnGraph, TensorsOfTheExamplesAreThoseOfTheirDumps) {
  for (const char* name : {"mini", "miniq"}) {
    const Built built = graph_of_example(name);
    EXPECT_TRUE(built.graph.unmapped.empty()) << name;
    expect_as_dumped(built.graph, example(std::string(name) + "/clean/dump"));
    expect_sound(built, MappingStyle::mnn);
  }
}

TEST(QnnGraph, EveryStyleAndPrecisionIsSound) {
  for (const char* name : {"mini", "miniq"}) {
    for (MappingStyle style : {MappingStyle::mnn, MappingStyle::model}) {
      for (DType type : {DType::f16, DType::f32}) {
        const Built built = graph_of_example(name, {.style = style, .float_type = type});
        EXPECT_TRUE(built.graph.unmapped.empty()) << name;
        expect_sound(built, style);
        for (const QnnGraphTensor& t : built.graph.tensors) {
          EXPECT_FALSE(type == DType::f32 && t.type.type == DType::f16) << t.name;
        }
      }
    }
  }
}

/// x -> ReLU -> y
NetSpec one_relu(const std::vector<int>& dims) {
  return {.tensors = {"x", "y"},
          .ops = {input_op("x", 0, dims), {wire::Kind_ReLU, "block/relu.1", {0}, {1}}},
          .outputs = {"y"}};
}

TEST(QnnGraph, TheEndsAreCastInHalfAloneAndNamesAreSanitised) {
  const Built half = graph_of(one_relu({2, 3}));
  EXPECT_EQ(tensors_of(half.graph),
            "t0 in f32 2x3\n"
            "t0_cast native f16 2x3\n"
            "t1 out f32 2x3\n"
            "t1_cast native f16 2x3\n");
  EXPECT_EQ(nodes_of(half.graph),
            "Cast Cast_I_0_O_1: t0 -> t0_cast\n"
            "Relu block_relu_1: t0_cast -> t1_cast\n"
            "Cast Cast_I_3_O_2: t1_cast -> t1\n");
  const Built single = graph_of(one_relu({2, 3}), {.float_type = DType::f32});
  EXPECT_EQ(tensors_of(single.graph), "t0 in f32 2x3\nt1 out f32 2x3\n");
  EXPECT_EQ(nodes_of(single.graph), "Relu block_relu_1: t0 -> t1\n");
}

TEST(QnnGraph, InputsComeWhereTheyAreReadAndUnreadOutputsAreOutputs) {
  NetSpec net{.tensors = {"x", "k", "late", "values", "places", "y"},
              .ops = {input_op("x", 0, {2, 3}),
                      {wire::Kind_Const,
                       "k",
                       {},
                       {1},
                       wire::OpParameter_Blob,
                       [](Builder& b) {
                         const auto dims = b.CreateVector(std::vector<int>{1});
                         const auto data = b.CreateVector(std::vector<int>{3});
                         wire::BlobBuilder blob(b);
                         blob.add_dims(dims);
                         blob.add_dataType(wire::DType_DT_INT32);
                         blob.add_int32s(data);
                         return blob.Finish().Union();
                       }},
                      input_op("late", 2, {2, 3}),
                      {wire::Kind_TopKV2, "top", {0, 1}, {3, 4}},
                      {wire::Kind_Eltwise,
                       "sum",
                       {3, 2},
                       {5},
                       wire::OpParameter_Eltwise,
                       [](Builder& b) { return wire::CreateEltwise(b, wire::EltKind_SUM).Union(); }}},
              .outputs = {"y"}};
  const Built built = graph_of(net, {.float_type = DType::f32});
  EXPECT_EQ(tensors_of(built.graph),
            "t0 in f32 2x3\n"
            "t3 native f32 2x3\n"
            "t4 out i32 2x3\n"
            "t2 in f32 2x3\n"
            "t5 out f32 2x3\n");
  expect_sound(built, MappingStyle::mnn);
}

TEST(QnnGraph, IntegerEndsAreNotCast) {
  NetSpec net{.tensors = {"x", "y"},
              .ops = {input_op("x", 0, {2, 3}),
                      {wire::Kind_ArgMax,
                       "a",
                       {0},
                       {1},
                       wire::OpParameter_ArgMax,
                       [](Builder& b) { return wire::CreateArgMax(b, 0, 0, 1).Union(); }}},
              .outputs = {"y"}};
  EXPECT_EQ(tensors_of(graph_of(net).graph),
            "t0 in f32 2x3\n"
            "t0_cast native f16 2x3\n"
            "t1 out i32 2\n");
}

OpSpec scalar_const(const std::string& name, int tensor, float value) {
  return {wire::Kind_Const, name, {}, {tensor}, wire::OpParameter_Blob, [value](Builder& b) {
            const auto dims = b.CreateVector(std::vector<int>{});
            const auto data = b.CreateVector(std::vector<float>{value});
            wire::BlobBuilder blob(b);
            blob.add_dims(dims);
            blob.add_dataType(wire::DType_DT_FLOAT);
            blob.add_dataFormat(wire::Layout_NCHW);
            blob.add_float32s(data);
            return blob.Finish().Union();
          }};
}

TEST(QnnGraph, ConstantsTakeANumberWhereTheyAreMet) {
  NetSpec net{.tensors = {"x", "c", "y"},
              .ops = {input_op("x", 0, {2, 3}),
                      scalar_const("c", 1, 3),
                      {wire::Kind_BinaryOp,
                       "mul",
                       {0, 1},
                       {2},
                       wire::OpParameter_BinaryOp,
                       [](Builder& b) {
                         wire::BinaryOpBuilder op(b);
                         op.add_opType(wire::Bin_MUL);
                         return op.Finish().Union();
                       }}},
              .outputs = {"y"}};
  const Built built = graph_of(net, {.float_type = DType::f32});
  EXPECT_EQ(tensors_of(built.graph),
            "t0 in f32 2x3\n"
            "t2 out f32 2x3\n"
            "mul_stage_0 native f32 1x1\n"
            "mul_stage_1 native f32 2x3\n"
            "QnnTensor_2 static f32 1\n");
  EXPECT_EQ(built.graph.nodes.at(1).params.at(0).tensor_name, "mul_multiples_PARAM");
  expect_sound(built, MappingStyle::mnn);
}

TEST(QnnGraph, UnnamedOperatorsAreNamedByTheirTensors) {
  NetSpec net = one_relu({2, 3});
  net.ops[1].name.clear();
  EXPECT_NE(nodes_of(graph_of(net).graph).find("Relu ReLU_I_0_O_2:"), std::string::npos);
}

/// x -> Sigmoid (float) -> ReLU -> y, where the model gives encodings to what ReLU reads and writes.
NetSpec half_quantized() {
  return {.tensors = {"x", "s", "y", "z"},
          .ops = {input_op("x", 0, {2, 3}),
                  {wire::Kind_Sigmoid, "s", {0}, {1}},
                  {wire::Kind_ReLU, "r", {1}, {2}},
                  {wire::Kind_Sigmoid, "t", {2}, {3}}},
          .outputs = {"z"},
          .quants = {{.tensor = 1, .scale = 0.25F}, {.tensor = 2, .scale = 0.25F}}};
}

TEST(QnnGraph, FloatsAndFixedPointAreConvertedBetweenOperators) {
  const Built built = graph_of(half_quantized());
  EXPECT_EQ(tensors_of(built.graph),
            "t0 in f32 2x3\n"
            "t0_cast native f16 2x3\n"
            "t1 native f16 2x3\n"
            "QnnTensor_3 native sfixed8(0.25,0) 2x3\n"
            "FloatToInt8_I_2_O_3_Cast native f32 2x3\n"
            "t2 native sfixed8(0.25,0) 2x3\n"
            "QnnTensor_5 native f16 2x3\n"
            "t3 out f32 2x3\n"
            "t3_cast native f16 2x3\n");
  EXPECT_EQ(nodes_of(built.graph),
            "Cast Cast_I_0_O_1: t0 -> t0_cast\n"
            "Sigmoid s: t0_cast -> t1\n"
            "Cast FloatToInt8_I_2_O_3_Cast: t1 -> FloatToInt8_I_2_O_3_Cast\n"
            "Quantize FloatToInt8_I_2_O_3: FloatToInt8_I_2_O_3_Cast -> QnnTensor_3\n"
            "Relu r: QnnTensor_3 -> t2\n"
            "Dequantize Int8ToFloat_I_4_O_5: t2 -> QnnTensor_5\n"
            "Sigmoid t: QnnTensor_5 -> t3_cast\n"
            "Cast Cast_I_7_O_6: t3_cast -> t3\n");
  expect_sound(built, MappingStyle::mnn);
}

TEST(QnnGraph, AQuantizedOutputIsDequantizedAtTheEnd) {
  NetSpec net = half_quantized();
  net.ops.pop_back();
  net.tensors.pop_back();
  net.outputs = {"y"};
  EXPECT_NE(nodes_of(graph_of(net).graph).find("Dequantize Dequantize_I_5_O_4: t2_cast -> t2\n"), std::string::npos);
  const Built single = graph_of(net, {.float_type = DType::f32});
  EXPECT_NE(nodes_of(single.graph).find(": t2_dequant -> t2\n"), std::string::npos);
}

TEST(QnnGraph, AnInt8OffsetIsRefused) {
  NetSpec net = half_quantized();
  net.quants[1].zero = 3;
  const Built built = graph_of(net);
  ASSERT_EQ(built.graph.unmapped.size(), 2U);
  EXPECT_EQ(built.graph.unmapped[0].op, 2);
  EXPECT_EQ(built.graph.unmapped[0].refusal.kind, QnnRefusal::Kind::encode_error);
}

TEST(QnnGraph, ASelectionReadsAndWritesInTheDevicesTypes) {
  const Built built = graph_of(half_quantized(), {.only = {2}});
  EXPECT_EQ(tensors_of(built.graph),
            "t1 in f16 2x3\n"
            "QnnTensor_1 native sfixed8(0.25,0) 2x3\n"
            "FloatToInt8_I_0_O_1_Cast native f32 2x3\n"
            "t2 out sfixed8(0.25,0) 2x3\n");
  const Built last = graph_of(half_quantized(), {.only = {3}});
  EXPECT_EQ(last.graph.tensors.at(u(last.graph.inputs.at(0))).name, "t2");
  EXPECT_EQ(last.graph.tensors.at(u(last.graph.outputs.at(0))).name, "t3_cast");
  const Built first = graph_of(half_quantized(), {.only = {1}});
  EXPECT_EQ(first.graph.tensors.at(u(first.graph.inputs.at(0))).name, "t0_cast");
}

TEST(QnnGraph, EveryOperatorOfAnExampleStandsAlone) {
  for (const char* name : {"mini", "miniq"}) {
    const Built whole = graph_of_example(name);
    for (const OpNode& op : whole.model->graph().ops) {
      const PlannedOp& planned = whole.plan->ops[u(op.index)];
      if (planned.is_input || planned.set_aside) continue;
      const Built one = graph_of_example(name, {.only = {op.index}});
      EXPECT_FALSE(one.graph.nodes.empty()) << describe(op);
      expect_sound(one, MappingStyle::mnn);
    }
  }
  const Built mini = graph_of_example("mini");
  EXPECT_FALSE(build_qnn_graph(*mini.model, *mini.plan, {.only = {100000}}));
}

TEST(QnnGraph, WhatCannotBeMappedIsListedWithWhatNeedsIt) {
  NetSpec net{.tensors = {"x", "a", "b", "y"},
              .ops = {input_op("x", 0, {2, 3}),
                      {wire::Kind_UnaryOp,
                       "erf",
                       {0},
                       {1},
                       wire::OpParameter_UnaryOp,
                       [](Builder& b) {
                         wire::UnaryOpBuilder op(b);
                         op.add_opType(wire::Un_ERF);
                         return op.Finish().Union();
                       }},
                      {wire::Kind_ReLU, "r", {1}, {2}},
                      {wire::Kind_Svd, "svd", {0}, {3}}},
              .outputs = {"b"}};
  const Built built = graph_of(net);
  ASSERT_EQ(built.graph.unmapped.size(), 3U);
  EXPECT_EQ(built.graph.unmapped[0].refusal.kind, QnnRefusal::Kind::refused);
  EXPECT_EQ(built.graph.unmapped[1].refusal.kind, QnnRefusal::Kind::not_mapped);
  EXPECT_NE(built.graph.unmapped[1].refusal.reason.find("operator #1 \"erf\""), std::string::npos);
  EXPECT_EQ(built.graph.unmapped[2].refusal.kind, QnnRefusal::Kind::unregistered);
  const Built alone = graph_of(net, {.only = {2}});
  EXPECT_TRUE(alone.graph.unmapped.empty());
  EXPECT_EQ(alone.graph.nodes.size(), 1U);
}

TEST(QnnGraph, NodesOfOneNameAreToldApartByTheModelStyleAlone) {
  NetSpec net{.tensors = {"x", "a", "y"},
              .ops = {input_op("x", 0, {2}), {wire::Kind_ReLU, "a/b", {0}, {1}}, {wire::Kind_ReLU, "a_b", {1}, {2}}},
              .outputs = {"y"}};
  EXPECT_EQ(graph_of(net).graph.nodes.at(2).name, "a_b");
  EXPECT_EQ(graph_of(net, {.style = MappingStyle::model}).graph.nodes.at(2).name, "a_b_op2");
}

}  // namespace
}  // namespace qnndbg::test
