// Known cases: those that only tensors tell are made as a dump and diagnosed; the logs of the others (tests/knowledge/
// logs, named after their case) lead back to the case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>

#include "diagnose/diagnose.h"
#include "dump/temp_dir.h"
#include "faults/faults.h"
#include "knowledge/case_store.h"
#include "report/explanation.h"

namespace qnndbg {
namespace {

using faults::Convolution;
using faults::Fault;
using faults::Input;
using faults::Network;
using faults::Operator;
using faults::Program;
using faults::Recording;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int kChannels = 8;

std::unique_ptr<Program> compiled(Network network) {
  auto program = Program::compile(std::move(network));
  if (program) return std::move(*program);
  ADD_FAILURE() << program.error().message;
  return nullptr;
}

std::vector<Tensor> normal_input(const Dims& dims, float mean, float deviation) {
  std::mt19937 random(3);
  std::normal_distribution<float> value(mean, deviation);
  Tensor tensor = Tensor::f32(dims);
  for (float& v : tensor.f32()) v = value(random);
  std::vector<Tensor> given;
  given.push_back(std::move(tensor));
  return given;
}

/// Runs the network with these faults, writes the run and judges it.
Diagnosis diagnosed(const Program& program, std::vector<Tensor> given, const std::vector<Fault>& put_in) {
  const Result<Recording> recording = faults::run(program, std::move(given), put_in);
  if (!recording) {
    ADD_FAILURE() << recording.error().message;
    return {};
  }
  const TempDir directory;
  const Result<void> written = faults::write_run(program, *recording, directory.path());
  const Result<Model> model = Model::open(directory.path() / "model.mnn");
  Result<InputMap> inputs = read_inputs({(directory.path() / "input" / "inputs.json").string()});
  if (!written || !model || !inputs) {
    ADD_FAILURE() << "the run could not be written";
    return {};
  }
  DiagnoseOptions options;
  options.dump = directory.path() / "dump";
  options.inputs = std::move(*inputs);
  Result<Diagnosis> diagnosis = diagnose(*model, options);
  if (!diagnosis) {
    ADD_FAILURE() << diagnosis.error().message;
    return {};
  }
  return std::move(*diagnosis);
}

/// Findings that accuse somebody.
std::vector<const Finding*> accusations(const Diagnosis& diagnosis) {
  std::vector<const Finding*> found;
  for (const Finding& finding : diagnosis.findings)
    if (finding.kind != FindingKind::warning) found.push_back(&finding);
  return found;
}

/// 1x1, from all channels to all, with this matrix.
Convolution pointwise(std::vector<float> matrix) {
  return {.in = kChannels, .out = kChannels, .weight = std::move(matrix), .bias = std::vector<float>(kChannels, 0)};
}

std::vector<float> random_matrix(float deviation, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> value(0, deviation);
  std::vector<float> matrix(kChannels * kChannels);
  for (float& v : matrix) v = value(random);
  return matrix;
}

// --- C06: a reshape flattens channel-last data
// -------------------------------------------------------------------------

TEST(KnownCaseC06, AReshapeThatFlattensInNhwcOrder) {
  const auto program = compiled({.ops = {{"x", Input{{1, kChannels, 4, 4}}, {}, {0}},
                                         {"conv", pointwise(random_matrix(0.4F, 1)), {0}, {1}},
                                         {"flat", faults::Reshape{{1, kChannels * 16}}, {1}, {2}}},
                                 .tensors = 3});
  ASSERT_NE(program, nullptr);
  const auto flat = std::find_if(program->network().ops.begin(), program->network().ops.end(),
                                 [](const Operator& op) { return op.name == "flat"; });
  faults::Rng rng(1);
  std::vector<Fault> wrong = faults::faults_of(*program, static_cast<int>(flat - program->network().ops.begin()), rng);
  std::erase_if(wrong, [](const Fault& fault) { return fault.cause != "flatten_layout_wrong"; });
  ASSERT_THAT(wrong, SizeIs(1));

  const Diagnosis diagnosis = diagnosed(*program, normal_input({1, kChannels, 4, 4}, 0, 1), wrong);
  EXPECT_EQ(diagnosis.verdict, Verdict::bug);
  ASSERT_THAT(accusations(diagnosis), SizeIs(1));
  const Finding& finding = *accusations(diagnosis).front();
  EXPECT_EQ(finding.op, "flat");
  EXPECT_EQ(finding.cause, "flatten_layout_wrong");
  EXPECT_TRUE(finding.proven);
}

TEST(KnownCaseC06, TheSameReshapeDoneRightly) {
  const auto program = compiled({.ops = {{"x", Input{{1, kChannels, 4, 4}}, {}, {0}},
                                         {"conv", pointwise(random_matrix(0.4F, 1)), {0}, {1}},
                                         {"flat", faults::Reshape{{1, kChannels * 16}}, {1}, {2}}},
                                 .tensors = 3});
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(diagnosed(*program, normal_input({1, kChannels, 4, 4}, 0, 1), {}).verdict, Verdict::clean);
}

// --- C07: rounding that grows ----------------------------------------------------------------------------------------

/// Keeps what all channels have in common and makes their differences 2.5 times larger. All weights are halves.
Convolution difference_amplifier() {
  std::vector<float> matrix(kChannels * kChannels, -0.1875F);
  for (int c = 0; c < kChannels; ++c) matrix[static_cast<std::size_t>(c * (kChannels + 1))] = 2.3125F;
  return pointwise(std::move(matrix));
}

TEST(KnownCaseC07, RoundingThatGrowsThroughADeepChainAccusesNobody) {
  constexpr int kLayers = 8;
  Network network{.ops = {{"x", Input{{1, kChannels, 8, 8}}, {}, {0}}}, .tensors = 1};
  for (int i = 0; i < kLayers; ++i) {
    network.ops.push_back({"layer_" + std::to_string(i), difference_amplifier(), {i}, {i + 1}});
    ++network.tensors;
  }
  const auto program = compiled(std::move(network));
  ASSERT_NE(program, nullptr);
  // Beside 10, half precision is coarse against differences of 0.005.
  const Diagnosis diagnosis = diagnosed(*program, normal_input({1, kChannels, 8, 8}, 10, 0.005F), {});
  EXPECT_EQ(diagnosis.verdict, Verdict::clean) << diagnosis.summary;
  EXPECT_THAT(accusations(diagnosis), IsEmpty());

  std::vector<double> errors;
  for (const OperatorRow& row : diagnosis.operators)
    if (row.name.starts_with("layer_") && row.end_to_end) errors.push_back(row.end_to_end->max_abs);
  ASSERT_THAT(errors, SizeIs(kLayers));
  for (std::size_t i = 1; i < errors.size(); ++i) {
    EXPECT_GT(errors[i], 1.5 * errors[i - 1]) << i;
    EXPECT_LT(errors[i], 4 * errors[i - 1]) << i << ": no operator stands out";
  }
  EXPECT_GT(diagnosis.operators.back().end_to_end->max_rel, 0.2) << "the output is far off, and nobody is to blame";
}

// --- C29: a convolution leaves the range of fp16
// -----------------------------------------------------------------------

TEST(KnownCaseC29, TheFirstConvolutionThatOverflowsIsNamedAndNoLaterOne) {
  const auto program = compiled({.ops = {{"x", Input{{1, kChannels, 8, 8}}, {}, {0}},
                                         {"sound", pointwise(random_matrix(0.4F, 1)), {0}, {1}},
                                         {"too_large", pointwise(random_matrix(3e4F, 2)), {1}, {2}},
                                         {"small_again", pointwise(random_matrix(1e-3F, 3)), {2}, {3}},
                                         {"last", pointwise(random_matrix(1e-2F, 4)), {3}, {4}}},
                                 .tensors = 5});
  ASSERT_NE(program, nullptr);
  const Diagnosis diagnosis = diagnosed(*program, normal_input({1, kChannels, 8, 8}, 0, 1), {});
  EXPECT_EQ(diagnosis.verdict, Verdict::range) << diagnosis.summary;
  ASSERT_THAT(accusations(diagnosis), SizeIs(1));
  const Finding& finding = *accusations(diagnosis).front();
  EXPECT_EQ(finding.kind, FindingKind::range);
  EXPECT_EQ(finding.op, "too_large");
  EXPECT_EQ(finding.cause, "fp16_overflow");
  EXPECT_TRUE(finding.proven);
  for (const OperatorRow& row : diagnosis.operators) {
    EXPECT_NE(row.status, OpStatus::broken) << row.name;
  }
}

// --- Logs lead to their case
// -------------------------------------------------------------------------------------------

/// Id of the case that is shown first for a log; empty: none is near enough.
std::string nearest_case(const std::filesystem::path& log) {
  std::ifstream file(log, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<const KnownCase*> cases;
  for (const KnownCase& known : built_in_cases()) cases.push_back(&known);
  const std::vector<SimilarCase> nearest = nearest_cases(cases, fingerprint_of(explain_log(text)), 1);
  return nearest.empty() ? "" : nearest.front().known.id;
}

TEST(KnownCases, ALogIsShownItsOwnCaseOrNone) {
  // The lines of these are those of another case, and what tells the two apart is not in them.
  const std::map<std::string, std::string> kOtherwise = {{"C17_ort_nested_chain", "C25"},
                                                         {"C18_arch_overwritten", "C26"}};
  int logs = 0;
  int found = 0;
  const auto directory = std::filesystem::path(QNNDBG_SOURCE_DIR) / "tests" / "knowledge" / "logs";
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".log" || name[0] != 'C') continue;
    ++logs;
    const std::string nearest = nearest_case(entry.path());
    if (nearest == name.substr(0, 3)) ++found;
    const auto otherwise = kOtherwise.find(name);
    EXPECT_THAT(nearest, testing::AnyOf("", otherwise == kOtherwise.end() ? name.substr(0, 3) : otherwise->second))
        << name;
  }
  EXPECT_GE(found, logs / 2) << "of " << logs;
}

}  // namespace
}  // namespace qnndbg
