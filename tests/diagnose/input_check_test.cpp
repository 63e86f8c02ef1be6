#include "diagnose/input_check.h"

#include <gtest/gtest.h>

namespace qnndbg {
namespace {

Tensor tensor_of(std::vector<float> values) {
  Tensor t = Tensor::f32({static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.f32().begin());
  return t;
}

TEST(InputCheck, RoundingEitherWayIsTheSameInput) {
  const std::vector<float> given{0.1F, -2.3456F, 1e-6F, 70000.0F, 0};
  for (HalfRounding rounding : {HalfRounding::toward_zero, HalfRounding::nearest}) {
    std::vector<float> device;
    for (float v : given) device.push_back(half_to_float(float_to_half(v, rounding), HalfKind::htp));
    EXPECT_FALSE(compare_input(tensor_of(device), tensor_of(given)).has_value());
  }
}

TEST(InputCheck, ZerosAreAnInputThatWasNotCopied) {
  const auto difference = compare_input(tensor_of({0, 0, 0}), tensor_of({0, 0.5F, 0}));
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->cause, "input_not_copied");
}

TEST(InputCheck, ZerosForZerosAreFine) {
  EXPECT_FALSE(compare_input(tensor_of({0, 0}), tensor_of({0, 0})).has_value());
}

TEST(InputCheck, OtherNumbersAreAnotherInput) {
  const auto difference = compare_input(tensor_of({1, 2, 3.5F}), tensor_of({1, 2, 3}));
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->cause, "input_differs");
  EXPECT_NE(difference->evidence.find("element 2"), std::string::npos);
}

}  // namespace
}  // namespace qnndbg
