#include "report/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace qnndbg {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

/// image -> conv (with an omitted operand) -> out
struct Sample {
  Graph graph;
  std::vector<InspectRow> rows;

  Sample() : rows(3) {
    graph.ops.resize(3);
    for (int i = 0; i < 3; ++i) graph.ops[static_cast<std::size_t>(i)].index = i;
    graph.ops[0].name = "image";
    graph.ops[0].type_name = "Input";
    graph.ops[0].outputs = {0};
    graph.ops[1].name = "a/conv\x1b[31m";
    graph.ops[1].type_name = "Convolution";
    graph.ops[1].inputs = {0, -1};
    graph.ops[1].outputs = {1};
    graph.ops[2].name = "prob";
    graph.ops[2].type_name = "Softmax";
    graph.ops[2].inputs = {1};
    graph.ops[2].outputs = {2};
    graph.tensors.resize(3);
    graph.tensors[1].producer = 1;
    graph.tensors[1].consumers = {2};
    graph.tensors[1].encoding = Encoding{.scale = 0.5, .offset = 3};
    graph.tensors[1].quantized_type = DType::sfixed8;
    graph.tensors[2].name = "prob";
    graph.inputs = {{.op = 0, .tensor = 0, .dims = {1, 3, 8, 8}}};
    graph.outputs = {2};
    rows[0] = {.role = TensorRole::input,
               .dims = Dims{1, 3, 8, 8},
               .layout = Layout::logical,
               .dtype = DType::f32,
               .problem = ""};
    rows[1].dims = Dims{1, 4, 8, 8};
    rows[1].layout = Layout::channel_last;
    rows[2].role = TensorRole::output;
    rows[2].problem = "rank unknown";
  }

  InspectView view() const {
    return {
        .model =
            {.file = "m.mnn", .converter_version = "", .source = "ONNX", .bytes = 201012, .operators = 3, .tensors = 3},
        .graph = graph,
        .tensors = rows};
  }
};

TEST(Inspect, TableListsOperatorsWithShapesWhereTheyAreKnown) {
  const Sample sample;
  TextStyle style;
  style.version = "1.2.3";
  const std::string text = inspect_text(sample.view(), style);
  EXPECT_THAT(text, HasSubstr("m.mnn: 3 operators, 3 tensors, 0.201 MB, from ONNX\n"));
  EXPECT_THAT(text, HasSubstr("input   `image`  t0 1x3x8x8  f32\n"));
  EXPECT_THAT(text, HasSubstr("output  `prob`  t2\n"));
  EXPECT_THAT(text, HasSubstr("1  Convolution  a/conv\\x1b[31m  t0 -    t1 1x4x8x8 as NHWC\n"));
  EXPECT_THAT(text, HasSubstr("2  Softmax      prob            t1      t2\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Inspect, DocumentHasEveryTensor) {
  const Sample sample;
  const json document = json::parse(inspect_json(sample.view()));
  EXPECT_EQ(document["schema"], "qnn-debug/model/1");
  EXPECT_EQ(document["inputs"], json({"t0"}));
  EXPECT_EQ(document["outputs"], json({"t2"}));
  EXPECT_EQ(document["operators"][1]["inputs"], (json{"t0", nullptr}));
  EXPECT_EQ(document["operators"][1]["node"], qnn_node_name(sample.graph.ops[1].name));
  const json& tensor = document["tensors"][1];
  EXPECT_EQ(tensor["dims"], (json{1, 4, 8, 8}));
  EXPECT_EQ(tensor["layout"], "NHWC");
  EXPECT_EQ(tensor["role"], "activation");
  EXPECT_EQ(tensor["encoding"], (json{{"scale", 0.5}, {"offset", 3}}));
  EXPECT_EQ(tensor["encoding_dtype"], "sfixed8");
  EXPECT_EQ(tensor["consumers"], json({2}));
  EXPECT_EQ(document["tensors"][2]["dims"], nullptr);
  EXPECT_EQ(document["tensors"][2]["problem"], "rank unknown");
  EXPECT_EQ(document["tensors"][0]["op_index"], nullptr);
}

}  // namespace
}  // namespace qnndbg
