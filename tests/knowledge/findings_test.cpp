#include "knowledge/findings.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace qnndbg {
namespace {

TEST(Findings, IdsAndCausesAreUniqueAndDocumented) {
  std::ifstream file(std::string(QNNDBG_SOURCE_DIR) + "/docs/causes.md");
  std::stringstream text;
  text << file.rdbuf();
  std::set<std::string_view> ids;
  std::set<std::string_view> causes;
  for (const FindingType& type : finding_types()) {
    EXPECT_TRUE(ids.insert(type.id).second) << type.id;
    EXPECT_TRUE(causes.insert(type.cause).second) << type.cause;
    EXPECT_NE(text.str().find("| " + std::string(type.id) + " | " + std::string(type.cause) + " |"), std::string::npos)
        << type.id;
    EXPECT_EQ(finding_type(type.cause).id, type.id);
  }
}

}  // namespace
}  // namespace qnndbg
