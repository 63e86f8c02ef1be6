// What a diagnosis makes of a witness's answer, with witnesses that answer as they are told.
#include "diagnose/witness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "diagnose/diagnose.h"
#include "diagnose/small_run.h"
#include "tensor/half.h"

namespace qnndbg {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

double shifted(int, double sum) { return sum + 0.25; }
double right(int, double sum) { return sum; }

/// Computes the convolution of SmallRun from the device's own bytes: all it needs is the operand and a function of the
/// exact sum.
class Told final : public Witness {
 public:
  explicit Told(std::function<Result<WitnessAnswer>(const WitnessQuestion&)> answer) : answer_(std::move(answer)) {}
  std::string name() const override { return "someone else"; }
  Result<WitnessAnswer> compute(const WitnessQuestion& question) override {
    ++asked;
    return answer_(question);
  }
  int asked = 0;

 private:
  std::function<Result<WitnessAnswer>(const WitnessQuestion&)> answer_;
};

std::vector<float> halves(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + 2 * i, sizeof bits);
    values[i] = half_to_float(bits, HalfKind::htp);
  }
  return values;
}

/// The right answer, plus `shift`, rounded as the device does.
Result<WitnessAnswer> computed(const WitnessQuestion& question, double shift) {
  const Result<std::vector<std::byte>> operand = question.device_bytes(0, "no such entry");
  if (!operand) return fail(operand.error());
  const std::vector<float> x = halves(*operand);
  constexpr double kWeights[3][2] = {{0.78125, 0.4375}, {-0.65625, 0.59375}, {0.359375, -0.84375}};
  constexpr double kBias = 14;
  constexpr std::size_t kPixels = static_cast<std::size_t>(test::SmallRun::kPixels);
  WitnessAnswer answer;
  answer.value = Tensor::f32(question.dims);
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t p = 0; p < kPixels; ++p) {
      const double sum = kBias + kWeights[c][0] * static_cast<double>(x[p]) +
                         kWeights[c][1] * static_cast<double>(x[kPixels + p]) + shift;
      answer.value.f32()[c * kPixels + p] =
          half_to_float(float_to_half(static_cast<float>(sum), HalfRounding::nearest), HalfKind::htp);
    }
  return answer;
}

Diagnosis diagnosis_of(const test::SmallRun& run, Witness& witness) {
  const Result<Model> model = Model::open(run.model());
  if (!model) {
    ADD_FAILURE() << model.error().message;
    return {};
  }
  DiagnoseOptions options;
  options.dump = run.dump();
  options.witness = &witness;
  Result<Diagnosis> diagnosis = diagnose(*model, options);
  if (!diagnosis) {
    ADD_FAILURE() << diagnosis.error().message;
    return {};
  }
  return std::move(*diagnosis);
}

TEST(WitnessInDiagnosis, IsNotAskedAboutASoundRun) {
  Told witness([](const WitnessQuestion& question) { return computed(question, 0); });
  EXPECT_EQ(diagnosis_of(test::SmallRun(right), witness).verdict, Verdict::clean);
  EXPECT_EQ(witness.asked, 0);
}

TEST(WitnessInDiagnosis, WhoIsRightPutsTheFaultIntoTheMapping) {
  Told witness([](const WitnessQuestion& question) {
    Result<WitnessAnswer> answer = computed(question, 0);
    if (answer) answer->mapping_differences = {"Conv2d stride: MNN writes 2, the model means 1"};
    return answer;
  });
  const Diagnosis diagnosis = diagnosis_of(test::SmallRun(shifted), witness);
  ASSERT_EQ(diagnosis.findings.size(), 1U);
  const Finding& finding = diagnosis.findings[0];
  EXPECT_NE(finding.cause, "library_behaviour");
  EXPECT_THAT(finding.evidence, Contains(AllOf(HasSubstr("someone else"), HasSubstr("MNN's mapping is at fault"))));
  EXPECT_THAT(finding.evidence, Contains("mapping: Conv2d stride: MNN writes 2, the model means 1"));
}

TEST(WitnessInDiagnosis, WhoGivesTheDevicesAnswerBlamesTheLibrary) {
  Told witness([](const WitnessQuestion& question) { return computed(question, 0.25); });
  const Diagnosis diagnosis = diagnosis_of(test::SmallRun(shifted), witness);
  ASSERT_EQ(diagnosis.findings.size(), 1U);
  const Finding& finding = diagnosis.findings[0];
  EXPECT_EQ(finding.id, "QD0250");
  EXPECT_EQ(finding.cause, "library_behaviour");
  EXPECT_TRUE(finding.proven);
  EXPECT_FALSE(finding.suspect) << "there is nothing to change in MNN";
  EXPECT_THAT(
      finding.evidence,
      Contains(HasSubstr(
          "computes the device's values from the device's inputs with the model's parameters: all 12288 elements")));
}

TEST(WitnessInDiagnosis, WhoIsWrongInAnotherWayChangesNothing) {
  Told silent([](const WitnessQuestion&) -> Result<WitnessAnswer> { return fail("it has gone"); });
  const Diagnosis without = diagnosis_of(test::SmallRun(shifted), silent);
  Told witness([](const WitnessQuestion& question) { return computed(question, -1); });
  const Diagnosis diagnosis = diagnosis_of(test::SmallRun(shifted), witness);
  ASSERT_EQ(diagnosis.findings.size(), 1U);
  EXPECT_EQ(diagnosis.findings[0].cause, without.findings.at(0).cause);
  EXPECT_THAT(diagnosis.findings[0].evidence,
              Contains(HasSubstr("decides nothing: with the model's parameters it is neither right")));
  EXPECT_THAT(without.findings.at(0).evidence, Contains("witness: could not be asked: it has gone"));
}

TEST(WitnessInDiagnosis, IsAskedAgainWithConstantsRoundedToNearest) {
  std::vector<HalfRounding> roundings;
  Told witness([&](const WitnessQuestion& question) {
    roundings.push_back(question.rounding);
    return computed(question, question.rounding == HalfRounding::nearest ? 0 : 1);
  });
  const Diagnosis diagnosis = diagnosis_of(test::SmallRun(shifted), witness);
  ASSERT_EQ(diagnosis.findings.size(), 1U);
  EXPECT_THAT(roundings, ElementsAre(HalfRounding::toward_zero, HalfRounding::nearest));
  EXPECT_THAT(diagnosis.findings[0].evidence, Contains(HasSubstr("MNN's mapping is at fault")));
  EXPECT_THAT(diagnosis.findings[0].evidence, Not(Contains(HasSubstr("decides nothing"))));
}

TEST(WitnessInDiagnosis, MoreNodesMayRoundMoreOften) {
  // 0.03 is beyond the one rounding of a sum near 14, and within twelve of them.
  int extra_nodes = 0;
  Told witness([&](const WitnessQuestion& question) {
    Result<WitnessAnswer> answer = computed(question, 0.03);
    if (answer) answer->extra_nodes = extra_nodes;
    return answer;
  });
  const Diagnosis one = diagnosis_of(test::SmallRun(shifted), witness);
  EXPECT_THAT(one.findings.at(0).evidence, Contains(HasSubstr("decides nothing")));
  extra_nodes = 12;
  const Diagnosis several = diagnosis_of(test::SmallRun(shifted), witness);
  EXPECT_THAT(several.findings.at(0).evidence, Contains(HasSubstr("MNN's mapping is at fault")));
}

}  // namespace
}  // namespace qnndbg
