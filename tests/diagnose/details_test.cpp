#include "diagnose/details.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "diagnose/diagnose.h"
#include "diagnose/small_run.h"

namespace qnndbg {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

TEST(Histogram, BinsShareTheRangeOfBoth) {
  const std::vector<float> device{0, 1, 2, 3};
  const std::vector<float> reference{0, 0, 8, 4};
  const Histogram histogram = histogram_of(device, reference, 4);
  EXPECT_EQ(histogram.low, 0);
  EXPECT_EQ(histogram.high, 8);
  EXPECT_THAT(histogram.device, ElementsAre(2, 2, 0, 0));
  EXPECT_THAT(histogram.reference, ElementsAre(2, 0, 1, 1)) << "the upper end belongs to the last bin";
}

TEST(Histogram, WhatIsNoNumberIsCountedBeside) {
  const std::vector<float> device{kNan, kInf, 1};
  const std::vector<float> reference{-kInf, 2, 1};
  const Histogram histogram = histogram_of(device, reference, 2);
  EXPECT_EQ(histogram.low, 1);
  EXPECT_EQ(histogram.high, 2);
  EXPECT_EQ(histogram.device_outside, 2);
  EXPECT_EQ(histogram.reference_outside, 1);
  EXPECT_THAT(histogram.device, ElementsAre(1, 0));
}

TEST(Histogram, OneValueNoneAndOnlyNans) {
  const std::vector<float> same{5, 5, 5};
  EXPECT_THAT(histogram_of(same, same, 3).device, ElementsAre(3, 0, 0));
  const std::vector<float> none;
  EXPECT_THAT(histogram_of(none, none, 3).device, Each(0));
  const std::vector<float> nans{kNan};
  const Histogram histogram = histogram_of(nans, nans, 3);
  EXPECT_EQ(histogram.low, 0);
  EXPECT_EQ(histogram.device_outside, 1);
}

TEST(Histogram, LosesNoElement) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> exponent(-60, 60);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<float> device(1 + random() % 300), reference(device.size());
    for (auto* values : {&device, &reference})
      for (float& v : *values) v = (random() % 2 == 0 ? 1.0F : -1.0F) * std::exp(exponent(random));
    if (random() % 3 == 0) device[0] = kNan;
    const Histogram histogram = histogram_of(device, reference, 40);
    const auto size = static_cast<std::int64_t>(device.size());
    ASSERT_EQ(sum(histogram.device) + histogram.device_outside, size);
    ASSERT_EQ(sum(histogram.reference) + histogram.reference_outside, size);
    ASSERT_EQ(histogram.device.size(), 40U);
  }
}

Diagnosis diagnosis_of(const test::SmallRun& run, bool details) {
  const Result<Model> model = Model::open(run.model());
  EXPECT_TRUE(model);
  DiagnoseOptions options;
  options.dump = run.dump();
  options.details = details;
  Result<Diagnosis> diagnosis = diagnose(*model, options);
  EXPECT_TRUE(diagnosis) << diagnosis.error().message;
  return std::move(*diagnosis);
}

TEST(Details, AreThereOnlyWhenAskedFor) {
  EXPECT_FALSE(diagnosis_of(test::SmallRun(), false).details);
  EXPECT_TRUE(diagnosis_of(test::SmallRun(), true).details);
}

TEST(Details, TellWhereTheErrorOfABrokenTensorSits) {
  // Only channel 1 is wrong, by 0.25 near 14.
  const test::SmallRun run([](int channel, double exact) { return exact + (channel == 1 ? 0.25 : 0); });
  const Diagnosis diagnosis = diagnosis_of(run, true);
  ASSERT_EQ(diagnosis.details->tensors.size(), 1U);
  const TensorDetails& tensor = diagnosis.details->tensors[0];
  EXPECT_EQ(tensor.op_index, diagnosis.findings.at(0).op_index);
  EXPECT_EQ(tensor.name, diagnosis.findings.at(0).dump_tensor);
  EXPECT_EQ(tensor.errors.beyond, test::SmallRun::kPixels);
  ASSERT_EQ(tensor.errors.axes.size(), 3U);
  EXPECT_THAT(tensor.errors.axes[0].beyond, ElementsAre(0, test::SmallRun::kPixels, 0));
  EXPECT_EQ(sum(tensor.histogram.device), 3 * test::SmallRun::kPixels);
  const auto convolution = std::find_if(diagnosis.details->operators.begin(), diagnosis.details->operators.end(),
                                        [&](const OperatorDetails& op) { return op.index == tensor.op_index; });
  ASSERT_NE(convolution, diagnosis.details->operators.end());
  EXPECT_FALSE(convolution->parameters.empty());
}

}  // namespace
}  // namespace qnndbg
