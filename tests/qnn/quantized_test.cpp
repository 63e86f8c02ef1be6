// A model that this program quantized, run on Qualcomm's own library: the diagnosis calls the dump clean, and names
// encodings that are changed in it. Skipped where the package is not installed.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "diagnose/diagnose.h"
#include "diagnose/tensor_ranges.h"
#include "dump/temp_dir.h"
#include "graph/quantized_model.h"
#include "graphs.h"
#include "installed_library.h"
#include "qnn/emulate.h"

namespace qnndbg::qnn {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::Field;

/// examples/mini, quantized and emulated.
class QuantizedMini : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (installed_library().empty()) GTEST_SKIP() << "onnxruntime-qnn is not installed in .venv";
    const fs::path example = fs::path(QNNDBG_SOURCE_DIR) / "examples" / "mini";
    const Result<Model> floats = Model::open(example / "model.mnn");
    ASSERT_TRUE(floats) << floats.error().message;
    Result<InputMap> inputs = read_inputs({(example / "input" / "inputs.json").string()});
    ASSERT_TRUE(inputs) << inputs.error().message;
    inputs_ = std::move(*inputs);
    const Result<TensorRanges> seen = observe_ranges(*floats, inputs_, {});
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_TRUE(seen->gaps.empty());
    Result<QuantizedModel> quantized = quantize_model(*floats, seen->ranges, GetParam());
    ASSERT_TRUE(quantized) << quantized.error().message;
    quantized_ = std::move(*quantized);
    Result<Model> model = Model::parse(quantized_.bytes, "mini_quantized.mnn");
    ASSERT_TRUE(model) << model.error().message;
    model_ = std::make_unique<Model>(std::move(*model));
    emulate_model();
  }

  void emulate_model() {
    const GraphPlan plan = plan_graph(*model_, {});
    const Result<QnnGraph> planned = build_qnn_graph(*model_, plan, {});
    ASSERT_TRUE(planned) << planned.error().message;
    const Result<ModelGraph> graph = ModelGraph::make(*planned, "mini", ModelGraph::Intermediates::readable);
    ASSERT_TRUE(graph) << graph.error().message;
    CallResult<Engine> engine = Engine::open({}, {.library = installed_library(), .target = {.soc = 57, .arch = 75}});
    ASSERT_TRUE(engine) << engine.error().message;
    const EmulateOptions options{.dump = directory_.path(), .config = {.precision = GraphPrecision::float16}};
    const CallResult<EmulationReport> report = emulate(*engine, *model_, *graph, inputs_, options);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->refused.empty());
  }

  Diagnosis diagnosis() {
    DiagnoseOptions options;
    options.dump = directory_.path();
    options.inputs.emplace();
    for (const auto& [name, value] : inputs_) options.inputs->emplace(name, value.clone());
    options.arch = "v75";
    Result<Diagnosis> result = diagnose(*model_, options);
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? std::move(*result) : Diagnosis{};
  }

  /// Writes other numbers into the manifest's line of a tensor: index, name, ..., scale, offset.
  void change_encoding(const std::string& tensor, const std::function<void(Encoding&)>& change) {
    const fs::path file = directory_.path() / "manifest_000000.tsv";
    std::ifstream in(file);
    std::string text;
    int changed = 0;
    for (std::string line; std::getline(in, line); text += line + '\n') {
      std::vector<std::string> fields = split(line);
      if (fields.size() < 8 || fields[1] != tensor) continue;
      Encoding encoding{std::stod(fields[6]), std::stoi(fields[7])};
      change(encoding);
      fields[6] = fmt::format("{:.9g}", encoding.scale);
      fields[7] = std::to_string(encoding.offset);
      line = fmt::format("{}", fmt::join(fields, "\t"));
      ++changed;
    }
    in.close();
    ASSERT_EQ(changed, 1) << tensor;
    std::ofstream(file) << text;
  }

  static std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == '\t')
        fields.emplace_back();
      else
        fields.back() += c;
    }
    return fields;
  }

  TempDir directory_;
  InputMap inputs_;
  QuantizedModel quantized_;
  std::unique_ptr<Model> model_;
};

std::string findings_of(const Diagnosis& diagnosis) {
  std::string text;
  for (const Finding& finding : diagnosis.findings)
    text += fmt::format("{} #{} {}: {}\n", finding.id, finding.op_index, finding.cause, finding.title);
  return text;
}

TEST_P(QuantizedMini, IsClean) {
  const Diagnosis result = diagnosis();
  EXPECT_EQ(result.verdict, qnndbg::Verdict::clean) << result.summary << "\n" << findings_of(result);
  const auto fixed = std::count_if(result.tensors.begin(), result.tensors.end(),
                                   [](const TensorRow& row) { return is_quantized(row.dtype); });
  EXPECT_GT(fixed, 30);  // most of the network runs in fixed point
  EXPECT_GE(quantized_.weights, 10);
}

TEST_P(QuantizedMini, AWrongScaleIsNamed) {
  change_encoding("t20", [](Encoding& encoding) { encoding.scale *= 1.25; });
  const Diagnosis result = diagnosis();
  EXPECT_EQ(result.verdict, qnndbg::Verdict::bug) << findings_of(result);
  EXPECT_THAT(result.findings,
              Contains(testing::AllOf(Field(&Finding::tensor, "t20"), Field(&Finding::cause, "quant_scale_wrong"))))
      << findings_of(result);
}

TEST_P(QuantizedMini, AWrongOffsetIsNamed) {
  // int8 has the offset 0; what stands there may not be another one.
  const bool has_sign = GetParam() == DType::ufixed16;
  change_encoding("t20", [&](Encoding& encoding) { encoding.offset = has_sign ? -encoding.offset : 3; });
  const Diagnosis result = diagnosis();
  EXPECT_EQ(result.verdict, qnndbg::Verdict::bug) << findings_of(result);
  const char* cause = has_sign ? "quant_offset_sign" : "quant_offset_wrong";
  EXPECT_THAT(result.findings, Contains(testing::AllOf(Field(&Finding::tensor, "t20"), Field(&Finding::cause, cause))))
      << findings_of(result);
}

INSTANTIATE_TEST_SUITE_P(Types, QuantizedMini, testing::Values(DType::sfixed8, DType::ufixed16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

}  // namespace
}  // namespace qnndbg::qnn
