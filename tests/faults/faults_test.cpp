// A seeded sample of what faults_bench runs by the thousand, and the generator's own arithmetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>

#include "dump/dump.h"
#include "dump/temp_dir.h"
#include "faults/trial.h"
#include "tensor/half.h"

namespace qnndbg::faults {
namespace {

constexpr std::uint64_t kSeries = 20260820;

void expect_localized(TrialKind kind, int count) {
  const TempDir directory;
  int visible = 0;
  for (int i = 0; i < count; ++i) {
    const Outcome outcome = run_trial(trial_seed(kSeries, kind, i), kind, directory.path() / "run");
    EXPECT_EQ(outcome.problem, "") << text_of(outcome);
    EXPECT_TRUE(outcome.localized()) << text_of(outcome);
    for (const FaultOutcome& fault : outcome.faults) visible += fault.must_be_found() ? 1 : 0;
  }
  // The sample would prove nothing if its faults could not be seen.
  EXPECT_GE(visible, kind == TrialKind::clean ? 0 : count / 2);
}

TEST(Faults, SingleFaultsAreLocalized) { expect_localized(TrialKind::fault, 60); }
TEST(Faults, StackedFaultsAreAllFound) { expect_localized(TrialKind::stacked, 15); }
TEST(Faults, SoundRunsAreLeftAlone) { expect_localized(TrialKind::clean, 20); }

TEST(Faults, OneSeedGivesOneTrial) {
  const TempDir directory;
  const std::uint64_t seed = trial_seed(kSeries, TrialKind::fault, 3);
  const Outcome a = run_trial(seed, TrialKind::fault, directory.path() / "a");
  const Outcome b = run_trial(seed, TrialKind::fault, directory.path() / "b");
  EXPECT_EQ(text_of(a), text_of(b));
}

std::unique_ptr<Program> compiled(Network network) {
  auto program = Program::compile(std::move(network));
  if (program) return std::move(*program);
  ADD_FAILURE() << program.error().message;
  return nullptr;
}

/// y = minimum(|x|, -|x|) of four numbers.
Network minimum_network() {
  return {.ops = {{"x", Input{{1, 4}}, {}, {0}},
                  {"abs", Unary{wire::Un_ABS}, {0}, {1}},
                  {"neg", Unary{wire::Un_NEG}, {1}, {2}},
                  {"min", Binary{wire::Bin_MINIMUM}, {1, 2}, {3}}},
          .tensors = 4};
}

std::vector<Tensor> four_numbers() {
  std::vector<Tensor> given;
  given.push_back(Tensor::f32({1, 4}));
  const std::array<float, 4> values{1, -2, 3, -4};
  std::copy(values.begin(), values.end(), given[0].f32().begin());
  return given;
}

std::vector<float> values_of(const Tensor& tensor) { return {tensor.f32().begin(), tensor.f32().end()}; }

const Fault& find_fault(const std::vector<Fault>& faults, std::string_view what) {
  const auto found = std::find_if(faults.begin(), faults.end(), [&](const Fault& f) { return f.what == what; });
  if (found == faults.end()) throw std::out_of_range(std::string(what));
  return *found;
}

TEST(Faults, AnEditChangesOneOperatorAlone) {
  const auto program = compiled(minimum_network());
  Rng rng(1);
  const std::vector<Fault> faults = faults_of(*program, 3, rng);
  auto recording = run(*program, four_numbers(), {find_fault(faults, "subtract")});
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_THAT(values_of(recording->tensors[1]), testing::ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(values_of(recording->tensors[2]), testing::ElementsAre(-1, -2, -3, -4));
  EXPECT_THAT(values_of(recording->tensors[3]), testing::ElementsAre(2, 4, 6, 8));
}

TEST(Faults, SizeIsTheLargestErrorInUnitsOfTheBound) {
  const auto program = compiled(minimum_network());
  Rng rng(1);
  auto recording = run(*program, four_numbers(), {find_fault(faults_of(*program, 3, rng), "subtract")});
  ASSERT_TRUE(recording) << recording.error().message;
  const auto bounds = Bounds::load("v75", 1);
  ASSERT_TRUE(bounds) << bounds.error().message;
  const auto size = size_of(*program, 3, *recording, *bounds);
  ASSERT_TRUE(size) << size.error().message;
  const Bound exact = bounds->of("exact");  // 3 |y| against y/2 units in the last place and a small absolute part
  EXPECT_NEAR(*size, 12 / (exact.y * 0x1p-11 * 4 + exact.absolute), 1);
  const auto sound = size_of(*program, 2, *recording, *bounds);
  ASSERT_TRUE(sound) << sound.error().message;
  EXPECT_EQ(*sound, 0);
}

// |x| instead of minimum(|x|, -|x|): the first operand twice, or the maximum; not the sum.
TEST(Faults, CausesThatGiveTheSameTensorAreEquivalent) {
  const auto program = compiled(minimum_network());
  Rng rng(1);
  const std::vector<Fault> faults = faults_of(*program, 3, rng);
  const Fault& twice = find_fault(faults, "the first operand twice");
  auto recording = run(*program, four_numbers(), {twice});
  ASSERT_TRUE(recording) << recording.error().message;
  const auto bounds = Bounds::load("v75", 1);
  ASSERT_TRUE(bounds) << bounds.error().message;
  const std::vector<std::string> causes = equivalent_causes(*program, twice, *recording, *bounds);
  EXPECT_THAT(causes, testing::Contains("binary_op_wrong"));
  EXPECT_THAT(causes, testing::Not(testing::Contains("output_constant")));
}

TEST(Faults, EveryCauseOfHalfPrecisionIsInTheCatalogue) {
  std::set<std::string> causes;
  Rng rng(11);
  for (int i = 0; i < 150; ++i) {
    const auto program = compiled(random_network(rng));
    for (std::size_t k = 0; k < program->network().ops.size(); ++k) {
      for (const Fault& fault : faults_of(*program, static_cast<int>(k), rng)) causes.insert(fault.cause);
    }
  }
  const std::set<std::string> expected{"input_not_copied",
                                       "input_differs",
                                       "bias_dropped",
                                       "bias_misordered",
                                       "bias_scale_wrong",
                                       "bias_differs",
                                       "weight_layout_wrong",
                                       "weight_scale_wrong",
                                       "weights_differ",
                                       "padding_side_wrong",
                                       "stride_wrong",
                                       "dilation_wrong",
                                       "second_input_wrong",
                                       "operand_order_swapped",
                                       "binary_op_wrong",
                                       "activation_wrong",
                                       "activation_dropped",
                                       "activation_slope_wrong",
                                       "clip_range_wrong",
                                       "avgpool_count_pad_wrong",
                                       "pool_type_wrong",
                                       "avgpool_ceil_edge_row_zero",
                                       "resize_coordinate_mode_wrong",
                                       "resize_scale_taken_from_dims_not_from_model",
                                       "resize_nearest_source_index_differs",
                                       "softmax_axis_wrong",
                                       "reduce_axis_wrong",
                                       "reduce_op_wrong",
                                       "matmul_transpose_wrong",
                                       "layernorm_epsilon_wrong",
                                       "gamma_dropped",
                                       "gamma_ignored",
                                       "gamma_misordered",
                                       "gamma_scale_wrong",
                                       "beta_dropped",
                                       "beta_misordered",
                                       "flatten_layout_wrong",
                                       "permutation_wrong",
                                       "slice_begin_wrong",
                                       "cast_wrong",
                                       "output_constant",
                                       "output_zero",
                                       "output_unwritten"};
  EXPECT_EQ(causes, expected);
}

TEST(Device, WritesACompleteDump) {
  const TempDir directory;
  Rng rng(3);
  const auto program = compiled(minimum_network());
  auto recording = run(*program, four_numbers(), {});
  ASSERT_TRUE(recording) << recording.error().message;
  const auto written = write_run(*program, *recording, directory.path());
  ASSERT_TRUE(written) << written.error().message;
  auto dump = Dump::open(directory.path() / "dump");
  ASSERT_TRUE(dump) << dump.error().message;
  auto execution = dump->read_last_complete();
  ASSERT_TRUE(execution) << execution.error().message;
  EXPECT_TRUE(execution->complete);
  std::vector<std::string> names;
  for (const DumpEntry& entry : execution->entries) names.push_back(entry.name);
  EXPECT_THAT(names, testing::ElementsAre("t3", "t0_cast", "t1", "t2", "t3_cast"));
}

TEST(Device, RoundsAsHtpDoes) {
  EXPECT_EQ(round_to_htp_half(1 + 0x1p-11, true), 1.0F);             // a tie goes to the even neighbour
  EXPECT_EQ(round_to_htp_half(1 + 3 * 0x1p-11, true), 1 + 0x1p-9F);  // also upwards
  EXPECT_EQ(round_to_htp_half(-2049, true), -2048.0F);
  EXPECT_EQ(round_to_htp_half(0x1p-15, true), 0x1p-15F);
  EXPECT_EQ(round_to_htp_half(0.99 * 0x1p-15, true), 0.0F);
  EXPECT_EQ(round_to_htp_half(3.4 * 0x1p-24, false), 3 * 0x1p-24F);  // a copy keeps what arithmetic flushes
  EXPECT_EQ(round_to_htp_half(65520, true), 65536.0F);               // no infinity
  EXPECT_EQ(round_to_htp_half(-1e9, true), -131008.0F);
}

TEST(Device, RoundsToWhatHalfCanHold) {
  Rng rng(5);
  for (int i = 0; i < 2000; ++i) {
    const float value = normal_values(rng, 1, 100)[0];
    const float expected = half_to_float(float_to_half(value, HalfRounding::nearest), HalfKind::htp);
    EXPECT_EQ(round_to_htp_half(value, false), expected) << value;
  }
}

TEST(RandomNetwork, EveryOperatorHasAShape) {
  Rng rng(7);
  std::map<std::string, int> types;
  for (int i = 0; i < 200; ++i) {
    const Network network = random_network(rng);
    auto program = Program::compile(network);
    ASSERT_TRUE(program) << program.error().message;
    for (std::size_t k = 0; k < network.ops.size(); ++k) {
      EXPECT_EQ((*program)->plan().ops[k].problem, "") << "#" << k << " of\n" << network.text();
      ++types[type_of(network.ops[k])];
    }
    EXPECT_GE(network.outputs().size(), 1U);
  }
  EXPECT_GE(types.size(), 24U) << testing::PrintToString(types);
}

}  // namespace
}  // namespace qnndbg::faults
