#include "report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "report/comparison_view.h"
#include "report/sample.h"

namespace qnndbg {
namespace {

using testing::bug_sample;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<FindingChange> changes_of(const Comparison& c) {
  std::vector<FindingChange> changes;
  for (const ComparedFinding& f : c.findings) changes.push_back(f.change);
  return changes;
}

/// The network of bug_sample(), and nothing wrong with it.
Diagnosis sound_sample() {
  Diagnosis d = testing::clean_sample();
  d.operators[5].type = "Interp";
  d.operators[5].name = "upsample";
  return d;
}

/// A bug at another operator of the sample.
Diagnosis with_bug_at(Diagnosis d, std::size_t index, const std::string& cause = "weights_differ") {
  d.verdict = Verdict::bug;
  d.operators[index].status = OpStatus::broken;
  Finding f = bug_sample().findings[0];
  f.op = d.operators[index].name;
  f.op_type = d.operators[index].type;
  f.op_index = static_cast<int>(index);
  f.tensor = f.dump_tensor = d.operators[index].outputs[0];
  f.cause = cause;
  d.findings.push_back(f);
  std::sort(d.findings.begin(), d.findings.end(), [](const auto& a, const auto& b) { return a.op_index < b.op_index; });
  return d;
}

Diagnosis not_judged_at(Diagnosis d, std::size_t index) {
  d.operators[index].status = OpStatus::not_judged;
  d.operators[index].reason = "its input is not in the dump";
  d.operators[index].bound_ratio.reset();
  --d.coverage.ops_judged;
  std::erase_if(d.findings, [&](const Finding& f) { return f.op_index == static_cast<int>(index); });
  return d;
}

void expect_nothing(const Comparison& c) {
  for (const ComparedFinding& f : c.findings) EXPECT_EQ(f.change, FindingChange::still) << f.shown().title;
  EXPECT_THAT(c.operators, IsEmpty());
  EXPECT_THAT(c.facts, IsEmpty());
  EXPECT_THAT(c.removed, IsEmpty());
  EXPECT_THAT(c.added, IsEmpty());
  EXPECT_THAT(what_got_worse(c), IsEmpty());
  EXPECT_THAT(what_got_better(c), IsEmpty());
  EXPECT_EQ(outcome_of(c), "same");
}

TEST(Comparison, ADiagnosisEqualsItself) {
  expect_nothing(compare(sound_sample(), sound_sample()));
  expect_nothing(compare(bug_sample(), bug_sample()));
  Diagnosis odd = with_bug_at(bug_sample(), 7);
  odd.run.tolerance_scale = kNan;
  odd.findings[0].local_error->bound_ratio = kNan;
  odd.findings.push_back(odd.findings[0]);
  odd.operators.push_back(odd.operators[3]);
  odd.operators[9].end_to_end->max_rel = kNan;
  expect_nothing(compare(odd, odd));
}

TEST(Comparison, AFixIsAFix) {
  const Comparison c = compare(bug_sample(), sound_sample());
  EXPECT_THAT(changes_of(c), ElementsAre(FindingChange::fixed));
  EXPECT_EQ(c.findings[0].operator_after->status, OpStatus::right);
  EXPECT_THAT(what_got_worse(c), IsEmpty());
  EXPECT_THAT(what_got_better(c),
              ElementsAre("the verdict, clean after bug", "1 fixed finding", "1 operator right now and wrong before"));
  EXPECT_EQ(outcome_of(c), "better");
}

TEST(Comparison, ARegressionIsWorse) {
  const Comparison c = compare(sound_sample(), bug_sample());
  EXPECT_THAT(changes_of(c), ElementsAre(FindingChange::appeared));
  EXPECT_THAT(what_got_worse(c),
              ElementsAre("the verdict, bug after clean", "1 new finding", "1 operator wrong now and right before"));
  EXPECT_EQ(outcome_of(c), "worse");
}

TEST(Comparison, FixedAndBrokenIsMixed) {
  const Comparison c = compare(bug_sample(), with_bug_at(sound_sample(), 7));
  EXPECT_THAT(changes_of(c), ElementsAre(FindingChange::fixed, FindingChange::appeared));
  EXPECT_EQ(c.verdict, Trend::same);
  EXPECT_EQ(outcome_of(c), "mixed");
}

TEST(Comparison, AFindingThatCannotBeSeenIsNotFixed) {
  const Comparison c = compare(bug_sample(), not_judged_at(bug_sample(), 5));
  EXPECT_THAT(changes_of(c), ElementsAre(FindingChange::gone));
  EXPECT_EQ(c.findings[0].reason, "its operator was not judged: its input is not in the dump");
  EXPECT_THAT(what_got_better(c), IsEmpty());
  EXPECT_THAT(what_got_worse(c), ElementsAre("1 operator no longer judged"));
}

TEST(Comparison, LostCoverageIsWorse) {
  const Comparison c = compare(sound_sample(), not_judged_at(sound_sample(), 4));
  ASSERT_EQ(c.operators.size(), 1U);
  EXPECT_EQ(c.operators[0].trend, Trend::worse);
  EXPECT_THAT(what_got_worse(c), ElementsAre("1 operator no longer judged"));
  EXPECT_THAT(what_got_better(compare(not_judged_at(sound_sample(), 4), sound_sample())),
              ElementsAre("1 operator judged now and not before"));
}

TEST(Comparison, WhatCouldNotBeSeenBeforeStillFailsTheGate) {
  const Comparison c = compare(not_judged_at(bug_sample(), 5), bug_sample());
  EXPECT_THAT(changes_of(c), ElementsAre(FindingChange::found));
  EXPECT_THAT(what_got_worse(c), ElementsAre("1 finding where nothing could be shown before"));
}

TEST(Comparison, AnotherCauseOrProofIsAChange) {
  Diagnosis after = bug_sample();
  after.findings[0].cause = "unexplained";
  after.findings[0].proven = false;
  const Comparison c = compare(bug_sample(), after);
  EXPECT_THAT(changes_of(c), ElementsAre(FindingChange::changed));
  EXPECT_THAT(c.findings[0].what, ElementsAre("cause", "proven"));
  EXPECT_THAT(what_got_worse(c), IsEmpty());
}

TEST(Comparison, ErrorsDifferFromTheNoticeableFactorOn) {
  for (const auto& [factor, trend] : {std::pair(0.9 * kNoticeableFactor, Trend::same),
                                      {1.1 * kNoticeableFactor, Trend::worse},
                                      {1 / (1.1 * kNoticeableFactor), Trend::better},
                                      {kNan, Trend::worse}}) {
    Diagnosis after = bug_sample();
    *after.findings[0].local_error->bound_ratio *= factor;
    const Comparison c = compare(bug_sample(), after);
    EXPECT_EQ(c.findings[0].error, trend) << factor;
    EXPECT_EQ(c.findings[0].change, trend == Trend::same ? FindingChange::still : FindingChange::changed);
    EXPECT_THAT(what_got_worse(c), IsEmpty()) << "the error of a broken operator depends on what it reads";
  }
}

TEST(Comparison, EndToEndErrorsCountWhereBothRunsAreClean) {
  Diagnosis after = sound_sample();
  after.operators[9].end_to_end->max_rel *= 1.1 * kNoticeableFactor;
  EXPECT_THAT(what_got_worse(compare(sound_sample(), after)),
              ElementsAre(HasSubstr("the end-to-end error of Convolution `op9`, up to ")));
  EXPECT_THAT(what_got_better(compare(after, sound_sample())), ElementsAre(HasSubstr("down to ")));
  Diagnosis small = sound_sample();
  small.operators[9].end_to_end->max_rel = 1e-7;
  Diagnosis rounding = sound_sample();
  rounding.operators[9].end_to_end->max_rel = kSmallestEndToEnd;
  EXPECT_THAT(what_got_worse(compare(small, rounding)), IsEmpty()) << "one rounding is no regression";
  Diagnosis broken = bug_sample();
  broken.operators[9].end_to_end->max_rel = 1;
  EXPECT_THAT(what_got_worse(compare(bug_sample(), broken)), IsEmpty());
}

TEST(Comparison, WarningsDecideNothing) {
  Diagnosis after = sound_sample();
  after.findings = bug_sample().findings;
  after.findings[0].kind = FindingKind::warning;
  const Comparison c = compare(sound_sample(), after);
  EXPECT_THAT(changes_of(c), ElementsAre(FindingChange::appeared));
  EXPECT_THAT(what_got_worse(c), IsEmpty());
}

TEST(Comparison, OperatorsArePairedByNameWhereverTheyStand) {
  Diagnosis after = bug_sample();
  for (OperatorRow& row : after.operators) row.index += 3;
  after.findings[0].op_index += 3;
  const Comparison c = compare(bug_sample(), after);
  EXPECT_THAT(changes_of(c), ElementsAre(FindingChange::still));
  EXPECT_THAT(c.removed, IsEmpty());
}

TEST(Comparison, RenamedOperatorsArePairedByIndexAndType) {
  Diagnosis after = bug_sample();
  for (OperatorRow& row : after.operators) row.name += "/renamed";
  after.findings[0].op += "/renamed";
  EXPECT_THAT(changes_of(compare(bug_sample(), after)), ElementsAre(FindingChange::still));
  after.operators[5].type = "Resize";
  const Comparison c = compare(bug_sample(), after);
  EXPECT_EQ(c.removed.size(), 1U);
  EXPECT_EQ(c.added.size(), 1U);
  EXPECT_THAT(changes_of(c), UnorderedElementsAre(FindingChange::gone, FindingChange::found));
}

TEST(Comparison, DifferentModelsAreRefused) {
  Diagnosis other = sound_sample();
  for (std::size_t i = 0; i < other.operators.size(); ++i) {
    EXPECT_EQ(check_comparable(compare(sound_sample(), other)).has_value(), i <= 5) << i;
    other.operators[i].name = "other";
    other.operators[i].type = "Pooling";
  }
  EXPECT_TRUE(check_comparable(compare(Diagnosis{}, Diagnosis{})));
}

TEST(Comparison, EqualNamesArePairedInTheirOrder) {
  Diagnosis before = bug_sample();
  for (OperatorRow& row : before.operators) row.name = "same";
  before.findings[0].op = "same";
  expect_nothing(compare(before, before));
}

TEST(Comparison, WithoutALogARefusalIsNotFixed) {
  Diagnosis before = bug_sample();
  before.findings[0].kind = FindingKind::rejected;
  before.run.log = "run.log";
  EXPECT_THAT(changes_of(compare(before, sound_sample())), ElementsAre(FindingChange::gone));
  Diagnosis after = sound_sample();
  after.run.log = "run.log";
  EXPECT_THAT(changes_of(compare(before, after)), ElementsAre(FindingChange::fixed));
}

TEST(Comparison, WithoutInputsAnotherInputIsNotFixed) {
  Diagnosis before = bug_sample();
  before.findings[0].kind = FindingKind::input;
  before.findings[0].cause = "input_differs";
  before.run.inputs_given = true;
  EXPECT_THAT(changes_of(compare(before, sound_sample())), ElementsAre(FindingChange::gone));
}

TEST(Comparison, FactsThatDifferAreSaid) {
  Diagnosis after = sound_sample();
  after.run.arch = "v79";
  after.model.bytes = 7;
  const Comparison c = compare(sound_sample(), after);
  ASSERT_EQ(c.facts.size(), 2U);
  EXPECT_EQ(c.facts[0].what, "model.bytes");
  EXPECT_EQ(c.facts[1].before, "unknown");
  EXPECT_EQ(c.facts[1].after, "v79");
}

TEST(Comparison, VerdictsAreOrdered) {
  const auto trend = [](Verdict before, Verdict after) {
    Diagnosis b = sound_sample(), a = sound_sample();
    b.verdict = before;
    a.verdict = after;
    return compare(b, a).verdict;
  };
  const std::vector<Verdict> order = {Verdict::clean, Verdict::inconclusive, Verdict::range,
                                      Verdict::bug,   Verdict::rejected,     Verdict::load_failed};
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t k = 0; k < order.size(); ++k)
      EXPECT_EQ(trend(order[i], order[k]), i < k ? Trend::worse : i > k ? Trend::better : Trend::same);
}

// --- Properties on random pairs --------------------------------------------------------------------------------------

Diagnosis random_diagnosis(std::mt19937& random) {
  const auto chance = [&random](int n) { return random() % static_cast<unsigned>(n) == 0; };
  Diagnosis d = sound_sample();
  for (std::size_t i = 1; i < d.operators.size(); ++i) {
    if (chance(4)) d = with_bug_at(std::move(d), i, chance(2) ? "a" : "b");
    if (chance(5)) d = not_judged_at(std::move(d), i);
    if (chance(6)) d.operators[i].name = "renamed" + std::to_string(i);
    if (chance(9)) d.operators[i].status = OpStatus::set_aside;
    if (d.operators[i].end_to_end && chance(5)) d.operators[i].end_to_end->max_rel *= 100;
  }
  for (Finding& f : d.findings) {
    if (chance(3)) f.local_error->bound_ratio = 1 + static_cast<double>(random() % 5000);
    if (chance(3)) f.kind = chance(2) ? FindingKind::warning : FindingKind::rejected;
    if (chance(5)) f.op_index = -1;
    if (chance(4)) f.proven = false;
  }
  if (chance(3)) d.run.log = "run.log";
  if (chance(6)) d.run.dump.clear();
  d.verdict = static_cast<Verdict>(random() % 6);
  return d;
}

FindingChange mirrored(FindingChange change) {
  switch (change) {
    case FindingChange::fixed: return FindingChange::appeared;
    case FindingChange::appeared: return FindingChange::fixed;
    case FindingChange::gone: return FindingChange::found;
    case FindingChange::found: return FindingChange::gone;
    default: return change;
  }
}
Trend mirrored(Trend trend) {
  return trend == Trend::worse ? Trend::better : trend == Trend::better ? Trend::worse : Trend::same;
}

TEST(ComparisonProperties, ThereAndBackMirror) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    const Diagnosis a = random_diagnosis(random);
    const Diagnosis b = random_diagnosis(random);
    const Comparison there = compare(a, b);
    const Comparison back = compare(b, a);
    EXPECT_EQ(there.verdict, mirrored(back.verdict));
    std::vector<FindingChange> changes = changes_of(there);
    std::vector<FindingChange> mirror;
    for (const FindingChange change : changes_of(back)) mirror.push_back(mirrored(change));
    std::sort(changes.begin(), changes.end());
    std::sort(mirror.begin(), mirror.end());
    EXPECT_EQ(changes, mirror) << "round " << round;
    EXPECT_EQ(there.removed.size(), back.added.size());
    EXPECT_EQ(there.added.size(), back.removed.size());
    ASSERT_EQ(there.operators.size(), back.operators.size());
    const auto count = [](const Comparison& c, Trend trend) {
      return std::count_if(c.operators.begin(), c.operators.end(), [&](const auto& row) { return row.trend == trend; });
    };
    for (const Trend trend : {Trend::same, Trend::better, Trend::worse})
      EXPECT_EQ(count(there, trend), count(back, mirrored(trend)));
    ASSERT_EQ(there.outputs.size(), back.outputs.size());
    EXPECT_EQ(there.facts.size(), back.facts.size());
  }
}

TEST(ComparisonProperties, ItselfIsTheSameAndNoFindingIsLost) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const Diagnosis a = random_diagnosis(random);
    const Diagnosis b = random_diagnosis(random);
    expect_nothing(compare(a, a));
    const Comparison c = compare(a, b);
    const auto has_before = [](const ComparedFinding& f) { return f.before.has_value(); };
    const auto has_after = [](const ComparedFinding& f) { return f.after.has_value(); };
    EXPECT_EQ(std::count_if(c.findings.begin(), c.findings.end(), has_before), static_cast<long>(a.findings.size()));
    EXPECT_EQ(std::count_if(c.findings.begin(), c.findings.end(), has_after), static_cast<long>(b.findings.size()));
  }
}

// --- Views -----------------------------------------------------------------------------------------------------------

TextStyle plain() {
  TextStyle style;
  style.version = "1.2.3";
  return style;
}

TEST(ComparisonView, TextTellsBeforeAndAfterAndTheOutcomeLast) {
  const std::string text = comparison_text(compare(bug_sample(), sound_sample()), plain());
  EXPECT_THAT(text, HasSubstr("fixed[QD0207]: Interp `upsample` computes something else than the model asks for\n"
                              "  --> operator #5, tensor t5\n"
                              "   |  before    411 bound units, resize_coordinate_mode_wrong, proven\n"
                              "   |  after     right, 0.5 bound units\n"));
  EXPECT_TRUE(text.ends_with("comparison: better   clean after bug; findings: 1 fixed\n")) << text;
}

TEST(ComparisonView, NamesCannotHarmTheTerminal) {
  Diagnosis hostile = bug_sample();
  for (OperatorRow& row : hostile.operators) row.name = "\x1b[2J\n" + row.name;
  hostile.findings[0].op = hostile.operators[5].name;
  hostile.findings[0].title = hostile.operators[5].name;
  hostile.run.library = "\x1b[2J";
  for (const Comparison& c : {compare(hostile, sound_sample()), compare(sound_sample(), hostile)}) {
    EXPECT_EQ(comparison_text(c, plain()).find('\x1b'), std::string::npos);
    EXPECT_EQ(comparison_markdown(c, "1.2.3", "qnn-debug").find('\x1b'), std::string::npos);
  }
}

TEST(ComparisonView, TextFollowsTheWidth) {
  Diagnosis after = not_judged_at(with_bug_at(sound_sample(), 7), 3);
  after.run.arch = "v75";
  for (const int width : {60, 80, 120}) {
    TextStyle style = plain();
    style.width = width;
    std::istringstream lines(comparison_text(compare(bug_sample(), after), style));
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(columns_of(line), static_cast<std::size_t>(width)) << line;
  }
}

TEST(ComparisonView, TheDocumentHasBothSides) {
  const auto document = nlohmann::json::parse(comparison_json(compare(bug_sample(), sound_sample())));
  EXPECT_EQ(document["schema"], "qnn-debug/comparison/1");
  EXPECT_EQ(document["outcome"], "better");
  EXPECT_EQ(document["findings"][0]["change"], "fixed");
  EXPECT_EQ(document["findings"][0]["after"], nullptr);
  EXPECT_EQ(document["before"]["verdict"], "bug");
  EXPECT_EQ(document["worse"], nlohmann::json::array());
}

}  // namespace
}  // namespace qnndbg
