#include "report/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace qnndbg {
namespace {

using lint::Check;
using lint::CheckStatus;
using testing::HasSubstr;
using testing::Not;

DoctorView view_of(std::vector<Check> checks) {
  DoctorView view;
  view.environment.version = "1.2.3";
  view.environment.host = lint::Machine::x86_64;
  view.checks = std::move(checks);
  return view;
}

Check one(CheckStatus status, const std::string& found, const std::string& fix = "") {
  return {.id = "libraries.one_build", .status = status, .found = found, .fix = fix, .cause = "sdk_mix"};
}

TEST(DoctorSummary, CountsProblemsAndWarnings) {
  EXPECT_EQ(doctor_summary({}), "no problem");
  EXPECT_EQ(doctor_summary({one(CheckStatus::note, "x"), one(CheckStatus::warning, "x")}), "no problem, 1 warning");
  EXPECT_EQ(doctor_summary({one(CheckStatus::problem, "x"), one(CheckStatus::problem, "y")}), "2 problems");
}

TEST(DoctorText, ReasonsComeOnlyWhereSomethingIsWrong) {
  const std::string problem = doctor_text(view_of({one(CheckStatus::problem, "mixed", "cp a b")}), {});
  EXPECT_THAT(problem, HasSubstr("why "));
  EXPECT_THAT(problem, HasSubstr("fix  cp a b\n"));
  const std::string note = doctor_text(view_of({one(CheckStatus::note, "mixed", "cp a b")}), {});
  EXPECT_THAT(note, Not(HasSubstr("why ")));
  EXPECT_THAT(note, HasSubstr("try  cp a b\n"));
}

TEST(DoctorText, CommandsAreNeverBroken) {
  TextStyle style;
  style.width = 40;
  const std::string fix = "cp " + std::string(60, 'a') + " " + std::string(60, 'b');
  EXPECT_THAT(doctor_text(view_of({one(CheckStatus::problem, "mixed", fix)}), style), HasSubstr(fix + "\n"));
}

TEST(DoctorText, IsPlainAsciiAndSafe) {
  const std::string text = doctor_text(view_of({one(CheckStatus::problem, "a\x1b[2J\nb", "rm \x1b")}), {});
  EXPECT_THAT(text, HasSubstr(R"(a\x1b[2J\nb)"));
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}

TEST(DoctorText, EndsWithTheVerdictAndTheNextCommand) {
  TextStyle style;
  style.command = "qnn-debug doctor --adb";
  EXPECT_TRUE(doctor_text(view_of({one(CheckStatus::problem, "x")}), style)
                  .ends_with("\n1 problem\nnext  mend them from the top, then: qnn-debug doctor --adb\n"));
  EXPECT_THAT(doctor_text(view_of({}), style), HasSubstr("\nno problem\nnext  qnn-debug diagnose "));
}

TEST(DoctorJson, HoldsWhatIsNotText) {
  DoctorView view = view_of({one(CheckStatus::not_checked, "\xff")});
  view.environment.target.arch = 75;
  view.environment.deployments = {
      {.place = lint::Place::phone,
       .directories = {{.path = "/d", .libraries = {{.path = "/d/libQnnHtp.so", .machine = lint::Machine::aarch64}}}}}};
  const nlohmann::json document = nlohmann::json::parse(doctor_json(view));
  EXPECT_EQ(document["checks"][0]["found"], "\xef\xbf\xbd");
  EXPECT_EQ(document["checks"][0]["fix"], nullptr);
  EXPECT_EQ(document["counts"]["not_checked"], 1);
  EXPECT_EQ(document["target"]["arch"], "v75");
  EXPECT_EQ(document["target"]["soc"], nullptr);
  EXPECT_EQ(document["libraries"][0]["place"], "phone");
  EXPECT_EQ(document["libraries"][0]["build"], nullptr);
}

}  // namespace
}  // namespace qnndbg
