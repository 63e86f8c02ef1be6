#include "graph/operator_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "graph/model_builder.h"

namespace qnndbg {
namespace {

using test::Builder;
using test::ModelBytes;
using test::NetSpec;
using test::OpSpec;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

// 1 + 2^-12 lies between two halves, 1 and 1 + 2^-10.
constexpr float kOffGrid = 1.000244140625F;

OpSpec convolution(std::vector<float> weight, std::vector<float> bias, std::vector<std::int64_t> external = {}) {
  OpSpec op{wire::Kind_Convolution, "conv/a:b", {0}, {1}, wire::OpParameter_Convolution2D};
  op.main = [=](Builder& builder) {
    wire::Convolution2DCommonBuilder common(builder);
    common.add_outputCount(2);
    common.add_inputCount(1);
    common.add_strideX(3);
    common.add_padMode(wire::ConvPad_SAME);
    const auto common_table = common.Finish();
    const auto weights = weight.empty() ? 0 : builder.CreateVector(weight);
    const auto biases = bias.empty() ? 0 : builder.CreateVector(bias);
    const auto outside = external.empty() ? 0 : builder.CreateVector(external);
    return wire::CreateConvolution2D(builder, common_table, weights, biases, 0, 0, 0, outside).Union();
  };
  return op;
}

NetSpec net_of(OpSpec op, int tensors = 3) {
  NetSpec net;
  for (int t = 0; t < tensors; ++t) net.tensors.push_back("name" + std::to_string(t));
  net.ops = {test::input_op("in", 0, {1, 1, 4, 4}), std::move(op)};
  net.version = "3.6.1";
  return net;
}

ModelOperand device_operand(int tensor) {
  return {.tensor = tensor, .type = DType::f32, .dims = {1, 1, 4, 4}, .layout = Layout::channel_last};
}

/// The cut model, parsed again; a test failure and an empty model when it cannot be.
Model reopened(const OperatorModel& cut) {
  Result<Model> model = Model::parse(cut.bytes, "cut");
  EXPECT_TRUE(model) << (model ? "" : model.error().message);
  return std::move(*model);
}

TEST(OperatorModel, HoldsTheOperatorAndItsOperands) {
  const ModelBytes bytes = test::build(net_of(convolution({1, 2}, {3, 4})));
  const Model model = *Model::parse(bytes.bytes(), "m");
  const auto cut = cut_operator(model, 1, {device_operand(0)}, {});
  ASSERT_TRUE(cut) << cut.error().message;
  const Model again = reopened(*cut);
  const Graph& graph = again.graph();
  ASSERT_EQ(graph.ops.size(), 2U);
  EXPECT_EQ(graph.ops[1].name, "conv/a:b");
  EXPECT_EQ(graph.ops[1].type_name, "Convolution");
  EXPECT_EQ(graph.source, "ONNX");
  EXPECT_EQ(again.converter_version(), "3.6.1");
  ASSERT_EQ(graph.inputs.size(), 1U);
  EXPECT_EQ(graph.inputs[0].dims, (Dims{1, 1, 4, 4}));
  EXPECT_EQ(graph.inputs[0].format, MnnFormat::nc4hw4);
  EXPECT_THAT(graph.outputs, ElementsAre(1));
  EXPECT_THAT(again.convolution_weight(1)->values(), ElementsAre(1, 2));
  EXPECT_THAT(again.convolution_bias(1)->values(), ElementsAre(3, 4));
  const auto* table = again.wire_op(1).main_as_Convolution2D();
  EXPECT_EQ(table->common()->strideX(), 3);
  EXPECT_EQ(table->common()->padMode(), wire::ConvPad_SAME);
  ASSERT_EQ(cut->inputs.size(), 1U);
  EXPECT_EQ(cut->inputs[0].name, "input0");
  EXPECT_EQ(cut->inputs[0].origin, 0);
  EXPECT_EQ(cut->outputs[0].name, "output0");
  EXPECT_EQ(cut->outputs[0].origin, 1);
  EXPECT_TRUE(cut->rounded);
}

TEST(OperatorModel, ConstantsAreThoseOfTheDevice) {
  const ModelBytes bytes = test::build(net_of(convolution({kOffGrid, -kOffGrid}, {kOffGrid, 1e6F})));
  const Model model = *Model::parse(bytes.bytes(), "m");
  const auto cut = cut_operator(model, 1, {device_operand(0)}, {HalfRounding::toward_zero, HalfKind::htp});
  ASSERT_TRUE(cut);
  const Model again = reopened(*cut);
  EXPECT_THAT(again.convolution_weight(1)->values(), ElementsAre(1, -1));
  EXPECT_THAT(again.convolution_bias(1)->values(), ElementsAre(1, 65536));  // infinity in HTP's half
}

TEST(OperatorModel, WeightsOfASideFileMoveIn) {
  const std::filesystem::path directory = std::filesystem::path(testing::TempDir()) / "operator_model_test";
  std::filesystem::create_directories(directory);
  const std::vector<float> side{9, 5, 6, 7, 8};  // the record begins at byte 4
  std::ofstream(directory / "m.mnn.weight", std::ios::binary)
      .write(reinterpret_cast<const char*>(side.data()), static_cast<std::streamsize>(side.size() * sizeof(float)));
  const ModelBytes bytes = test::build(net_of(convolution({}, {}, {4, 8, 8})));
  std::ofstream(directory / "m.mnn", std::ios::binary) << bytes.text();
  {
    const Result<Model> model = Model::open(directory / "m.mnn");
    ASSERT_TRUE(model);
    const auto cut = cut_operator(*model, 1, {device_operand(0)}, {});
    ASSERT_TRUE(cut) << cut.error().message;
    const Model again = reopened(*cut);
    EXPECT_THAT(again.convolution_weight(1)->values(), ElementsAre(5, 6));
    EXPECT_THAT(again.convolution_bias(1)->values(), ElementsAre(7, 8));
  }
  std::filesystem::remove_all(directory);
}

TEST(OperatorModel, AMissingSideFileIsAnError) {
  const ModelBytes bytes = test::build(net_of(convolution({}, {}, {0, 8, 8})));
  const Model model = *Model::parse(bytes.bytes(), "m");
  const auto cut = cut_operator(model, 1, {device_operand(0)}, {});
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message, HasSubstr("side file"));
}

TEST(OperatorModel, IntegerWeightsStayIntegers) {
  OpSpec op{wire::Kind_Convolution, "c", {0}, {1}, wire::OpParameter_Convolution2D};
  // Payload: number of dims, dims (u16), table size, table, one byte per weight (docs/mnn-format.md).
  const std::vector<std::int8_t> payload{2, 2, 0, 1, 0, 2, 10, 20, 0, 1};
  op.main = [payload](Builder& builder) {
    wire::Convolution2DCommonBuilder common(builder);
    common.add_outputCount(2);
    common.add_inputCount(1);
    const auto common_table = common.Finish();
    const std::vector<float> alpha{kOffGrid, kOffGrid};
    const auto coded = wire::CreateIDSTQuanDirect(builder, &payload, &alpha, 4, false, 1.0F);
    return wire::CreateConvolution2D(builder, common_table, 0, 0, coded).Union();
  };
  const ModelBytes bytes = test::build(net_of(op));
  const Model model = *Model::parse(bytes.bytes(), "m");
  const auto cut = cut_operator(model, 1, {device_operand(0)}, {});
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_FALSE(cut->rounded);
  const Model again = reopened(*cut);
  const auto* coded = again.wire_op(1).main_as_Convolution2D()->quanParameter();
  ASSERT_NE(coded, nullptr);
  EXPECT_EQ(coded->type(), 4);
  ASSERT_NE(coded->buffer(), nullptr);
  EXPECT_THAT(std::vector<std::int8_t>(coded->buffer()->begin(), coded->buffer()->end()), ElementsAreArray(payload));
  EXPECT_EQ(coded->alpha()->Get(0), kOffGrid);
}

TEST(OperatorModel, OneTensorReadTwiceIsOneInput) {
  OpSpec op{wire::Kind_BinaryOp, "square", {0, 0}, {1}, wire::OpParameter_BinaryOp};
  op.main = [](Builder& builder) { return wire::CreateBinaryOp(builder, wire::Bin_MUL).Union(); };
  const ModelBytes bytes = test::build(net_of(op));
  const Model model = *Model::parse(bytes.bytes(), "m");
  const auto cut = cut_operator(model, 1, {device_operand(0), device_operand(0)}, {});
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->inputs.size(), 1U);
  EXPECT_THAT(reopened(*cut).graph().ops.back().inputs, ElementsAre(0, 0));
}

TEST(OperatorModel, ConstantsAndOmittedOperands) {
  OpSpec op{wire::Kind_Interp, "resize", {0, -1, 2}, {1}, wire::OpParameter_Interp};
  op.main = [](Builder& builder) { return wire::CreateInterp(builder).Union(); };
  NetSpec net = net_of(op);
  net.ops.insert(net.ops.begin() + 1, test::input_op("scales", 2, {2}));
  const ModelBytes bytes = test::build(net);
  const Model model = *Model::parse(bytes.bytes(), "m");
  const Tensor scales = Tensor::of({2, 3});
  const std::vector<ModelOperand> operands{
      device_operand(0), {}, {.tensor = 2, .type = DType::i32, .dims = {2}, .constant = &scales}};
  const auto cut = cut_operator(model, 2, operands, {});
  ASSERT_TRUE(cut) << cut.error().message;
  const Model again = reopened(*cut);
  EXPECT_THAT(again.graph().ops.back().inputs, ElementsAre(0, -1, 1));
  const Result<Tensor> value = again.constant(1);
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_THAT(std::as_const(*value).i32(), ElementsAre(2, 3));
  EXPECT_EQ(again.graph().inputs.size(), 1U);
}

TEST(OperatorModel, DeclaredQuantizationComesAlong) {
  NetSpec net = net_of(convolution({1, 2}, {}));
  net.quants = {{.tensor = 1, .scale = 0.25F, .zero = 7}, {.tensor = 2, .scale = 0.5F}};
  const ModelBytes bytes = test::build(net);
  const Model model = *Model::parse(bytes.bytes(), "m");
  const auto cut = cut_operator(model, 1, {device_operand(0)}, {});
  ASSERT_TRUE(cut);
  const Model again = reopened(*cut);
  EXPECT_FALSE(again.graph().tensors[0].encoding);
  EXPECT_EQ(again.graph().tensors[1].encoding, (Encoding{0.25, -7}));
}

TEST(OperatorModel, TablesThatShareAreRefused) {
  OpSpec extra{wire::Kind_Extra, "e", {0}, {1}, wire::OpParameter_Extra};
  extra.main = [](Builder& builder) {
    const auto attribute = wire::CreateAttribute(builder);
    const std::vector<flatbuffers::Offset<wire::Attribute>> shared(1000, attribute);
    return wire::CreateExtraDirect(builder, "type", "engine", nullptr, &shared).Union();
  };
  OpSpec opaque{wire::Kind_Fill, "f", {0}, {1}, wire::OpParameter_Fill};
  opaque.main = [](Builder& builder) { return wire::CreateOpaque(builder).Union(); };
  for (const OpSpec& op : {extra, opaque}) {
    const ModelBytes bytes = test::build(net_of(op));
    const Model model = *Model::parse(bytes.bytes(), "m");
    const auto cut = cut_operator(model, 1, {device_operand(0)}, {});
    ASSERT_FALSE(cut) << op.name;
    EXPECT_THAT(cut.error().message, HasSubstr("cannot be copied"));
    EXPECT_TRUE(operator_parameters(model, 1).empty());
  }
}

TEST(OperatorModel, SparsityHintsStayBehind) {
  OpSpec op{wire::Kind_Convolution, "c", {0}, {1}, wire::OpParameter_Convolution2D};
  op.main = [](Builder& builder) {
    wire::Convolution2DCommonBuilder common(builder);
    common.add_outputCount(1);
    common.add_inputCount(1);
    const auto common_table = common.Finish();
    const std::vector<flatbuffers::Offset<wire::Attribute>> args(50, wire::CreateAttribute(builder));
    const auto sparse = wire::CreateSparseCommonDirect(builder, wire::SparseKind_RANDOM, &args);
    const std::vector<float> weight{1};
    const auto weights = builder.CreateVector(weight);
    return wire::CreateConvolution2D(builder, common_table, weights, 0, 0, 0, sparse).Union();
  };
  const ModelBytes bytes = test::build(net_of(op));
  const Model model = *Model::parse(bytes.bytes(), "m");
  const auto cut = cut_operator(model, 1, {device_operand(0)}, {});
  ASSERT_TRUE(cut);
  EXPECT_EQ(reopened(*cut).wire_op(1).main_as_Convolution2D()->sparseParameter(), nullptr);
}

TEST(OperatorParameters, DefaultsNestedTablesAndLongVectors) {
  const ModelBytes bytes = test::build(net_of(convolution({1, 2}, {3, 4})));
  const Model model = *Model::parse(bytes.bytes(), "m");
  std::map<std::string, std::string> found;
  for (const OperatorParameter& parameter : operator_parameters(model, 1)) found[parameter.name] = parameter.value;
  EXPECT_EQ(found["common.strideX"], "3");
  EXPECT_EQ(found["common.strideY"], "1");  // not stored: the default
  EXPECT_EQ(found["common.padMode"], "SAME");
  EXPECT_EQ(found["common.relu"], "false");
  EXPECT_EQ(found["weight"], "[1, 2]");
}

TEST(OperatorParameters, NumbersWithoutANameStayNumbers) {
  OpSpec op{wire::Kind_UnaryOp, "u", {0}, {1}, wire::OpParameter_UnaryOp};
  op.main = [](Builder& builder) {
    const std::vector<std::int8_t> table(256, 1);
    return wire::CreateUnaryOpDirect(builder, static_cast<wire::Un>(4711), wire::DType_DT_FLOAT, &table).Union();
  };
  const ModelBytes bytes = test::build(net_of(op));
  const Model model = *Model::parse(bytes.bytes(), "m");
  std::map<std::string, std::string> found;
  for (const OperatorParameter& parameter : operator_parameters(model, 1)) found[parameter.name] = parameter.value;
  EXPECT_EQ(found["opType"], "4711");
  EXPECT_EQ(found["tableInt8"], "256 numbers");
}

TEST(OperatorParameters, NoneWhereThereAreNone) {
  const ModelBytes bytes = test::build(net_of({wire::Kind_Identity, "i", {0}, {1}}));
  const Model model = *Model::parse(bytes.bytes(), "m");
  EXPECT_TRUE(operator_parameters(model, 1).empty());
}

}  // namespace
}  // namespace qnndbg
