#include "diagnose/calibrate.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "diagnose/calibration_table.h"
#include "diagnose/run_list.h"
#include "diagnose/small_run.h"

namespace qnndbg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// --- Histogram ------------------------------------------------------------------------------------------------------

TEST(RatioHistogram, QuantilesAreUpperEndsOfNarrowBuckets) {
  RatioHistogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.add(static_cast<float>(i) / 1000);
  EXPECT_EQ(histogram.count(), 1000);
  for (double q : {0.001, 0.1, 0.5, 0.9, 0.999, 1.0}) {
    EXPECT_GE(histogram.quantile(q), q);
    EXPECT_LT(histogram.quantile(q), q * 1.04);
  }
}

TEST(RatioHistogram, HoldsZeroAndEverySize) {
  RatioHistogram histogram;
  EXPECT_EQ(histogram.quantile(0.999), 0);
  for (int i = 0; i < 999; ++i) histogram.add(0.0F);
  histogram.add(-0.0F);
  histogram.add(NAN);
  histogram.add(-1.0F);
  EXPECT_EQ(histogram.count(), 1000);
  EXPECT_EQ(histogram.quantile(1), 0);
  RatioHistogram other;
  other.add(3e38F);
  other.add(INFINITY);
  histogram.add(other);
  EXPECT_EQ(histogram.count(), 1002);
  EXPECT_EQ(histogram.quantile(0.99), 0);
  EXPECT_GE(histogram.quantile(0.999), 3e38);
}

// --- List of runs ---------------------------------------------------------------------------------------------------

TEST(RunList, NamesFilesRelativeToTheList) {
  const auto runs = parse_run_list("# comment\n\na.mnn\tin/inputs.json\td1\tV75\r\n../b.mnn\t-\t/d2\nc.mnn\t\td3\t\n",
                                   "list", "/runs");
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->size(), 3U);
  EXPECT_EQ((*runs)[0].model, "/runs/a.mnn");
  EXPECT_EQ((*runs)[0].inputs, "/runs/in/inputs.json");
  EXPECT_EQ((*runs)[0].dump, "/runs/d1");
  EXPECT_EQ((*runs)[0].arch, "v75");
  EXPECT_EQ((*runs)[1].model, "/runs/../b.mnn");
  EXPECT_EQ((*runs)[1].inputs, "");
  EXPECT_EQ((*runs)[1].dump, "/d2");
  EXPECT_EQ((*runs)[1].arch, "");
  EXPECT_EQ((*runs)[2].inputs, "");
}

TEST(RunList, ErrorsNameTheLine) {
  using namespace std::string_literals;
  for (const auto& [text, word] :
       std::vector<std::pair<std::string, std::string>>{{"a.mnn\t-\td\nb.mnn\td\n", "list:2: 2 fields"},
                                                        {"a\t-\td\tv75\tmore\n", "list:1: 5 fields"},
                                                        {"a\t-\td\thuge\n", "`huge` is not an HTP architecture"},
                                                        {"\t-\td\n", "not named"},
                                                        {"a\t-\t\n", "not named"},
                                                        {"a\t-\td\0\n"s, "NUL"},
                                                        {"# nothing\n\n", "lists no run"},
                                                        {"", "lists no run"}}) {
    const auto runs = parse_run_list(text, "list", "/runs");
    ASSERT_FALSE(runs) << text;
    EXPECT_THAT(runs.error().message, HasSubstr(word));
  }
}

// --- Calibration ----------------------------------------------------------------------------------------------------

Calibration calibrate(const std::vector<const test::SmallRun*>& runs, const std::string& arch,
                      CalibrationOptions options = {}) {
  auto calibrator = Calibrator::create(std::move(options));
  EXPECT_TRUE(calibrator);
  for (const test::SmallRun* run : runs) {
    auto model = Model::open(run->model(), {});
    EXPECT_TRUE(model) << model.error().message;
    const auto added = calibrator->add(*model, {.name = "run", .dump = run->dump(), .inputs = {}, .arch = arch});
    EXPECT_TRUE(added) << added.error().message;
  }
  return calibrator->finish();
}

TEST(Calibrate, MeasuresWhatRoundingUses) {
  const test::SmallRun first;
  const test::SmallRun second([](int, double sum) { return sum; }, 2);
  const Calibration calibration = calibrate({&first, &second}, "v75");
  EXPECT_EQ(calibration.runs, 2);
  EXPECT_EQ(calibration.not_judged, 0);
  EXPECT_TRUE(calibration.left_out.empty());
  ASSERT_EQ(calibration.keys.size(), 1U);
  const KeyFigures& figures = calibration.keys.front();
  EXPECT_EQ(figures.key, "Conv2d");
  EXPECT_EQ(figures.basis.arch, "v75");
  EXPECT_EQ(figures.basis.runs, 2);
  EXPECT_EQ(figures.basis.instances, 2);
  EXPECT_EQ(figures.basis.elements, 2 * test::SmallRun::kOut * test::SmallRun::kPixels);
  // Outputs begin at 12 in the binade from 8 to 16: half a unit is 8/12 of u|y| at most.
  EXPECT_LT(figures.basis.worst, 8.0 / 12);
  EXPECT_GT(figures.basis.worst, 0.6);
  EXPECT_LE(figures.basis.p999, figures.basis.worst);
  EXPECT_GT(figures.basis.p999, 0.55);
  EXPECT_THAT(figures.worst_at, HasSubstr("Convolution `conv`, t1_cast"));
}

TEST(Calibrate, AnUnexplainedErrorJustBeyondTheLineMovesIt) {
  // An error that no mistake explains: it grows with the square of the output.
  const test::SmallRun run([](int, double sum) { return sum * (1 + 4 * kHalfUnitRoundoff * (sum - 13) * (sum - 13)); });
  const Calibration calibration = calibrate({&run}, "v75");
  EXPECT_TRUE(calibration.left_out.empty());
  ASSERT_EQ(calibration.keys.size(), 1U);
  EXPECT_GT(calibration.keys.front().basis.worst, 3);
  const auto comparison = compare_with_table(calibration);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->rows.front().state, BoundState::beyond);
  EXPECT_NEAR(comparison->rows.front().wanted, 1.1 * calibration.keys.front().basis.worst, 1e-9);
}

TEST(Calibrate, AProvenMistakeIsLeftOutHoweverMild) {
  const test::SmallRun run([](int channel, double sum) { return channel == 1 ? sum + 0.03125 : sum; });
  const Calibration calibration = calibrate({&run}, "v75");
  EXPECT_TRUE(calibration.keys.empty());
  ASSERT_EQ(calibration.left_out.size(), 1U);
  EXPECT_LT(calibration.left_out.front().bound_ratio, 20);
  EXPECT_NE(calibration.left_out.front().cause, "");
}

TEST(Calibrate, AnErrorBeyondTheBugFactorIsLeftOut) {
  const test::SmallRun run([](int, double sum) { return sum * (1 + 4 * kHalfUnitRoundoff * (sum - 13) * (sum - 13)); });
  const Calibration calibration = calibrate({&run}, "v75", {.bug_factor = 2});
  EXPECT_TRUE(calibration.keys.empty());
  ASSERT_EQ(calibration.left_out.size(), 1U);
  EXPECT_EQ(calibration.left_out.front().op, "conv");
  EXPECT_EQ(calibration.left_out.front().dump_tensor, "t1_cast");
  EXPECT_EQ(calibration.left_out.front().cause, "");
}

TEST(Calibrate, ARunThatCannotBeReadCountsForNothing) {
  const test::SmallRun run;
  auto calibrator = Calibrator::create({});
  ASSERT_TRUE(calibrator);
  auto model = Model::open(run.model(), {});
  ASSERT_TRUE(model);
  const auto added = calibrator->add(*model, {.name = "nowhere", .dump = run.directory().path() / "no", .inputs = {}});
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message, HasSubstr("nowhere: "));
  EXPECT_EQ(calibrator->finish().runs, 0);
}

TEST(Calibrate, CanBeInterrupted) {
  const test::SmallRun run;
  auto calibrator = Calibrator::create({.progress = [](int, int, std::string_view) { return false; }});
  ASSERT_TRUE(calibrator);
  auto model = Model::open(run.model(), {});
  ASSERT_TRUE(model);
  EXPECT_FALSE(calibrator->add(*model, {.name = "run", .dump = run.dump(), .inputs = {}}));
  EXPECT_TRUE(calibrator->finish().keys.empty());
}

// --- Table ----------------------------------------------------------------------------------------------------------

std::string built_in_text() {
  std::ifstream file(std::string(QNNDBG_SOURCE_DIR) + "/data/bounds.json");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Calibration figures(std::vector<std::pair<std::string, double>> worst_of, const std::string& arch) {
  Calibration calibration;
  calibration.runs = 3;
  for (auto& [key, worst] : worst_of) {
    KeyFigures row{.key = key, .basis = {}, .worst_at = "somewhere"};
    row.basis = {
        .arch = arch, .runs = 3, .instances = 7, .elements = 1000, .worst = worst, .p999 = worst / 2, .library = {}};
    calibration.keys.push_back(row);
  }
  return calibration;
}

TEST(BoundTable, StatesFollowTheWorstAndTheRoom) {
  const auto comparison = compare_with_table(figures({{"Conv2d", 1.0},
                                                      {"HardSwish", 5.5},
                                                      {"HardSwish", 8.0},
                                                      {"HardSwish", 2.0},
                                                      {"exact", 0.0},
                                                      {"unmeasured (Foo)", 3}},
                                                     "v75"));
  ASSERT_TRUE(comparison);
  std::vector<std::string_view> states;
  for (const BoundRow& row : comparison->rows) states.push_back(name_of(row.state));
  EXPECT_THAT(states, ElementsAre("holds", "tight", "beyond", "loose", "holds", "no_entry"));
  EXPECT_EQ(comparison->rows[1].constant, 7.5);
  EXPECT_DOUBLE_EQ(comparison->rows[1].wanted, 8.25);
  EXPECT_DOUBLE_EQ(comparison->rows[5].wanted, 3 * 1.67);
  EXPECT_TRUE(comparison->rows[2].moved);
  EXPECT_THAT(comparison->never_seen, testing::Contains("Softmax"));
  EXPECT_THAT(comparison->never_seen, testing::Not(testing::Contains("Conv2d")));
}

TEST(BoundTable, BeforeIsOfTheSameArchitecture) {
  const auto known = compare_with_table(figures({{"Conv2d", 1.0}}, "v75"));
  const auto other = compare_with_table(figures({{"Conv2d", 1.0}}, "v81"));
  ASSERT_TRUE(known && other);
  EXPECT_TRUE(known->rows.front().before);
  EXPECT_FALSE(other->rows.front().before);
  EXPECT_FALSE(other->rows.front().moved);
}

TEST(BoundTable, WithoutFiguresItIsTheBuiltInOne) {
  const auto text = updated_table({}, "2.51");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, built_in_text());
}

TEST(BoundTable, LinesThatHoldStayAsTheyAre) {
  const auto text = updated_table(figures({{"HardSwish", 4.0}, {"unmeasured (Foo)", 3}}, "v75"), "9.9");
  ASSERT_TRUE(text);
  const std::vector<std::string> before = lines_of(built_in_text());
  const std::vector<std::string> after = lines_of(*text);
  ASSERT_EQ(before.size(), after.size());
  std::vector<std::string> changed;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i]) changed.push_back(after[i]);
  }
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_THAT(changed[0],
              HasSubstr("\"HardSwish\": {\"runs\": 3, \"instances\": 7, \"elements\": 1000, \"worst\": 4.0, "
                        "\"p999\": 2.0, \"library\": \"9.9\"}"));
}

TEST(BoundTable, LinesThatAreTooNearGrowAsAWhole) {
  const auto text = updated_table(figures({{"HardSwish", 6.0}}, "v75"), "");
  ASSERT_TRUE(text);
  const auto table = nlohmann::json::parse(*text);
  const auto& entry = table["bounds"]["HardSwish"];
  EXPECT_DOUBLE_EQ(entry["y"].get<double>(), 9.0);
  EXPECT_DOUBLE_EQ(entry["absolute"].get<double>(), 3e-3 * 9 / 7.5);
  EXPECT_DOUBLE_EQ(entry["worst"].get<double>(), 6);
  EXPECT_EQ(entry["room"], 1.5);
  EXPECT_FALSE(table["measured"]["v75"]["HardSwish"].contains("library"));
}

TEST(BoundTable, SeveralArchitecturesGetTheLoosestLine) {
  Calibration calibration = figures({{"HardSwish", 8.0}}, "v75");
  calibration.keys.push_back(figures({{"HardSwish", 6.0}}, "v81").keys.front());
  const auto text = updated_table(calibration, "3.0");
  ASSERT_TRUE(text);
  const auto table = nlohmann::json::parse(*text);
  EXPECT_DOUBLE_EQ(table["bounds"]["HardSwish"]["y"].get<double>(), 12);
  EXPECT_TRUE(table["architectures"]["v81"]["measured"].get<bool>());
  EXPECT_EQ(table["architectures"]["v81"]["basis"], "3.0");
  EXPECT_EQ(table["measured"]["v81"]["HardSwish"]["worst"], 6);
  EXPECT_EQ(table["measured"]["v75"]["HardSwish"]["worst"], 8);
}

TEST(BoundTable, FiguresNeedAnArchitecture) {
  const auto text = updated_table(figures({{"Conv2d", 1.0}}, "unknown"), "");
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("--arch"));
}

TEST(BoundTable, IsWellFormed) {
  const auto table = nlohmann::json::parse(built_in_text());
  const auto bounds = Bounds::load("v75", 1);
  ASSERT_TRUE(bounds);
  for (const auto& [arch, keys] : table["measured"].items()) {
    EXPECT_TRUE(table["architectures"].contains(arch)) << arch;
    for (const auto& [key, basis] : keys.items()) {
      ASSERT_TRUE(bounds->has(key)) << key;
      EXPECT_LE(basis["worst"].get<double>(), bounds->of(key).leading())
          << key << ": a sound instance is beyond its line";
      EXPECT_LE(basis["p999"].get<double>(), basis["worst"].get<double>() * 1.01) << key;
    }
  }
  for (const auto& key : table["rounded_once"]["keys"]) {
    EXPECT_TRUE(bounds->has(key.get<std::string>())) << key;
    EXPECT_TRUE(bounds->rounds_once(key.get<std::string>())) << key;
  }
  EXPECT_FALSE(bounds->rounds_once("Softmax"));
}

TEST(BoundTable, ABasisIsOfTheArchitectureOrTheLoosest) {
  const auto v68 = Bounds::load("v68", 1);
  const auto unknown = Bounds::load("unknown", 1);
  ASSERT_TRUE(v68 && unknown);
  EXPECT_EQ(v68->basis("Conv2d")->arch, "v68");
  EXPECT_EQ(unknown->basis("Conv2d")->arch, "v75");
  EXPECT_EQ(unknown->basis("FoldedRelu")->arch, "v68");
  EXPECT_FALSE(unknown->basis("unmeasured"));
}

}  // namespace
}  // namespace qnndbg
