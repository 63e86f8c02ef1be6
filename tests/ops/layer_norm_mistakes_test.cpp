// Mistakes with LayerNorm: epsilon, gamma, beta.
#include "ops/counterfactual.h"
#include "ops/layer_norm_model.h"

namespace qnndbg::test {
namespace {

struct Case {
  Norm norm;
  Tensor x;
};

/// The run at the end or before it, with and without the mean.
Case random_case(Rng& rng, int n) {
  const bool last = n % 2 == 0;
  Case c{.norm = {.axes = {last ? 2 : 1}, .rms = n % 4 >= 2, .epsilon = 1e-5F}, .x = half_tensor(rng, {3, 8, 8})};
  // gamma without zeros: a zero hides its own scale
  c.norm.gamma = random_floats(rng, 8, 0.5F, 2.0F);
  c.norm.beta = random_floats(rng, 8);
  return c;
}

template <class Change>
void expect_cause(unsigned seed, const std::string& cause, Change change) {
  Rng rng(seed);
  for (int n = 0; n < 8; ++n) {
    const Case c = random_case(rng, n);
    Norm wrong = c.norm;
    change(wrong);
    const Found f = cause_of(model_of(c.norm), {&c.x}, on_device(model_of(wrong), {&c.x}));
    EXPECT_EQ(f.cause, cause) << "case " << n << ": " << f.used << ", ties " << ::testing::PrintToString(f.ties);
  }
}

TEST(LayerNormMistakes, NoneInARightOutput) {
  expect_cause(800, "right", [](Norm&) {});
}

TEST(LayerNormMistakes, Epsilon) {
  for (float epsilon : {0.1F, 0.3F, 1.0F}) {
    expect_cause(801, "layernorm_epsilon_wrong", [epsilon](Norm& n) { n.epsilon = epsilon; });
  }
}

TEST(LayerNormMistakes, Gamma) {
  expect_cause(802, "gamma_dropped", [](Norm& n) { std::fill(n.gamma.begin(), n.gamma.end(), 0.0F); });
  expect_cause(803, "gamma_ignored", [](Norm& n) { std::fill(n.gamma.begin(), n.gamma.end(), 1.0F); });
  expect_cause(804, "gamma_misordered",
               [](Norm& n) { std::rotate(n.gamma.begin(), n.gamma.begin() + 1, n.gamma.end()); });
  for (float factor : {0.98F, 1.02F, 1.25F, 2.0F}) {
    expect_cause(805, "gamma_scale_wrong", [factor](Norm& n) {
      for (float& g : n.gamma) g *= factor;
    });
  }
}

TEST(LayerNormMistakes, Beta) {
  expect_cause(806, "beta_dropped", [](Norm& n) { std::fill(n.beta.begin(), n.beta.end(), 0.0F); });
  expect_cause(807, "beta_misordered", [](Norm& n) { std::rotate(n.beta.begin(), n.beta.begin() + 3, n.beta.end()); });
}

TEST(LayerNormMistakes, WhatNobodyDeclaredStaysUnexplained) {
  expect_cause(808, "unexplained", [](Norm& n) {
    n.gamma[2] += 0.5F;
    n.beta[5] -= 0.5F;
  });
}

}  // namespace
}  // namespace qnndbg::test
