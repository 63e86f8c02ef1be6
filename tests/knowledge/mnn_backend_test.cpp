#include "knowledge/mnn_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "knowledge/log_patterns.h"

namespace qnndbg {
namespace {

TEST(MnnBackend, NamesTheFileOfAnOperator) {
  EXPECT_EQ(mnn_execution_file("BinaryOp"), "source/backend/qnn/execution/QNNBinary.cpp");
  EXPECT_EQ(mnn_execution_file("Tile"), "");  // the backend does not have it
  EXPECT_EQ(mnn_execution_file(""), "");
}

TEST(MnnBackend, HintsAreAboutKnownReasonsAndMappedOperators) {
  ASSERT_FALSE(refusal_hints().empty());
  for (const RefusalHint& hint : refusal_hints()) {
    EXPECT_FALSE(hint.why.empty());
    EXPECT_FALSE(hint.until_then.empty());
    EXPECT_FALSE(hint.patterns.empty());
    for (const std::string& type : hint.operators) EXPECT_FALSE(mnn_execution_file(type).empty()) << type;
    for (const std::string& id : hint.patterns) {
      const int pattern = find_log_pattern(id);
      ASSERT_GE(pattern, 0) << id;
      EXPECT_TRUE(log_patterns()[static_cast<std::size_t>(pattern)].reason) << id;
    }
  }
}

TEST(MnnBackend, FindsTheHintByOperatorAndReason) {
  const std::vector<std::string_view> reasons = {"op-specific-validation-failed", "broadcast-impossible"};
  const RefusalHint* hint = find_refusal_hint("BinaryOp", reasons);
  ASSERT_NE(hint, nullptr);
  EXPECT_THAT(hint->why, testing::HasSubstr("NCHW"));
  EXPECT_EQ(find_refusal_hint("LayerNorm", reasons), nullptr);
  EXPECT_EQ(find_refusal_hint("BinaryOp", {}), nullptr);
}

}  // namespace
}  // namespace qnndbg
