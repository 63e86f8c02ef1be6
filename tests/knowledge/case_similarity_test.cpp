#include "knowledge/case_similarity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "knowledge/case_store.h"

namespace qnndbg {
namespace {

std::vector<const KnownCase*> built_in() {
  std::vector<const KnownCase*> cases;
  for (const KnownCase& known : built_in_cases()) cases.push_back(&known);
  return cases;
}

std::vector<std::string> nearest_ids(const Fingerprint& run) {
  std::vector<std::string> ids;
  for (const SimilarCase& match : nearest_cases(built_in(), run, 5)) ids.push_back(match.known.id);
  return ids;
}

// Fingerprints of runs that were seen (none of them is the fingerprint of a case).

TEST(Nearest, LayerNormThatCannotBeCreated) {
  const Fingerprint run = {.classes = {"finalize_op_not_created"},
                           .codes = {1002},
                           .patterns = {"op-creation-failure", "mnn-tensor-usage-constant"},
                           .operators = {"LayerNorm"},
                           .kernels = {"q::layernorm_2d_fp16_oneshot_moments_sf"},
                           .stages = {"finalize"},
                           .stacks = {"mnn"},
                           .sdk_versions = {"2.51"}};
  ASSERT_FALSE(nearest_ids(run).empty());
  EXPECT_EQ(nearest_ids(run).front(), "C04");
}

TEST(Nearest, ExecuteWithoutInputs) {
  const Fingerprint run = {.classes = {"input_not_copied"},
                           .codes = {6000},
                           .patterns = {"mnn-tensor-usage-constant"},
                           .stages = {"execute"},
                           .stacks = {"mnn"}};
  EXPECT_THAT(nearest_ids(run), testing::ElementsAre("C03"));
}

TEST(Nearest, LibraryNotFoundIsNotTheMissingBackendThatFollows) {
  const Fingerprint run = {.classes = {"library_not_found"},
                           .patterns = {"mnn-open-library-failed", "mnn-qnn-backend-missing"},
                           .stages = {"load_library"},
                           .stacks = {"mnn"}};
  ASSERT_FALSE(nearest_ids(run).empty());
  EXPECT_EQ(nearest_ids(run).front(), "C01");
}

/// Refused for its rank: neither the block-quantized weights nor the float constant of the cases with this code.
TEST(Nearest, NothingForARefusalOfAnotherKind) {
  const Fingerprint run = {.classes = {"validation_refused"},
                           .codes = {3110},
                           .patterns = {"validate-op-config-failed", "rank-mismatch"},
                           .operators = {"Quantize"},
                           .stages = {"validate"},
                           .stacks = {"mnn"}};
  EXPECT_THAT(nearest_ids(run), testing::IsEmpty());
}

TEST(Nearest, TheStageTellsOneNumberFromTheOther) {
  const Fingerprint at_finalize = {.classes = {"finalize_op_not_created"},
                                   .codes = {1002},
                                   .patterns = {"op-creation-failure"},
                                   .stages = {"finalize"}};
  const Fingerprint at_load = {.classes = {"finalize_weights_not_mapped"},
                               .codes = {1002},
                               .patterns = {"fastrpc-map-failed"},
                               .stages = {"context"}};
  EXPECT_THAT(nearest_ids(at_finalize), testing::UnorderedElementsAre("C04", "C19"));
  EXPECT_THAT(nearest_ids(at_load), testing::ElementsAre("C22"));
}

TEST(Nearest, OneCommonCodeIsNoMatch) {
  EXPECT_THAT(nearest_ids({.codes = {1002}}), testing::IsEmpty());
  EXPECT_THAT(nearest_ids({.codes = {1008}}), testing::ElementsAre("C23"));  // only one case has it
}

TEST(Nearest, OneTraitOfTwoCasesIsNoMatch) {
  EXPECT_THAT(nearest_ids({.codes = {3110}}), testing::IsEmpty());
  EXPECT_THAT(nearest_ids({.classes = {"wrong_output"}}), testing::IsEmpty());
}

/// The case without a known cause is the one to show for an operator that no case names, not that of LayerNorm.
TEST(Nearest, AnotherOperatorThatCannotBeCreated) {
  const Fingerprint run = {.classes = {"finalize_op_not_created"},
                           .codes = {1002},
                           .patterns = {"op-creation-failure"},
                           .operators = {"Softmax"},
                           .stages = {"finalize"},
                           .stacks = {"mnn"}};
  EXPECT_THAT(nearest_ids(run), testing::ElementsAre("C19"));
}

TEST(Nearest, ContextAloneIsNoMatch) {
  EXPECT_THAT(nearest_ids({.stages = {"finalize"}, .archs = {"v75"}, .socs = {"57"}, .stacks = {"mnn"}}),
              testing::IsEmpty());
  EXPECT_THAT(nearest_ids({.classes = {"not_decidable"}}), testing::IsEmpty());
  EXPECT_THAT(nearest_ids({}), testing::IsEmpty());
}

TEST(Nearest, UnknownTraitsMatchNothing) {
  EXPECT_THAT(nearest_ids({.codes = {4242}, .patterns = {"never-seen"}}), testing::IsEmpty());
}

TEST(Nearest, SpellingOfOperatorsDoesNotMatter) {
  const Fingerprint run = {.codes = {1002}, .operators = {"INSTANCENORM"}};
  ASSERT_FALSE(nearest_ids(run).empty());
  EXPECT_EQ(nearest_ids(run).front(), "C21");
}

TEST(Nearest, SharedTraitsAreNamedTheMostTellingFirst) {
  const auto matches = nearest_cases(
      built_in(),
      {.codes = {1002}, .operators = {"layernorm"}, .kernels = {"q::layernorm_2d_fp16_x"}, .archs = {"v75"}}, 1);
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_THAT(matches.front().shared,
              testing::ElementsAre("operator LayerNorm", "kernel q::layernorm_2d_fp16", "code 1002"));
}

TEST(Nearest, DoesNotDependOnTheOrderOfCases) {
  std::vector<const KnownCase*> cases = built_in();
  const Fingerprint run = {.classes = {"finalize_op_not_created"}, .codes = {1002}};
  const auto forward = nearest_cases(cases, run, 10);
  std::reverse(cases.begin(), cases.end());
  const auto backward = nearest_cases(cases, run, 10);
  ASSERT_GE(forward.size(), 2U);
  ASSERT_EQ(forward.size(), backward.size());
  for (std::size_t i = 0; i < forward.size(); ++i) {
    EXPECT_EQ(forward[i].known.id, backward[i].known.id);
    EXPECT_EQ(forward[i].similarity, backward[i].similarity);
    EXPECT_EQ(forward[i].shared, backward[i].shared);
  }
}

TEST(Nearest, LimitHolds) {
  const Fingerprint run = {.classes = {"finalize_op_not_created"}, .codes = {1002}};
  EXPECT_EQ(nearest_cases(built_in(), run, 1).size(), 1U);
  EXPECT_TRUE(nearest_cases(built_in(), run, 0).empty());
  EXPECT_TRUE(nearest_cases({}, run, 5).empty());
}

}  // namespace
}  // namespace qnndbg
