#include "knowledge/soc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace qnndbg {
namespace {

TEST(Soc, IsFoundByNumberModelAndTradeName) {
  for (const char* text : {"57", "SM8650", "sm8650", "8 Gen 3", "8gen3", "Snapdragon 8 Gen 3", "snapdragon-8-gen-3"}) {
    const Soc* soc = find_soc(text);
    ASSERT_NE(soc, nullptr) << text;
    EXPECT_EQ(soc->id, 57) << text;
    EXPECT_EQ(soc->arch, 75) << text;
  }
  EXPECT_EQ(find_soc("8 Elite")->arch, 79);
  EXPECT_EQ(find_soc("36")->arch, 69);
}

TEST(Soc, UnknownTextIsNoSoc) {
  for (const char* text : {"", " ", "-", "_", "57x", "-57", "4711", "99999999999999999999", "SM", "snapdragon"})
    EXPECT_EQ(find_soc(text), nullptr) << '"' << text << '"';
}

TEST(Soc, TableIsSortedWithoutRepetition) {
  const auto less = [](const Soc& a, const Soc& b) { return a.id < b.id; };
  EXPECT_TRUE(std::is_sorted(known_socs().begin(), known_socs().end(), less));
  std::set<std::string_view> names;
  for (const Soc& soc : known_socs()) {
    if (soc.name.empty()) continue;
    EXPECT_TRUE(names.insert(soc.name).second) << soc.name;
  }
}

TEST(Soc, EveryNameFindsItsOwnRow) {
  for (const Soc& soc : known_socs()) {
    EXPECT_EQ(find_soc(std::to_string(soc.id)), &soc);
    if (soc.name.empty()) continue;
    EXPECT_EQ(find_soc(soc.name), &soc) << soc.name;
  }
}

TEST(Arch, IsReadWithAndWithoutV) {
  EXPECT_EQ(parse_arch("v75"), 75);
  EXPECT_EQ(parse_arch("V68"), 68);
  EXPECT_EQ(parse_arch("79"), 79);
  for (const char* text : {"", "v", "v7", "v755", "x75", "v-5", "v 75", "75v"})
    EXPECT_EQ(parse_arch(text), std::nullopt) << text;
  EXPECT_EQ(arch_name(75), "v75");
}

TEST(Arch, IsKnownWhenSomeSocHasIt) {
  EXPECT_TRUE(is_known_arch(75));
  EXPECT_FALSE(is_known_arch(77));
  EXPECT_FALSE(is_known_arch(0));
}

}  // namespace
}  // namespace qnndbg
