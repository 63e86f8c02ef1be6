// Qualcomm's own library. Skipped where the package is not installed: .venv of the source tree, or QNN_DEBUG_TEST_HTP.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "graphs.h"
#include "installed_library.h"
#include "knowledge/log_reader.h"
#include "qnn/worker.h"
#include "tensor/half.h"

namespace qnndbg::qnn {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

class Htp : public testing::Test {
 protected:
  void SetUp() override {
    library_ = installed_library();
    if (library_.empty()) GTEST_SKIP() << "onnxruntime-qnn is not installed in .venv";
  }

  /// Opens the library for a SoC.
  CallResult<Worker> open(Target target) {
    CallResult<Worker> worker = Worker::start({});
    if (!worker) return worker;
    const CallResult<SessionInfo> info = worker->open({.library = library_, .target = target});
    if (!info) return fail(info.error());
    info_ = *info;
    return worker;
  }

  std::string system_library() const { return (fs::path(library_).parent_path() / "libQnnSystem.so").string(); }

  std::string library_;
  SessionInfo info_;
};

constexpr Target kGen3 = {.soc = 57, .arch = 75};

TEST_F(Htp, TellsWhatItIs) {
  CallResult<Worker> worker = open(kGen3);
  ASSERT_TRUE(worker) << worker.error().message;
  EXPECT_THAT(info_.library.build_id, HasSubstr("v2."));
  EXPECT_EQ(info_.library.provider, "HTP_QTI_AISW");
  const CallResult<std::vector<OperationId>> operations = worker->operations();
  ASSERT_TRUE(operations) << operations.error().message;
  EXPECT_GT(operations->size(), 100U);
  EXPECT_THAT(*operations, Contains(OperationId{"qti.aisw", "Conv2d"}));
  const CallResult<std::vector<KnownSoc>> socs = worker->known_socs();
  ASSERT_TRUE(socs) << socs.error().message;
  EXPECT_THAT(*socs, Contains(KnownSoc{57, "SM8650", 75}));
  EXPECT_THAT(*socs, Contains(KnownSoc{30, "SM8350", 68}));
  EXPECT_THAT(*socs, Contains(KnownSoc{69, "SM8750", 79}));
}

TEST_F(Htp, AcceptsAReluAndSaysWhyItRefusesATranspose) {
  CallResult<Worker> worker = open(kGen3);
  ASSERT_TRUE(worker) << worker.error().message;
  const GraphSpec relu = relu_graph();
  const CallResult<Verdict> accepted = worker->validate(relu.nodes[0], relu.tensors);
  ASSERT_TRUE(accepted) << accepted.error().message;
  EXPECT_TRUE(accepted->accepted) << log_text(accepted->log);

  const std::vector<std::uint32_t> perm = {0, 2, 1};
  TensorSpec perm_tensor = tensor("perm_PARAM", TensorKind::static_data, DType::u32, {3});
  perm_tensor.data = view_of(perm);
  const NodeSpec transpose{
      .name = "turn", .type = "Transpose", .params = {{"perm", perm_tensor}}, .inputs = {"x"}, .outputs = {"y"}};
  const std::vector<TensorSpec> right = {tensor("x", TensorKind::native, DType::f16, {1, 2, 3}),
                                         tensor("y", TensorKind::native, DType::f16, {1, 3, 2})};
  const CallResult<Verdict> good = worker->validate(transpose, right);
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_TRUE(good->accepted) << log_text(good->log);
  const std::vector<TensorSpec> wrong = {right[0], tensor("y", TensorKind::native, DType::f16, {1, 2, 3})};
  const CallResult<Verdict> bad = worker->validate(transpose, wrong);
  ASSERT_TRUE(bad) << bad.error().message;
  EXPECT_FALSE(bad->accepted);
  EXPECT_EQ(bad->code, 3110U);
  EXPECT_THAT(log_text(bad->log), HasSubstr("Incorrect output dimension at index 1. Expected 3 but got 2."));
  // The reader of logs understands the lines as they come.
  const LogRecord record = read_log(log_text(bad->log));
  ASSERT_EQ(record.nodes.size(), 1U);
  EXPECT_EQ(record.nodes[0].name, "turn");
  EXPECT_EQ(record.nodes[0].type, "Transpose");
  EXPECT_TRUE(record.nodes[0].refused);
  EXPECT_EQ(record.nodes[0].code, 3110);
  ASSERT_FALSE(record.nodes[0].reasons.empty());
  EXPECT_THAT(record.nodes[0].reasons[0].text, HasSubstr("Expected 3 but got 2"));
}

std::vector<std::uint16_t> random_halves(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> real(-200, 200);
  std::vector<std::uint16_t> halves(count);
  for (std::uint16_t& half : halves) half = float_to_half(real(random), HalfRounding::nearest);
  return halves;
}

GraphSpec add_graph() {
  GraphSpec graph{.name = "sum"};
  const std::vector<std::uint32_t> dims = {1, 8, 8, 64};
  graph.tensors = {tensor("a", TensorKind::app_write, DType::f16, dims),
                   tensor("b", TensorKind::app_write, DType::f16, dims),
                   tensor("c", TensorKind::app_read, DType::f16, dims)};
  graph.nodes = {{.name = "add", .type = "ElementWiseAdd", .inputs = {"a", "b"}, .outputs = {"c"}}};
  return graph;
}

/// How many sums differ from the exact sum rounded once. The sum of two halves is exact in float within this range.
int wrong_sums(const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b,
               const std::vector<std::uint16_t>& sums) {
  int wrong = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const float exact = half_to_float(a[i], HalfKind::htp) + half_to_float(b[i], HalfKind::htp);
    const bool flushed = std::abs(exact) < 0x1p-14F;  // HTP's small results are another matter
    if (!flushed && sums[i] != float_to_half(exact, HalfRounding::nearest)) ++wrong;
  }
  return wrong;
}

TEST_F(Htp, AddsHalvesWithOneRounding) {
  CallResult<Worker> worker = open(kGen3);
  ASSERT_TRUE(worker) << worker.error().message;
  const CallResult<FinalizeReport> ready =
      worker->finalize(add_graph(), {.config = {.precision = GraphPrecision::float16}, .profiling = Profiling::basic});
  ASSERT_TRUE(ready) << ready.error().message;
  const std::vector<std::uint16_t> a = random_halves(4096, 1);
  const std::vector<std::uint16_t> b = random_halves(4096, 2);
  const std::vector<NamedData> inputs = {{"a", view_of(a)}, {"b", view_of(b)}};
  const CallResult<ExecuteReport> run = worker->execute(inputs, Profiling::detailed);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(wrong_sums(a, b, values_of<std::uint16_t>(run->outputs.at(0).data)), 0);
  EXPECT_FALSE(run->profile.empty());
  bool node_seen = false;
  for (const ProfileEvent& event : run->profile)
    for (const ProfileEvent& child : event.children) node_seen |= child.name.starts_with("add:OpId_");
  EXPECT_TRUE(node_seen);
}

TEST_F(Htp, DequantizesWithAPlus) {
  CallResult<Worker> worker = open(kGen3);
  ASSERT_TRUE(worker) << worker.error().message;
  GraphSpec graph{.name = "dequantize"};
  graph.tensors = {tensor("q", TensorKind::app_write, DType::ufixed8, {1, 4}),
                   tensor("r", TensorKind::app_read, DType::f32, {1, 4})};
  graph.tensors[0].quantization = {.kind = QuantizationSpec::Kind::tensor, .scales = {0.5F}, .offsets = {-10}};
  graph.nodes = {{.name = "d", .type = "Dequantize", .inputs = {"q"}, .outputs = {"r"}}};
  const CallResult<FinalizeReport> ready = worker->finalize(graph, {});
  ASSERT_TRUE(ready) << ready.error().message;
  const std::vector<std::uint8_t> stored = {0, 10, 20, 255};
  const std::vector<NamedData> inputs = {{"q", view_of(stored)}};
  const CallResult<ExecuteReport> run = worker->execute(inputs, Profiling::off);
  ASSERT_TRUE(run) << run.error().message;
  const std::vector<float> real = values_of<float>(run->outputs.at(0).data);
  const std::vector<float> wanted = {-5, 0, 5, 122.5F};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(real.at(i), wanted[i], 1e-4) << i;
}

TEST_F(Htp, EveryTensorBetweenCanBeRead) {
  CallResult<Worker> worker = open(kGen3);
  ASSERT_TRUE(worker) << worker.error().message;
  GraphSpec graph = add_graph();
  graph.tensors.push_back(tensor("d", TensorKind::native, DType::f16, {1, 8, 8, 64}));
  graph.nodes.push_back({.name = "relu", .type = "Relu", .inputs = {"c"}, .outputs = {"d"}});
  make_readable(graph);
  const CallResult<FinalizeReport> ready = worker->finalize(graph, {});
  ASSERT_TRUE(ready) << ready.error().message;
  const std::vector<std::uint16_t> a = random_halves(4096, 3);
  const std::vector<NamedData> inputs = {{"a", view_of(a)}, {"b", view_of(a)}};
  const CallResult<ExecuteReport> run = worker->execute(inputs, Profiling::off);
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->outputs.size(), 2U);
  const std::vector<std::uint16_t> sums = values_of<std::uint16_t>(run->outputs[0].data);
  const std::vector<std::uint16_t> relus = values_of<std::uint16_t>(run->outputs[1].data);
  EXPECT_EQ(wrong_sums(a, a, sums), 0);
  for (std::size_t i = 0; i < sums.size(); ++i)
    ASSERT_EQ(half_to_float(relus[i], HalfKind::htp), std::max(half_to_float(sums[i], HalfKind::htp), 0.0F)) << i;
}

TEST_F(Htp, TheDefaultSocComputesInHalfPrecision) {
  const CallResult<Target> newest = newest_target(library_, {});
  ASSERT_TRUE(newest) << newest.error().message;
  EXPECT_GE(newest->arch, 81);
  CallResult<Worker> worker = open(*newest);
  ASSERT_TRUE(worker) << worker.error().message;
  const CallResult<FinalizeReport> ready = worker->finalize(add_graph(), {});
  ASSERT_TRUE(ready) << ready.error().message;
  const std::vector<std::uint16_t> a = random_halves(4096, 4);
  const std::vector<std::uint16_t> b = random_halves(4096, 5);
  const std::vector<NamedData> inputs = {{"a", view_of(a)}, {"b", view_of(b)}};
  const CallResult<ExecuteReport> run = worker->execute(inputs, Profiling::off);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(wrong_sums(a, b, values_of<std::uint16_t>(run->outputs.at(0).data)), 0);
}

TEST_F(Htp, AFailedFinalizeKeepsTheLinesThatSayWhy) {
  CallResult<Worker> worker = open(kGen3);
  ASSERT_TRUE(worker) << worker.error().message;
  GraphSpec graph = relu_graph();
  graph.nodes[0].type = "NoSuchOperator";
  const CallResult<FinalizeReport> report = worker->finalize(graph, {.validate_nodes = true, .skip_refused = true});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().failure, Failure::refused);
  EXPECT_EQ(report.error().function, "graphFinalize");
  EXPECT_EQ(report.error().code, 1002U);
  EXPECT_THAT(log_text(report.error().log), HasSubstr("NoSuchOperator"));
  EXPECT_TRUE(worker->alive());
}

/// x [1,2,3,2] -> Transpose -> Conv2d of 1x1 -> y [1,2,2,1]: data, static tensors and parameters of all kinds in one
/// graph, with sums that half holds exactly.
TEST_F(Htp, ParametersAndStaticTensorsArrive) {
  CallResult<Worker> worker = open(kGen3);
  ASSERT_TRUE(worker) << worker.error().message;
  const std::vector<std::uint32_t> perm = {0, 2, 1, 3};
  const std::vector<std::uint32_t> stride = {2, 1};
  const std::vector<std::uint32_t> pads = {0, 0, 0, 0};
  std::vector<std::uint16_t> weights;
  for (const float value : {2.0F, -0.5F}) weights.push_back(float_to_half(value, HalfRounding::nearest));
  const std::vector<std::uint16_t> bias = {float_to_half(10, HalfRounding::nearest)};
  const auto constant = [](std::string name, DType type, std::vector<std::uint32_t> dims, ByteView data) {
    TensorSpec spec = tensor(std::move(name), TensorKind::static_data, type, std::move(dims));
    spec.data = data;
    return spec;
  };
  GraphSpec graph{.name = "g"};
  graph.tensors = {tensor("x", TensorKind::app_write, DType::f16, {1, 2, 3, 2}),
                   tensor("t", TensorKind::app_read, DType::f16, {1, 3, 2, 2}),
                   constant("w", DType::f16, {1, 1, 2, 1}, view_of(weights)),
                   constant("b", DType::f16, {1}, view_of(bias)),
                   tensor("y", TensorKind::app_read, DType::f16, {1, 2, 2, 1})};
  graph.nodes = {{.name = "turn",
                  .type = "Transpose",
                  .params = {{"perm", constant("perm_PARAM", DType::u32, {4}, view_of(perm))}},
                  .inputs = {"x"},
                  .outputs = {"t"}},
                 {.name = "conv",
                  .type = "Conv2d",
                  .params = {{"stride", constant("stride_PARAM", DType::u32, {2}, view_of(stride))},
                             {"pad_amount", constant("pads_PARAM", DType::u32, {2, 2}, view_of(pads))},
                             {"group", ScalarSpec(std::uint32_t{1})}},
                  .inputs = {"t", "w", "b"},
                  .outputs = {"y"}}};
  const CallResult<FinalizeReport> ready = worker->finalize(graph, {.validate_nodes = true});
  ASSERT_TRUE(ready) << ready.error().message;
  EXPECT_TRUE(ready->refused.empty());
  std::vector<std::uint16_t> x;
  for (int i = 0; i < 12; ++i) x.push_back(float_to_half(static_cast<float>(i), HalfRounding::nearest));
  const std::vector<NamedData> inputs = {{"x", view_of(x)}};
  const CallResult<ExecuteReport> run = worker->execute(inputs, Profiling::off);
  ASSERT_TRUE(run) << run.error().message;
  // Rows 0 and 2 of t hold the channel pairs (0,1), (6,7) and (4,5), (10,11) of x.
  const std::vector<float> wanted = {9.5F, 18.5F, 15.5F, 24.5F};
  const std::vector<std::uint16_t> y = values_of<std::uint16_t>(run->outputs.at(1).data);
  ASSERT_EQ(y.size(), wanted.size());
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(half_to_float(y[i], HalfKind::htp), wanted[i]) << i;
}

TEST_F(Htp, AContextBinaryTellsWhatItWasMadeFor) {
  CallResult<Worker> worker = open(kGen3);
  ASSERT_TRUE(worker) << worker.error().message;
  ASSERT_TRUE(worker->finalize(add_graph(), {}));
  const CallResult<Bytes> binary = worker->context_binary();
  ASSERT_TRUE(binary) << binary.error().message;
  const CallResult<BinaryInfo> info = worker->read_binary(system_library(), *binary);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->soc, 57);
  EXPECT_EQ(info->arch, 75);
  EXPECT_EQ(info->build_id, info_.library.build_id);
  ASSERT_EQ(info->graphs.size(), 1U);
  EXPECT_EQ(info->graphs[0].name, "sum");
  ASSERT_EQ(info->graphs[0].inputs.size(), 2U);
  ASSERT_EQ(info->graphs[0].outputs.size(), 1U);
  EXPECT_EQ(info->graphs[0].inputs[1].name, "b");
  EXPECT_EQ(info->graphs[0].outputs[0].dims, (std::vector<std::uint32_t>{1, 8, 8, 64}));
  EXPECT_EQ(info->graphs[0].outputs[0].type, qnn_number(DType::f16));
  const CallResult<BinaryInfo> cut = worker->read_binary(system_library(), ByteView(*binary).first(100));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, 30010U);
}

}  // namespace
}  // namespace qnndbg::qnn
