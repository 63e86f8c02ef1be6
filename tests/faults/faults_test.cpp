// A seeded sample of what faults_bench runs by the thousand, and the generator's own arithmetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

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
