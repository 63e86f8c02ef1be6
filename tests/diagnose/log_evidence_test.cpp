// What a log adds to a diagnosis, on one convolution whose device is right, wrong, or left nothing.
#include "diagnose/log_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/diagnose.h"
#include "diagnose/small_run.h"

namespace qnndbg {
namespace {

using test::Builder;
using test::ModelBytes;
using test::NetSpec;
using test::OpSpec;
using test::SmallRun;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string kRefusal =
    "Tensor 1 and 2 have mismatching datatypes. 0x416 != 0x232.\n"
    "validateNativeOps master op validator conv:qti.aisw:Conv2d failed 3110\n";
const std::string kUnregistered = "MNN_QNN: Not registered type 35, up_1.\nCreate execution error : 35\n";
const std::string kOutOfMemory =
    "graph requires estimated allocation of 2347229 KB, limit is 2097152 KB\nQNN graphFinalize failed!\n";

double wrong(int, double sum) { return 1.25 * sum; }
double right(int, double sum) { return sum; }

Diagnosis diagnosis_of(const SmallRun& run, std::string_view log, DiagnoseOptions options = {}) {
  if (!log.empty()) options.log = explain_log(log);
  options.log_file = "run.log";
  const Result<Model> model = Model::open(run.model());
  if (!model) {
    ADD_FAILURE() << model.error().message;
    return {};
  }
  Result<Diagnosis> diagnosis = diagnose(*model, options);
  if (!diagnosis) {
    ADD_FAILURE() << diagnosis.error().message;
    return {};
  }
  return std::move(*diagnosis);
}

Diagnosis with_dump(const SmallRun& run, std::string_view log) {
  DiagnoseOptions options;
  options.dump = run.dump();
  return diagnosis_of(run, log, std::move(options));
}

Diagnosis without_dump(std::string_view log) { return diagnosis_of(SmallRun(), log); }

const Finding* find(const Diagnosis& diagnosis, FindingKind kind) {
  for (const Finding& finding : diagnosis.findings)
    if (finding.kind == kind) return &finding;
  return nullptr;
}

OpStatus status_of(const Diagnosis& diagnosis, int op) {
  return diagnosis.operators.at(static_cast<std::size_t>(op)).status;
}

// --- With a dump -----------------------------------------------------------------------------------------------------

TEST(LogWithDump, ARefusedNodeThatComputesWronglyIsNoBugOfItsOwn) {
  const Diagnosis diagnosis = with_dump(SmallRun(wrong), kRefusal);
  EXPECT_EQ(diagnosis.verdict, Verdict::rejected);
  EXPECT_EQ(status_of(diagnosis, 1), OpStatus::consequence);
  const Finding* rejected = find(diagnosis, FindingKind::rejected);
  ASSERT_NE(rejected, nullptr);
  EXPECT_EQ(rejected->op, "conv");
  EXPECT_EQ(rejected->op_index, 1);
  EXPECT_EQ(rejected->op_type, "Convolution");
  EXPECT_EQ(rejected->node, "conv");
  EXPECT_EQ(rejected->cause, "node_rejected");
  EXPECT_EQ(rejected->tensor, "t1");
  EXPECT_TRUE(rejected->proven);
  EXPECT_THAT(rejected->title, AllOf(HasSubstr("`conv`"), HasSubstr("3110")));
  EXPECT_THAT(rejected->evidence, Contains(HasSubstr("0x416 is unsigned 16-bit fixed point")));
  EXPECT_THAT(rejected->evidence, Contains("the dump shows that it computed wrongly"));
  const Finding* bug = find(diagnosis, FindingKind::bug);
  ASSERT_NE(bug, nullptr);
  EXPECT_EQ(bug->consequence_of, 1);
}

TEST(LogWithDump, ARefusedNodeThatComputesRightlyIsRight) {
  const Diagnosis diagnosis = with_dump(SmallRun(right), kRefusal);
  EXPECT_EQ(diagnosis.verdict, Verdict::rejected);
  EXPECT_EQ(status_of(diagnosis, 1), OpStatus::right);
  EXPECT_EQ(find(diagnosis, FindingKind::bug), nullptr);
  EXPECT_THAT(find(diagnosis, FindingKind::rejected)->evidence, Contains(HasSubstr("computed rightly all the same")));
  EXPECT_THAT(diagnosis.summary, HasSubstr("no operator that the dump shows computed wrongly"));
}

TEST(LogWithDump, AStageOfAnOperatorIsTheOperators) {
  const Diagnosis diagnosis = with_dump(SmallRun(right), "Failed to validate op conv_cast_in with error 3110\n");
  ASSERT_NE(find(diagnosis, FindingKind::rejected), nullptr);
  EXPECT_EQ(find(diagnosis, FindingKind::rejected)->op, "conv");
  EXPECT_EQ(find(diagnosis, FindingKind::rejected)->node, "conv_cast_in");
}

TEST(LogWithDump, ANodeThatMnnInsertedHasNoOperator) {
  const Diagnosis diagnosis =
      with_dump(SmallRun(right), "QNN validate failed for node 'QnnTensor_7' type 'Cast', error: 3110\n");
  const Finding* rejected = find(diagnosis, FindingKind::rejected);
  ASSERT_NE(rejected, nullptr);
  EXPECT_EQ(rejected->op, "");
  EXPECT_EQ(rejected->op_index, -1);
  EXPECT_EQ(rejected->op_type, "Cast");
  EXPECT_EQ(rejected->node, "QnnTensor_7");
  EXPECT_EQ(status_of(diagnosis, 1), OpStatus::right);
}

TEST(LogWithDump, TheDumpBeatsALineAboutAMissingOperator) {
  const Diagnosis diagnosis = with_dump(SmallRun(right), kUnregistered);
  EXPECT_EQ(diagnosis.verdict, Verdict::clean);
  EXPECT_EQ(find(diagnosis, FindingKind::load), nullptr);
  const Finding* unregistered = find(diagnosis, FindingKind::unregistered);
  ASSERT_NE(unregistered, nullptr);
  EXPECT_EQ(unregistered->op, "up_1");
  EXPECT_EQ(unregistered->op_type, "OpType 35");
}

TEST(LogWithDump, TheDumpBeatsALineAboutAFailedLoad) {
  const Diagnosis diagnosis = with_dump(SmallRun(right), kOutOfMemory);
  EXPECT_EQ(diagnosis.verdict, Verdict::clean);
  EXPECT_EQ(find(diagnosis, FindingKind::load), nullptr);
  ASSERT_TRUE(diagnosis.log.has_value());
  EXPECT_EQ(diagnosis.log->class_id, "finalize_graph_too_large");
}

TEST(LogWithDump, ALogThatSaysNothingChangesNothing) {
  EXPECT_EQ(with_dump(SmallRun(right), "ordinary words\n").verdict, Verdict::clean);
  const Diagnosis diagnosis = with_dump(SmallRun(wrong), "ordinary words\n");
  EXPECT_EQ(diagnosis.verdict, Verdict::bug);
  EXPECT_EQ(find(diagnosis, FindingKind::bug)->consequence_of, std::nullopt);
}

TEST(LogWithDump, FactsOfTheLogFillWhatNobodyTold) {
  const std::string log = "soc_model: 57\nQNN SDK v2.31.0.250130\nMNN version: 3.4.0\n";
  Diagnosis diagnosis = with_dump(SmallRun(right), log);
  EXPECT_EQ(diagnosis.run.soc, "57");
  EXPECT_EQ(diagnosis.run.arch, "v75") << "of the SoC";
  EXPECT_EQ(diagnosis.run.library, "2.31.0");
  EXPECT_EQ(diagnosis.run.mnn, "3.4.0");
  const SmallRun run(right);
  DiagnoseOptions options;
  options.dump = run.dump();
  options.soc = "43";
  options.arch = "v73";
  diagnosis = diagnosis_of(run, log, std::move(options));
  EXPECT_EQ(diagnosis.run.soc, "43");
  EXPECT_EQ(diagnosis.run.arch, "v73");
}

TEST(LogWithDump, HostileNames) {
  const std::string name = "../../t1_cast\x1b[2J\xff" + std::string(500, '_') + "%s{}";
  const Diagnosis diagnosis = with_dump(
      SmallRun(right), "Failed to validate op " + name +
                           " with error 3110\nFailed to validate op  with error 3110\n"
                           "Failed to validate op t1 with error 3110\nFailed to validate op ____ with error 3110\n");
  EXPECT_EQ(status_of(diagnosis, 1), OpStatus::right);
  for (const Finding& finding : diagnosis.findings) {
    EXPECT_EQ(finding.op, "");
    EXPECT_LT(finding.node.size(), 300U);
    EXPECT_EQ(finding.title.find('\x1b'), std::string::npos);
  }
}

// --- Without a dump --------------------------------------------------------------------------------------------------

TEST(LogWithoutDump, AMissingOperatorStopsTheRun) {
  const Diagnosis diagnosis = without_dump(kUnregistered);
  EXPECT_EQ(diagnosis.verdict, Verdict::load_failed);
  ASSERT_THAT(diagnosis.findings, Not(IsEmpty()));
  EXPECT_EQ(find(diagnosis, FindingKind::unregistered)->op, "up_1");
  EXPECT_THAT(diagnosis.summary, HasSubstr("up_1"));
  EXPECT_EQ(diagnosis.coverage.ops_dumped, 0);
  EXPECT_EQ(status_of(diagnosis, 1), OpStatus::not_judged);
}

TEST(LogWithoutDump, AMissingOperatorOfTheModelIsNamed) {
  const Finding* unregistered = nullptr;
  const Diagnosis diagnosis = without_dump("MNN_QNN: Not registered type 14, conv.\n");
  unregistered = find(diagnosis, FindingKind::unregistered);
  ASSERT_NE(unregistered, nullptr);
  EXPECT_EQ(unregistered->op, "conv");
  EXPECT_EQ(unregistered->op_index, 1);
  EXPECT_EQ(unregistered->op_type, "Convolution");
  EXPECT_EQ(unregistered->cause, "op_unregistered");
}

TEST(LogWithoutDump, WhatKeptTheGraphFromRunning) {
  struct Case {
    std::string log;
    std::string cause;
    std::string op;
  };
  for (const Case& c : {Case{kOutOfMemory, "finalize_failed", ""},
                        Case{"could not create op: q::flat\n\"conv\" generated: could not create op\nFailed to "
                             "finalize graph (id: 1) with err 1002\n",
                             "finalize_failed", "conv"},
                        Case{"Error Convolution encoding\n", "encode_failed", "conv"},
                        Case{"Failed to load skel, error: 4000\n", "load_error", ""},
                        Case{"QNN graphExecute failed!\n", "load_error", ""}}) {
    SCOPED_TRACE(c.log);
    const Diagnosis diagnosis = without_dump(c.log);
    EXPECT_EQ(diagnosis.verdict, Verdict::load_failed);
    const Finding* load = find(diagnosis, FindingKind::load);
    ASSERT_NE(load, nullptr);
    EXPECT_EQ(load->cause, c.cause);
    EXPECT_EQ(load->op, c.op);
    EXPECT_THAT(load->evidence, Contains(HasSubstr("log line 1: ")));
    EXPECT_THAT(load->next_steps, Not(IsEmpty()));
    EXPECT_EQ(load->consequence_of, std::nullopt);
    EXPECT_FALSE(diagnosis.summary.empty());
  }
}

TEST(LogWithoutDump, AFailedFinalizeFollowsFromTheRefusalBeforeIt) {
  const Diagnosis diagnosis = without_dump(kRefusal + "QNN graphFinalize failed!\n");
  EXPECT_EQ(diagnosis.verdict, Verdict::load_failed);
  ASSERT_NE(find(diagnosis, FindingKind::load), nullptr);
  EXPECT_EQ(find(diagnosis, FindingKind::load)->consequence_of, 1);
  EXPECT_NE(find(diagnosis, FindingKind::rejected), nullptr);
}

TEST(LogWithoutDump, ARefusalAloneIsRejectedNotFailed) {
  const Diagnosis diagnosis = without_dump(kRefusal);
  EXPECT_EQ(diagnosis.verdict, Verdict::rejected);
  EXPECT_THAT(find(diagnosis, FindingKind::rejected)->evidence, Contains("its output could not be judged"));
}

TEST(LogWithoutDump, ALogThatTellsNothingIsInconclusive) {
  EXPECT_EQ(without_dump("ordinary words\n").verdict, Verdict::inconclusive);
}

TEST(LogWithoutDump, ADirectoryWithoutARunIsExcusedByTheLogAlone) {
  const SmallRun run;
  run.directory().write("empty/readme.txt", "nothing here");
  DiagnoseOptions told;
  told.dump = run.directory().path() / "empty";
  EXPECT_EQ(diagnosis_of(run, kUnregistered, std::move(told)).verdict, Verdict::load_failed);
  DiagnoseOptions options;
  options.dump = run.directory().path() / "empty";
  options.log = explain_log("ordinary words\n");
  const Result<Model> model = Model::open(run.model());
  ASSERT_TRUE(model);
  EXPECT_FALSE(diagnose(*model, options)) << "neither tells anything";
}

// --- Several operators -----------------------------------------------------------------------------------------------

OpSpec plain(int type, const std::string& name, int in, int out) {
  return {.type = type, .name = name, .inputs = {in}, .outputs = {out}};
}

/// x - a - norm - b - c, and a branch d from x.
NetSpec chain(const std::string& second_norm = {}) {
  NetSpec net{.tensors = {"x", "1", "2", "3", "4", "5"},
              .ops = {test::input_op("x", 0, {1, 4}), plain(wire::Kind_ReLU, "a.b/c", 0, 1),
                      plain(wire::Kind_LayerNorm, "norm", 1, 2),
                      plain(second_norm.empty() ? wire::Kind_ReLU : wire::Kind_LayerNorm,
                            second_norm.empty() ? "b" : second_norm, 2, 3),
                      plain(wire::Kind_ReLU, "c", 3, 4), plain(wire::Kind_ReLU, "d", 0, 5)},
              .outputs = {"4", "5"}};
  return net;
}

OperatorRow row_of(const OpNode& op, OpStatus status) {
  OperatorRow row;
  row.index = op.index;
  row.name = op.name;
  row.status = status;
  return row;
}

class Joined : public testing::Test {
 protected:
  /// All operators broken, each with a finding of its own, as if the dump showed it; then joined with the log.
  Diagnosis join(const NetSpec& net, std::string_view log) {
    const ModelBytes bytes = build(net);
    const Result<Model> model = Model::parse(bytes.bytes(), "net.mnn");
    if (!model) {
      ADD_FAILURE() << model.error().message;
      return {};
    }
    Diagnosis diagnosis;
    for (const OpNode& op : model->graph().ops) {
      diagnosis.operators.push_back(row_of(op, OpStatus::broken));
      Finding bug;
      bug.op_index = op.index;
      diagnosis.findings.push_back(bug);
      ++diagnosis.coverage.ops_dumped;
    }
    join_log(*model, explain_log(log), diagnosis);
    return diagnosis;
  }

  static std::vector<int> consequences(const Diagnosis& diagnosis) {
    std::vector<int> ops;
    for (const Finding& finding : diagnosis.findings)
      if (finding.kind == FindingKind::bug && finding.consequence_of) ops.push_back(finding.op_index);
    return ops;
  }
};

TEST_F(Joined, EverythingDownstreamIsAConsequenceAndNothingElse) {
  const Diagnosis diagnosis = join(chain(), "Failed to validate op norm with error 3110\n");
  EXPECT_THAT(consequences(diagnosis), ElementsAre(2, 3, 4));
  EXPECT_EQ(status_of(diagnosis, 1), OpStatus::broken);
  EXPECT_EQ(status_of(diagnosis, 2), OpStatus::consequence);
  EXPECT_EQ(status_of(diagnosis, 4), OpStatus::consequence);
  EXPECT_EQ(status_of(diagnosis, 5), OpStatus::broken);
  for (const Finding& finding : diagnosis.findings)
    if (finding.consequence_of) {
      EXPECT_EQ(*finding.consequence_of, 2);
    }
}

TEST_F(Joined, ANodeIsFoundByTheNameThatQnnGivesIt) {
  const Diagnosis diagnosis = join(chain(), "Failed to validate op a_b_c with error 3110\n");
  EXPECT_EQ(find(diagnosis, FindingKind::rejected)->op, "a.b/c");
  EXPECT_THAT(consequences(diagnosis), ElementsAre(1, 2, 3, 4));
}

TEST_F(Joined, ACounterNamesTheOnlyOperatorOfItsType) {
  const std::string log = "Failed to validate op LayerNorm_I_29_O_30 with error 3110\n";
  EXPECT_EQ(find(join(chain(), log), FindingKind::rejected)->op, "norm");
  const Diagnosis several = join(chain("norm_2"), log);
  EXPECT_EQ(find(several, FindingKind::rejected)->op, "") << "either could be meant";
  EXPECT_THAT(consequences(several), IsEmpty());
}

TEST_F(Joined, AWarningIsNoConsequence) {
  const ModelBytes bytes = build(chain());
  const Result<Model> model = Model::parse(bytes.bytes(), "net.mnn");
  ASSERT_TRUE(model);
  Diagnosis diagnosis;
  for (const OpNode& op : model->graph().ops) diagnosis.operators.push_back(row_of(op, OpStatus::right));
  Finding warning;
  warning.kind = FindingKind::warning;
  warning.op_index = 3;
  diagnosis.findings.push_back(warning);
  join_log(*model, explain_log("Failed to validate op norm with error 3110\n"), diagnosis);
  EXPECT_EQ(diagnosis.findings[0].consequence_of, std::nullopt);
  EXPECT_EQ(status_of(diagnosis, 3), OpStatus::right);
}

TEST_F(Joined, NamesOperatorsOfTheNodes) {
  const ModelBytes bytes = build(chain());
  const Result<Model> model = Model::parse(bytes.bytes(), "net.mnn");
  ASSERT_TRUE(model);
  Explanation log =
      explain_log("Failed to validate op norm with error 3110\nFailed to validate op stranger with error 3110\n");
  name_operators(*model, log);
  ASSERT_THAT(log.facts.nodes, SizeIs(2));
  EXPECT_EQ(log.facts.nodes[0].op, "norm");
  EXPECT_EQ(log.facts.nodes[0].op_index, 2);
  EXPECT_EQ(log.facts.nodes[1].op, "");
  EXPECT_EQ(log.facts.nodes[1].op_index, -1);
}

TEST(LogFindings, StandInTheOrderOfOperators) {
  const TempDir directory;
  directory.write("model.mnn", build(chain()).text());
  const Result<Model> model = Model::open(directory.path() / "model.mnn");
  ASSERT_TRUE(model);
  DiagnoseOptions options;
  options.log = explain_log(
      "Failed to validate op c with error 3110\nFailed to validate op inserted_1 with error 3110\n"
      "Failed to validate op norm with error 3110\nMNN_QNN: Not registered type 35, d.\n");
  const Result<Diagnosis> diagnosis = diagnose(*model, options);
  ASSERT_TRUE(diagnosis) << diagnosis.error().message;
  std::vector<int> order;
  for (const Finding& finding : diagnosis->findings) order.push_back(finding.op_index);
  EXPECT_THAT(order, ElementsAre(-1, 2, 4, 5));
}

TEST(ArchOfLog, TellsItDirectlyOrByTheSoc) {
  EXPECT_EQ(arch_of_log(explain_log("dsp_arch: v75\n")), "v75");
  EXPECT_EQ(arch_of_log(explain_log("soc_model: 43\n")), "v73");
  EXPECT_EQ(arch_of_log(explain_log("soc_model: 9999\n")), "");
  EXPECT_EQ(arch_of_log(explain_log("")), "");
}

}  // namespace
}  // namespace qnndbg
