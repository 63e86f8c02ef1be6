// Whole models on Qualcomm's own library: emulated, dumped, diagnosed, validated. Skipped where the library is not
// installed (installed_library.h).
#include <gmock/gmock.h>

#include "diagnose/diagnose.h"
#include "dump/temp_dir.h"
#include "graph/model_builder.h"
#include "installed_library.h"
#include "ops/qnn_graph.h"
#include "qnn/emulate.h"
#include "qnn/validate.h"

namespace qnndbg::qnn {
namespace {

using test::NetSpec;

constexpr std::int64_t kChannels = 32;

/// y = ReLU(a - b) with the ReLU fused into the BinaryOp, which MNN's backend forgets.
NetSpec fused_relu() {
  return {.tensors = {"a", "b", "y"},
          .ops = {test::input_op("a", 0, {1, static_cast<int>(kChannels)}),
                  test::input_op("b", 1, {1, static_cast<int>(kChannels)}),
                  {wire::Kind_BinaryOp,
                   "difference",
                   {0, 1},
                   {2},
                   wire::OpParameter_BinaryOp,
                   [](test::Builder& b) {
                     return wire::CreateBinaryOp(b, wire::Bin_SUB, wire::DType_DT_FLOAT, /*activationType=*/1).Union();
                   }}},
          .outputs = {"y"}};
}

InputMap inputs_with_both_signs() {
  InputMap inputs;
  Tensor a = Tensor::f32({1, kChannels});
  Tensor b = Tensor::f32({1, kChannels});
  for (std::size_t i = 0; i < static_cast<std::size_t>(kChannels); ++i) {
    a.f32()[i] = 0.5F * static_cast<float>(i);
    b.f32()[i] = 8;
  }
  inputs.emplace("a", std::move(a));
  inputs.emplace("b", std::move(b));
  return inputs;
}

class HtpModel : public testing::Test {
 protected:
  void SetUp() override {
    library_ = installed_library();
    if (library_.empty()) GTEST_SKIP() << "onnxruntime-qnn is not installed in .venv";
    auto model = Model::parse(bytes_.bytes(), "net.mnn");
    ASSERT_TRUE(model) << model.error().message;
    model_ = std::make_unique<Model>(std::move(*model));
    plan_ = plan_graph(*model_, {});
  }

  CallResult<Engine> open() const { return Engine::open({}, {.library = library_, .target = {.soc = 57, .arch = 75}}); }

  QnnGraph graph(MappingStyle style) const {
    auto graph = build_qnn_graph(*model_, plan_, {.style = style});
    EXPECT_TRUE(graph);
    return graph ? std::move(*graph) : QnnGraph{};
  }

  void emulate_as(MappingStyle style) const {
    const QnnGraph made = graph(style);
    const auto spec = ModelGraph::make(made, "net", ModelGraph::Intermediates::readable);
    ASSERT_TRUE(spec) << spec.error().message;
    CallResult<Engine> engine = open();
    ASSERT_TRUE(engine) << engine.error().message;
    EmulateOptions options;
    options.dump = dump_.path();
    options.config.precision = GraphPrecision::float16;
    const auto report = emulate(*engine, *model_, *spec, inputs_with_both_signs(), options);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->refused.empty());
    EXPECT_GT(report->tensors, 0U);
  }

  Result<Diagnosis> diagnosis() const {
    DiagnoseOptions options;
    options.dump = dump_.path();
    options.inputs = inputs_with_both_signs();
    options.arch = "v75";
    options.threads = 1;
    return diagnose(*model_, options);
  }

  test::ModelBytes bytes_ = test::build(fused_relu());
  std::unique_ptr<Model> model_;
  GraphPlan plan_;
  TempDir dump_;
  std::string library_;
};

TEST_F(HtpModel, TheReluThatMnnForgetsIsNamed) {
  ASSERT_NO_FATAL_FAILURE(emulate_as(MappingStyle::mnn));
  const Result<Diagnosis> found = diagnosis();
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->findings.size(), 1U);
  EXPECT_EQ(found->findings[0].op, "difference");
  EXPECT_EQ(found->findings[0].cause, "activation_dropped");
  EXPECT_TRUE(found->findings[0].proven);
}

TEST_F(HtpModel, WhatTheModelMeansIsClean) {
  ASSERT_NO_FATAL_FAILURE(emulate_as(MappingStyle::model));
  const Result<Diagnosis> found = diagnosis();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->verdict, qnndbg::Verdict::clean);
  EXPECT_TRUE(found->findings.empty());
}

TEST_F(HtpModel, AnInputThatIsMissingIsNamed) {
  const QnnGraph made = graph(MappingStyle::mnn);
  const auto spec = ModelGraph::make(made, "net", ModelGraph::Intermediates::readable);
  ASSERT_TRUE(spec) << spec.error().message;
  CallResult<Engine> engine = open();
  ASSERT_TRUE(engine) << engine.error().message;
  InputMap inputs = inputs_with_both_signs();
  inputs.erase("b");
  EmulateOptions options;
  options.dump = dump_.path();
  const auto report = emulate(*engine, *model_, *spec, inputs, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "no value was given for input `b`");
}

TEST_F(HtpModel, AnAcceptedModelIsFinalized) {
  const QnnGraph made = graph(MappingStyle::mnn);
  const auto spec = ModelGraph::make(made, "net", ModelGraph::Intermediates::readable);
  ASSERT_TRUE(spec) << spec.error().message;
  CallResult<Engine> engine = open();
  ASSERT_TRUE(engine) << engine.error().message;
  const auto report = validate_model(*engine, *model_, *spec, {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->all_accepted());
  EXPECT_TRUE(report->finalize.finalized);
}

TEST_F(HtpModel, ARefusedNodeHasTheLibrarysWords) {
  QnnGraph made = graph(MappingStyle::mnn);
  // The library compares the output's dims with the operands'.
  for (const QnnGraphNode& node : made.nodes)
    if (node.op == 2) made.tensors[static_cast<std::size_t>(node.outputs[0])].dims = {1, kChannels - 1};
  const auto spec = ModelGraph::make(made, "net", ModelGraph::Intermediates::readable);
  ASSERT_TRUE(spec) << spec.error().message;
  CallResult<Engine> engine = open();
  ASSERT_TRUE(engine) << engine.error().message;
  const auto report = validate_model(*engine, *model_, *spec, {.finalize = false});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->all_accepted());
  const OperatorAnswer& answer = report->operators[2];
  EXPECT_EQ(answer.acceptance, Acceptance::refused);
  ASSERT_FALSE(answer.nodes.empty());
  EXPECT_NE(answer.nodes[0].code, 0U);
  EXPECT_FALSE(answer.nodes[0].reasons.empty());
  EXPECT_EQ(report->operators[0].acceptance, Acceptance::set_aside);
}

}  // namespace
}  // namespace qnndbg::qnn
