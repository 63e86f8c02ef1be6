#include "diagnose/shift.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "diagnose/diagnose.h"
#include "diagnose/small_run.h"

namespace qnndbg {
namespace {

using testing::HasSubstr;

const Bound kLinear{.y = 1.1, .absolute = 0x1.1p-15};

/// One channel-first tensor: references drawn by `draw`, and the device's rounding of them plus a shift of one channel.
struct Case {
  Dims dims;
  std::vector<float> device, reference;

  template <class Draw>
  Case(Dims d, int shifted, double shift, Draw draw) : dims(std::move(d)) {
    const std::int64_t inner = dims[2] * dims[3];
    for (std::int64_t i = 0; i < dims[0] * dims[1] * inner; ++i) {
      const bool here = i / inner % dims[1] == shifted;
      reference.push_back(draw());
      const double exact = reference.back() * (1 + (here ? shift : 0));
      device.push_back(half_to_float(float_to_half(static_cast<float>(exact), HalfRounding::nearest), HalfKind::htp));
    }
  }
  std::optional<ChannelShift> find() const { return find_shift(device, reference, dims, kLinear); }
};

TEST(Shift, RoundingToNearestHasNone) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> value(seed % 3 == 0 ? 5.0F : 0.0F, seed % 2 == 0 ? 1.0F : 0.05F);
    const Case sound({1, 4, 32, 40}, -1, 0, [&] { return value(random); });
    EXPECT_FALSE(sound.find()) << seed;
  }
}

TEST(Shift, OfOneChannelIsFoundFarBelowTheBound) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> value(1, 7);
  const Case shifted({2, 5, 48, 48}, 3, 0.3 * kHalfUnitRoundoff, [&] { return value(random); });
  const auto found = shifted.find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->channel, 3);
  EXPECT_EQ(found->shifted, 1);
  EXPECT_EQ(found->channels, 5);
  EXPECT_GT(found->mean, 0);
  EXPECT_NEAR(found->share, 0.3 / 1.1, 0.03);
}

TEST(Shift, HasASign) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> value(1, 7);
  const Case shifted({1, 2, 64, 64}, 0, -0.3 * kHalfUnitRoundoff, [&] { return value(random); });
  ASSERT_TRUE(shifted.find());
  EXPECT_LT(shifted.find()->mean, 0);
}

TEST(Shift, RepeatedValuesAreOneObservation) {
  // A white page: nearly every element is one of four values, each with a rounding error of its own.
  std::mt19937 random(3);
  std::uniform_int_distribution<int> which(0, 3);
  constexpr float kValues[] = {1.0004F, 1.3004F, 2.6005F, 3.2009F};
  const Case page({1, 2, 100, 100}, -1, 0, [&] { return kValues[which(random)]; });
  EXPECT_FALSE(page.find());
}

TEST(Shift, NearlyEqualValuesAreFewObservations) {
  // A page with noise: within a tenth of a unit in the last place all errors have one sign.
  std::mt19937 random(4);
  std::uniform_real_distribution<float> noise(0, 1e-4F);
  const Case page({1, 1, 200, 200}, -1, 0, [&] { return 1.0002F + noise(random); });
  EXPECT_FALSE(page.find());
}

TEST(Shift, TiesThatAllRoundUpAreNone) {
  std::vector<float> device, reference;
  std::mt19937 random(5);
  std::uniform_int_distribution<int> unit(1024, 2047);
  for (int i = 0; i < 4096; ++i) {
    const auto y = static_cast<float>(unit(random));
    reference.push_back(i % 2 == 0 ? y + 0.5F : y);
    device.push_back(i % 2 == 0 ? y + 1 : y);
  }
  EXPECT_FALSE(find_shift(device, reference, {1, 1, 64, 64}, kLinear));
}

TEST(Shift, FlushedResultsAreNone) {
  std::mt19937 random(6);
  std::uniform_real_distribution<float> value(0x1p-17F, 0x1p-15F);
  std::vector<float> reference;
  for (int i = 0; i < 4096; ++i) reference.push_back(value(random));
  const std::vector<float> device(reference.size(), 0.0F);
  EXPECT_FALSE(find_shift(device, reference, {1, 1, 64, 64}, kLinear));
}

TEST(Shift, NeedsManyElements) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> value(1, 7);
  const Case small({1, 3, 15, 17}, 1, 0.9 * kHalfUnitRoundoff, [&] { return value(random); });
  EXPECT_FALSE(small.find());
}

TEST(Shift, OfTwoOrThreeDimsIsAlongTheLastAxis) {
  std::mt19937 random(8);
  std::uniform_real_distribution<float> value(1, 7);
  std::vector<float> device, reference;
  for (int i = 0; i < 2000 * 3; ++i) {
    reference.push_back(value(random));
    const double exact = reference.back() * (i % 3 == 2 ? 1 + 0.4 * kHalfUnitRoundoff : 1);
    device.push_back(half_to_float(float_to_half(static_cast<float>(exact), HalfRounding::nearest), HalfKind::htp));
  }
  for (const Dims& dims : {Dims{2000, 3}, Dims{20, 100, 3}}) {
    const auto found = find_shift(device, reference, dims, kLinear);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->channel, 2);
  }
}

TEST(Shift, HostileShapesAreNone) {
  const std::vector<float> values(4);
  EXPECT_FALSE(find_shift({}, {}, {}, kLinear));
  EXPECT_FALSE(find_shift({}, {}, {0, 3, 0, 5}, kLinear));
  EXPECT_FALSE(find_shift(values, values, {4}, kLinear));
  const std::vector<float> nan(4096, NAN);
  EXPECT_FALSE(find_shift(nan, nan, {1, 1, 64, 64}, kLinear));
}

Result<Diagnosis> diagnose_run(const test::SmallRun& run, bool explain = false) {
  auto model = Model::open(run.model(), {});
  if (!model) return fail(model.error());
  DiagnoseOptions options;
  options.dump = run.dump();
  options.arch = "v75";
  options.constants = ConstantsMode::toward_zero;
  options.explain_bounds = explain;
  return diagnose(*model, options);
}

TEST(ShiftFinding, ASoundConvolutionHasNone) {
  const auto diagnosis = diagnose_run(test::SmallRun());
  ASSERT_TRUE(diagnosis) << diagnosis.error().message;
  EXPECT_EQ(diagnosis->verdict, Verdict::clean);
  EXPECT_TRUE(diagnosis->findings.empty());
}

TEST(ShiftFinding, ABiasWrongByLessThanTheBoundIsAWarningAndNothingElse) {
  const test::SmallRun run([](int channel, double sum) { return channel == 1 ? sum + 0.002 : sum; });
  const auto diagnosis = diagnose_run(run);
  ASSERT_TRUE(diagnosis) << diagnosis.error().message;
  ASSERT_EQ(diagnosis->findings.size(), 1U);
  const Finding& finding = diagnosis->findings.front();
  EXPECT_EQ(finding.id, "QD0901");
  EXPECT_EQ(finding.kind, FindingKind::warning);
  EXPECT_EQ(finding.cause, "systematic_shift");
  EXPECT_FALSE(finding.proven);
  EXPECT_EQ(finding.op, "conv");
  EXPECT_THAT(finding.evidence.front(), HasSubstr("channel 1 of t1_cast"));
  EXPECT_EQ(finding.evidence.back(), "1 of 3 channels are shifted");
  EXPECT_LT(finding.local_error->bound_ratio, 1);
  EXPECT_EQ(diagnosis->verdict, Verdict::clean);
  EXPECT_EQ(diagnosis->operators[1].status, OpStatus::right);
}

TEST(ShiftFinding, ABiasBeyondTheBoundIsABugAndNoWarning) {
  const test::SmallRun run([](int channel, double sum) { return channel == 1 ? sum + 0.1 : sum; });
  const auto diagnosis = diagnose_run(run);
  ASSERT_TRUE(diagnosis) << diagnosis.error().message;
  ASSERT_EQ(diagnosis->findings.size(), 1U);
  EXPECT_EQ(diagnosis->findings.front().kind, FindingKind::bug);
}

TEST(ShiftFinding, ConstantsWhoseRoundingIsGuessedGiveNone) {
  const test::SmallRun run([](int channel, double sum) { return channel == 1 ? sum + 0.002 : sum; });
  auto model = Model::open(run.model(), {});
  ASSERT_TRUE(model);
  DiagnoseOptions options;
  options.dump = run.dump();
  const auto diagnosis = diagnose(*model, options);  // every constant is a half: both roundings fit
  ASSERT_TRUE(diagnosis) << diagnosis.error().message;
  EXPECT_TRUE(diagnosis->run.constant_rounding.empty());
  EXPECT_TRUE(diagnosis->findings.empty());
}

TEST(ExplainBounds, ListsEveryJudgedTensorWithItsLineAndBasis) {
  const auto diagnosis = diagnose_run(test::SmallRun(), true);
  ASSERT_TRUE(diagnosis) << diagnosis.error().message;
  ASSERT_TRUE(diagnosis->bounds);
  ASSERT_EQ(diagnosis->bounds->size(), 1U);
  const BoundUse& use = diagnosis->bounds->front();
  EXPECT_EQ(use.op, "conv");
  EXPECT_EQ(use.dump_tensor, "t1_cast");
  EXPECT_EQ(use.key, "Conv2d");
  EXPECT_EQ(use.bound.y, 1.1);
  EXPECT_EQ(use.bound_ratio, diagnosis->operators[1].bound_ratio);
  EXPECT_DOUBLE_EQ(*use.margin() * use.bound_ratio, 1);
  ASSERT_TRUE(use.basis);
  EXPECT_EQ(use.basis->arch, "v75");
  EXPECT_GT(use.basis->instances, 1000);
  EXPECT_FALSE(diagnose_run(test::SmallRun())->bounds);
}

}  // namespace
}  // namespace qnndbg
