#include "graph/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "dump/temp_dir.h"
#include "graph/mnn_wire.h"
#include "model_builder.h"

namespace qnndbg {
namespace {

using test::input_op;
using test::ModelBytes;
using test::NetSpec;
using test::OpSpec;
using testing::ElementsAre;
using testing::HasSubstr;

NetSpec two_step_net() {
  return {.tensors = {"image", "a", "b"},
          .ops = {input_op("image", 0, {1, 3, 8, 8}),
                  {wire::Kind_ReLU, "act", {0}, {1}},
                  {wire::Kind_BinaryOp, "sum", {1, 0, 1}, {2}}},
          .outputs = {"b"},
          .version = "3.6.1"};
}

Result<Model> parse(const ModelBytes& bytes) { return Model::parse(bytes.bytes(), "net.mnn"); }

std::string error_of(const NetSpec& spec) {
  const ModelBytes bytes = build(spec);
  const Result<Model> model = parse(bytes);
  return model ? "no error" : model.error().message;
}

TEST(Model, BuildsTheGraph) {
  const ModelBytes bytes = build(two_step_net());
  const Result<Model> model = parse(bytes);
  ASSERT_TRUE(model) << model.error().message;
  const Graph& graph = model->graph();
  EXPECT_EQ(model->converter_version(), "3.6.1");
  EXPECT_EQ(graph.source, "ONNX");
  EXPECT_FALSE(model->is_offline_qnn_plugin());
  ASSERT_EQ(graph.ops.size(), 3U);
  EXPECT_EQ(graph.ops[2].type_name, "BinaryOp");
  EXPECT_EQ(graph.ops[2].origin, MnnFormat::nchw);
  EXPECT_THAT(graph.ops[2].inputs, ElementsAre(1, 0, 1));
  EXPECT_EQ(graph.tensors[1].producer, 1);
  EXPECT_THAT(graph.tensors[0].consumers, ElementsAre(1, 2));
  EXPECT_THAT(graph.tensors[1].consumers, ElementsAre(2)) << "an operator that reads a tensor twice is one consumer";
  EXPECT_THAT(graph.outputs, ElementsAre(2));
  ASSERT_EQ(graph.inputs.size(), 1U);
  EXPECT_THAT(graph.inputs[0].dims, ElementsAre(1, 3, 8, 8));
  EXPECT_EQ(graph.inputs[0].type, DType::f32);
  EXPECT_EQ(graph.inputs[0].format, MnnFormat::nchw);
  EXPECT_EQ(&model->wire_op(1), &model->wire_op(1));
  EXPECT_EQ(model->wire_op(1).type(), wire::Kind_ReLU);
}

TEST(Model, SurvivesUnalignedBytesAndMoves) {
  const ModelBytes aligned = build(two_step_net());
  std::vector<std::byte> shifted(aligned.bytes().size() + 1);
  std::copy(aligned.bytes().begin(), aligned.bytes().end(), shifted.begin() + 1);
  Result<Model> parsed = Model::parse(std::span(shifted).subspan(1), "net.mnn");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Model moved = std::move(*parsed);
  std::fill(shifted.begin(), shifted.end(), std::byte{0});
  EXPECT_EQ(moved.wire_op(2).name()->str(), "sum") << "the model keeps its own copy";
}

TEST(Model, OutputsWithoutNamesAreTheUnreadTensors) {
  NetSpec spec = two_step_net();
  spec.outputs = {};
  const ModelBytes unnamed = build(spec);
  EXPECT_THAT(parse(unnamed)->graph().outputs, ElementsAre(2));
  spec.outputs = {"gone", "a"};
  const ModelBytes partly = build(spec);
  EXPECT_THAT(parse(partly)->graph().outputs, ElementsAre(1)) << "a name that no tensor has is passed over";
}

TEST(Model, KeepsUnknownOperatorTypes) {
  NetSpec spec = two_step_net();
  spec.ops[1].type = 200;
  const ModelBytes inside = build(spec);
  EXPECT_EQ(parse(inside)->graph().ops[1].type_name, "OpType 200");
  spec.ops[1].type = 70000;
  const ModelBytes beyond = build(spec);
  EXPECT_EQ(parse(beyond)->graph().ops[1].type_name, "OpType 70000");
}

TEST(Model, KeepsOmittedInputs) {
  NetSpec spec = two_step_net();
  spec.ops[2].inputs = {0, -1, 1};
  const ModelBytes bytes = build(spec);
  const Result<Model> model = parse(bytes);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_THAT(model->graph().ops[2].inputs, ElementsAre(0, -1, 1));
}

TEST(Model, RefusesImpossibleIndices) {
  for (const int index : {3, -2, 2147483647, -2147483647 - 1}) {
    NetSpec spec = two_step_net();
    spec.ops[2].inputs = {index};
    EXPECT_THAT(error_of(spec),
                HasSubstr("net.mnn: operator #2 \"sum\" (BinaryOp) reads tensor " + std::to_string(index)));
    spec = two_step_net();
    spec.ops[2].outputs = {index};
    EXPECT_THAT(error_of(spec), HasSubstr("operator #2 \"sum\" (BinaryOp) makes tensor " + std::to_string(index)));
  }
  NetSpec spec = two_step_net();
  spec.ops[2].outputs = {-1};
  EXPECT_THAT(error_of(spec), HasSubstr("makes tensor -1")) << "only inputs can be left out";
  spec = two_step_net();
  spec.quants = {{3, 0.5F, 0, wire::DType_DT_INT8}};
  EXPECT_THAT(error_of(spec), HasSubstr("describes tensor 3"));
}

TEST(Model, RefusesImpossibleOrders) {
  NetSpec twice = two_step_net();
  twice.ops[2].outputs = {1};
  EXPECT_THAT(error_of(twice), HasSubstr("operator #2 \"sum\" (BinaryOp) makes tensor t1, which operator #1 \"act\""));
  NetSpec early = two_step_net();
  early.ops[1].inputs = {2};
  EXPECT_THAT(error_of(early),
              HasSubstr("operator #1 \"act\" (ReLU) reads tensor t2, which is made only by operator #2"));
  NetSpec self = two_step_net();
  self.ops[1].inputs = {1};
  EXPECT_THAT(error_of(self), HasSubstr("reads tensor t1, which is made only by operator #1"));
}

TEST(Model, ToleratesATensorThatNobodyMakes) {
  NetSpec spec = two_step_net();
  spec.tensors.emplace_back("loose");
  spec.ops[2].inputs = {1, 3};
  const ModelBytes bytes = build(spec);
  const Result<Model> model = parse(bytes);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->graph().tensors[3].producer, -1);
  EXPECT_THAT(model->graph().tensors[3].consumers, ElementsAre(2));
}

TEST(Model, RefusesInputsThatAreNoNumbers) {
  NetSpec spec = two_step_net();
  spec.ops[0] = input_op("image", 0, {1}, wire::DType_DT_STRING);
  EXPECT_THAT(error_of(spec), HasSubstr("element type 7 cannot be the type of an input"));
  spec.ops[0] = input_op("image", 0, {1}, wire::DType_DT_INT32);
  const ModelBytes bytes = build(spec);
  EXPECT_EQ(parse(bytes)->graph().inputs[0].type, DType::i32);
}

TEST(Model, ReadsEncodingsInQnnsSign) {
  NetSpec spec = two_step_net();
  spec.quants = {
      {0, 0.5F, 3, wire::DType_DT_INT8}, {1, 0.25F, -7, wire::DType_DT_INT16}, {2, 0.125F, 4, wire::DType_DT_INVALID}};
  const ModelBytes bytes = build(spec);
  const Result<Model> model = parse(bytes);
  ASSERT_TRUE(model) << model.error().message;
  const std::vector<TensorNode>& tensors = model->graph().tensors;
  EXPECT_EQ(tensors[0].encoding, (Encoding{0.5, -3}));
  EXPECT_EQ(tensors[0].quantized_type, DType::sfixed8);
  EXPECT_EQ(tensors[1].encoding, (Encoding{0.25, -7})) << "16-bit zero points are offsets already";
  EXPECT_EQ(tensors[1].quantized_type, DType::ufixed16);
  EXPECT_EQ(tensors[2].encoding, (Encoding{0.125, -4}));
  EXPECT_EQ(tensors[2].quantized_type, DType::sfixed8);
}

TEST(Model, KeepsEncodingsThatMakeNoSense) {
  NetSpec spec = two_step_net();
  const float infinity = std::numeric_limits<float>::infinity();
  spec.quants = {{0, -1.0F, infinity, wire::DType_DT_INT8},
                 {1, infinity, 1e30F, wire::DType_DT_INT16},
                 {2, 0.0F, -1e30F, wire::DType_DT_INT8}};
  const ModelBytes bytes = build(spec);
  const Result<Model> model = parse(bytes);
  ASSERT_TRUE(model) << model.error().message;
  const std::vector<TensorNode>& tensors = model->graph().tensors;
  EXPECT_EQ(tensors[0].encoding, (Encoding{-1.0, 0}));
  EXPECT_EQ(tensors[1].encoding->scale, infinity);
  EXPECT_EQ(tensors[1].encoding->offset, 2147483647);
  EXPECT_EQ(tensors[2].encoding, (Encoding{0.0, 2147483647}));
}

OpSpec plugin_op(const std::string& type) {
  OpSpec op{wire::Kind_Plugin, "qnn/plugin/op", {0}, {1}, wire::OpParameter_Plugin};
  op.main = [type](test::Builder& builder) { return wire::CreatePluginDirect(builder, type.c_str()).Union(); };
  return op;
}

TEST(Model, KnowsOfflineModels) {
  NetSpec spec{.tensors = {"x", "y", "spare"}, .ops = {input_op("x", 0, {1, 4}), plugin_op("QNN")}};
  const ModelBytes offline = build(spec);
  EXPECT_TRUE(parse(offline)->is_offline_qnn_plugin());
  spec.ops[1] = plugin_op("OTHER");
  const ModelBytes other = build(spec);
  EXPECT_FALSE(parse(other)->is_offline_qnn_plugin());
  spec.ops[1] = plugin_op("QNN");
  spec.ops.push_back({wire::Kind_ReLU, "act", {1}, {2}});
  const ModelBytes mixed = build(spec);
  EXPECT_FALSE(parse(mixed)->is_offline_qnn_plugin());
}

TEST(Model, RefusesTruncatedFiles) {
  const ModelBytes whole = build(two_step_net());
  const std::size_t size = whole.bytes().size();
  int refused = 0;
  for (std::size_t sixteenth = 0; sixteenth < 16; ++sixteenth) {
    const Result<Model> model = Model::parse(whole.bytes().first(size * sixteenth / 16), "cut.mnn");
    if (model) continue;
    ++refused;
    EXPECT_THAT(model.error().message, HasSubstr("cut.mnn: "));
  }
  EXPECT_EQ(refused, 16);
}

TEST(Model, SaysWhatAFileIsInstead) {
  const auto error = [](std::string_view text) {
    return Model::parse(std::as_bytes(std::span(text)), "m").error().message;
  };
  EXPECT_THAT(error(""), HasSubstr("empty"));
  EXPECT_THAT(error("version https://git-lfs.github.com/spec/v1\noid sha256:0"), HasSubstr("git lfs pull"));
  EXPECT_THAT(error("{\"oplists\": []}"), HasSubstr("JSON"));
  EXPECT_THAT(error(std::string_view("\x1c\0\0\0TFL3............", 20)), HasSubstr("TensorFlow Lite"));
  EXPECT_THAT(error("\x08\x07\x12\x07pytorch model"), HasSubstr("FlatBuffers verifier"));
}

TEST(Model, NeedsOperatorsAndTensorNames) {
  for (const bool with_ops : {true, false}) {
    test::Builder builder;
    const auto ops = builder.CreateVector(std::vector<flatbuffers::Offset<wire::Op>>());
    const auto names = builder.CreateVectorOfStrings(std::vector<std::string>());
    wire::NetBuilder net(builder);
    if (with_ops) net.add_oplists(ops);
    if (!with_ops) net.add_tensorName(names);
    builder.Finish(net.Finish());
    const ModelBytes bytes({builder.GetBufferPointer(), builder.GetSize()});
    const Result<Model> model = parse(bytes);
    ASSERT_FALSE(model);
    EXPECT_THAT(model.error().message, HasSubstr(with_ops ? "no tensor names" : "no operator list"));
  }
}

TEST(Model, RefusesGraphsThatAreFarLargerThanTheirFile) {
  // One name of 100 kB shared by thousands of operators: 160 kB that spell 400 MB.
  test::Builder builder;
  const auto name = builder.CreateString(std::string(100'000, 'n'));
  std::vector<flatbuffers::Offset<wire::Op>> ops;
  for (int i = 0; i < 4000; ++i) {
    wire::OpBuilder op(builder);
    op.add_name(name);
    ops.push_back(op.Finish());
  }
  const auto op_list = builder.CreateVector(ops);
  const auto tensors = builder.CreateVectorOfStrings(std::vector<std::string>{"x"});
  wire::NetBuilder net(builder);
  net.add_oplists(op_list);
  net.add_tensorName(tensors);
  builder.Finish(net.Finish());
  const ModelBytes bytes({builder.GetBufferPointer(), builder.GetSize()});
  const Result<Model> model = parse(bytes);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("far larger than the file"));
}

TEST(Model, VerifiesSharedListsInLinearTime) {
  // Half a million attributes of one operator that are all the same table, with half a million strings. Visiting every
  // string each time would take minutes.
  constexpr std::size_t kCount = 500'000;
  test::Builder builder;
  const auto strings = builder.CreateVector(std::vector<std::uint32_t>(kCount, 4));
  const auto list = wire::CreateListValue(builder, strings);
  wire::AttributeBuilder attribute(builder);
  attribute.add_list(list);
  const auto shared = attribute.Finish();
  const auto attributes = builder.CreateVector(std::vector<flatbuffers::Offset<wire::Attribute>>(kCount, shared));
  const auto plugin = wire::CreatePlugin(builder, 0, attributes);
  wire::OpBuilder op(builder);
  op.add_main_type(wire::OpParameter_Plugin);
  op.add_main(plugin.Union());
  const auto finished = op.Finish();
  const auto op_list = builder.CreateVector(&finished, 1);
  const auto tensors = builder.CreateVectorOfStrings(std::vector<std::string>{"x"});
  wire::NetBuilder net(builder);
  net.add_oplists(op_list);
  net.add_tensorName(tensors);
  builder.Finish(net.Finish());
  const ModelBytes bytes({builder.GetBufferPointer(), builder.GetSize()});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(parse(bytes));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(Model, NamesAMissingFile) {
  const Result<Model> model = Model::open("/nonexistent/net.mnn");
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("/nonexistent/net.mnn"));
}

TEST(Model, ReadsTheExample) {
  const std::filesystem::path path = std::filesystem::path(QNNDBG_SOURCE_DIR) / "examples/mini/model.mnn";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no example model at " << path;
  const Result<Model> model = Model::open(path);
  ASSERT_TRUE(model) << model.error().message;
  int convolutions = 0;
  for (const OpNode& op : model->graph().ops) {
    if (model->wire_op(op.index).main_as_Convolution2D() != nullptr) {
      ++convolutions;
      const Result<FloatArray> weight = model->convolution_weight(op.index);
      const Result<FloatArray> bias = model->convolution_bias(op.index);
      ASSERT_TRUE(weight) << weight.error().message;
      ASSERT_TRUE(bias) << bias.error().message;
      EXPECT_FALSE(weight->empty());
      EXPECT_FALSE(bias->empty());
    }
    if (model->wire_op(op.index).main_as_Blob() != nullptr) {
      EXPECT_TRUE(model->constant(op.index));
    }
  }
  EXPECT_GT(convolutions, 0);
  EXPECT_EQ(model->graph().source, "ONNX");
}

}  // namespace
}  // namespace qnndbg
