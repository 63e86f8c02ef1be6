#include "report/read_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "knowledge/case_store.h"
#include "report/json.h"
#include "report/sample.h"

namespace qnndbg {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::bug_sample;
using testing::clean_sample;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::string error_of(const std::string& text) {
  const Result<DiagnosisDocument> read = read_diagnosis(text);
  return read ? "(was read)" : read.error().message;
}

/// The sample's document with one value replaced.
std::string with(const std::string& pointer, const Json& value) {
  Json document = Json::parse(to_json(bug_sample()));
  document[Json::json_pointer(pointer)] = value;
  return document.dump();
}

std::string without(const std::string& parent, const std::string& key) {
  Json document = Json::parse(to_json(bug_sample()));
  document[Json::json_pointer(parent)].erase(key);
  return document.dump();
}

void expect_same_text_again(const std::string& text) {
  const Result<DiagnosisDocument> read = read_diagnosis(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(read->diagnosis, read->cases), text);
}

/// A diagnosis with something in every field.
Diagnosis full_sample() {
  Diagnosis d = bug_sample();
  d.run.log = "run.log";
  d.run.execution = 3;
  d.run.executions = {1, 3, 18446744073709551615U};
  d.run.soc = "57";
  d.run.arch = "v75";
  d.run.library = "2.51";
  d.run.mnn = "3.6.1";
  d.run.tolerance_scale = 0.1;
  d.run.inputs_given = true;
  d.coverage.not_judged = {{.op_index = -1, .op = "", .op_type = "Plugin", .reason = "type not implemented"}};
  d.notes = {"manifest_000000.tsv:3: odd"};
  Finding& f = d.findings[0];
  f.ties = {"a", "b"};
  f.consequence_of = 4;
  f.output = 2;
  d.operators[2].status = OpStatus::not_judged;
  d.operators[2].reason = "no inputs";
  TensorRow& t = d.tensors[3];
  t.dtype = DType::ufixed16;
  t.encoding = Encoding{.scale = 0.0123456789012345, .offset = -32768};
  t.model_encoding = Encoding{.scale = 1e-30, .offset = 7};
  t.local = Metrics{};
  t.local->worst = {{.index = 7, .actual = 0.1F, .expected = -1e30F}};
  d.log.emplace();
  d.log->class_id = "validation_refused";
  d.log->summary = "QNN refused a node";
  d.log->confidence = Confidence::high;
  d.log->also = {"sdk_mix"};
  d.log->codes = {{.number = 3110, .name = "", .stage = "validate", .line = 12}};
  d.log->evidence = {{.line = 12, .text = "line"}};
  d.log->next_steps = {"step"};
  d.log->facts.lines = 40;
  BoundUse use;
  use.op_index = 2;
  use.op = "op2";
  use.op_type = "Convolution";
  use.dump_tensor = "t2";
  use.key = "Conv2d";
  use.bound.y = 1.1;
  use.bound.absolute = 1.0 / 32768;
  use.bound_ratio = 0.8512345678;
  use.basis =
      BoundBasis{.arch = "v75", .runs = 3, .instances = 4, .elements = 5, .worst = 1.5, .p999 = 1.2, .library = ""};
  d.bounds = {use};
  d.run.witness = "HTP_QTI_AISW v2.51, SoC 57 (v75)";
  d.details_file = {.file = "run.qdd", .sha256 = std::string(64, 'a')};
  return d;
}

TEST(ReadJson, SamplesComeBackAsTheyWere) {
  for (const Diagnosis& d : {Diagnosis{}, clean_sample(), bug_sample(), full_sample()})
    expect_same_text_again(to_json(d));
}

TEST(ReadJson, FieldsComeBack) {
  const Result<Diagnosis> d = diagnosis_from_json(to_json(full_sample()));
  ASSERT_TRUE(d) << d.error().message;
  EXPECT_EQ(d->verdict, Verdict::bug);
  EXPECT_EQ(d->model.bytes, 201012U);
  EXPECT_EQ(d->run.executions.back(), 18446744073709551615U);
  EXPECT_EQ(d->coverage.not_judged[0].op_index, -1);
  EXPECT_EQ(d->findings[0].kind, FindingKind::bug);
  EXPECT_EQ(d->findings[0].suspect->parameter, "align_corners of ResizeBilinear");
  EXPECT_EQ(d->operators[2].status, OpStatus::not_judged);
  EXPECT_EQ(d->tensors[3].dtype, DType::ufixed16);
  EXPECT_EQ(d->tensors[3].local->worst[0].actual, 0.1F);
  EXPECT_EQ(d->tensors[3].encoding->offset, -32768);
  EXPECT_EQ(d->log->confidence, Confidence::high);
  EXPECT_EQ(d->log->facts.lines, 40U);
  EXPECT_EQ(d->bounds->front().basis->instances, 4);
  EXPECT_EQ(d->details_file->file, "run.qdd");
}

TEST(ReadJson, NumbersThatAreNotFiniteStaySo) {
  Diagnosis d = full_sample();
  d.findings[0].local_error = ErrorFigure{.max_abs = kInf, .max_rel = 1, .bound_ratio = std::nullopt};
  d.operators[1].bound_ratio = kNan;
  d.tensors[1].bound_ratio = kInf;
  d.tensors[1].within_bound.reset();
  d.tensors[3].local->sqnr_db = kInf;
  d.tensors[3].local->worst[0].actual = std::numeric_limits<float>::infinity();
  d.tensors[3].encoding->scale = kNan;
  d.run.tolerance_scale = kInf;
  (*d.bounds)[0].bound_ratio = kInf;
  d.bounds->push_back(d.bounds->front());
  (*d.bounds)[1].bound_ratio = kNan;
  d.bounds->push_back(d.bounds->front());
  (*d.bounds)[2].bound_ratio = 0;
  const std::string text = to_json(d);
  expect_same_text_again(text);
  const Result<Diagnosis> read = diagnosis_from_json(text);
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::isnan(read->findings[0].local_error->max_abs));
  EXPECT_FALSE(read->findings[0].local_error->bound_ratio.has_value());
  EXPECT_TRUE(read->operators[1].bound_ratio && std::isnan(*read->operators[1].bound_ratio));
  EXPECT_TRUE(std::isnan(read->tensors[1].bound_ratio.value()));
  EXPECT_FALSE(read->tensors[1].within_bound.has_value());
  EXPECT_TRUE(std::isinf(read->bounds->at(0).bound_ratio));
}

TEST(ReadJson, SimilarCasesComeBack) {
  auto store = CaseStore::open_in_memory();
  ASSERT_TRUE(store);
  const std::vector<SimilarCase> cases = store->nearest(store->find("C04")->fingerprint, 3);
  ASSERT_FALSE(cases.empty());
  const std::string text = to_json(full_sample(), cases);
  const Result<DiagnosisDocument> read = read_diagnosis(text);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->cases.size(), cases.size());
  EXPECT_EQ(read->cases[0].known, cases[0].known);
  Json odd = Json::parse(text);
  odd["similar_cases"][0]["similarity"] = 1.5;
  EXPECT_THAT(error_of(odd.dump()), StartsWith("similar_cases[0].similarity: "));
  odd = Json::parse(text);
  odd["similar_cases"][0]["case"]["fingerprint"]["codes"] = Json::array({0});
  EXPECT_THAT(error_of(odd.dump()), StartsWith("similar_cases[0].case: fingerprint.codes[0]: "));
  EXPECT_EQ(to_json(read->diagnosis, read->cases), text);
}

TEST(ReadJson, HostileNamesComeBack) {
  Diagnosis d = bug_sample();
  d.operators[2].name = std::string("a\nb\x1b[31m</script>\"\\ \xe4\xb8\xad ") + '\0';
  d.findings[0].evidence = {d.operators[2].name};
  expect_same_text_again(to_json(d));
}

/// Goldens are written by Python, which spells some numbers and line breaks in its own way: what has to hold is that
/// reading and writing is the same text from then on, and loses nothing.
TEST(ReadJson, GoldensLoseNothing) {
  int read = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(QNNDBG_SOURCE_DIR) / "tests/cli/golden")) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("diagnose_") || entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const Result<DiagnosisDocument> document = read_diagnosis(text.str());
    ASSERT_TRUE(document) << name << ": " << document.error().message;
    const std::string again = to_json(document->diagnosis, document->cases);
    EXPECT_EQ(Json::parse(again), Json::parse(text.str())) << name;
    expect_same_text_again(again);
    ++read;
  }
  EXPECT_GE(read, 4);
}

TEST(ReadJson, UnknownFieldsAreIgnored) {
  Json document = Json::parse(to_json(bug_sample()));
  document["mood"] = Json{{"file", "x"}};
  document["findings"][0]["colour"] = Json::array({1, Json::object()});
  const Result<DiagnosisDocument> read = read_diagnosis(document.dump());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(read->diagnosis), to_json(bug_sample()));
}

TEST(ReadJson, AnotherSchemaIsSaidFirst) {
  EXPECT_THAT(error_of("{}"), HasSubstr("it has no \"schema\": \"qnn-debug/diagnosis/1\""));
  EXPECT_THAT(error_of("[]"), HasSubstr("not a diagnosis"));
  EXPECT_THAT(error_of(R"({"schema": "qnn-debug/diagnosis/2"})"),
              AllOf(StartsWith("schema: \"qnn-debug/diagnosis/2\""), HasSubstr("reads \"qnn-debug/diagnosis/1\"")));
  EXPECT_THAT(error_of(R"({"schema": "qnn-debug/replay/1"})"), HasSubstr("is no diagnosis"));
  EXPECT_THAT(error_of(R"({"schema": 7})"), HasSubstr("not a diagnosis"));
}

TEST(ReadJson, MistakesAreNamedByTheirPlace) {
  const Json none;
  EXPECT_THAT(error_of(without("/operators/3", "status")), StartsWith("operators[3].status: missing"));
  EXPECT_THAT(error_of(with("/operators/3/status", "fine")), StartsWith("operators[3].status: \"fine\""));
  EXPECT_THAT(error_of(with("/operators/3/status", 1)), StartsWith("operators[3].status: not a text"));
  EXPECT_THAT(error_of(with("/operators/3/bound_ratio", "x")), StartsWith("operators[3].bound_ratio: not a number"));
  EXPECT_THAT(error_of(with("/operators/3/index", -1)), StartsWith("operators[3].index: "));
  EXPECT_THAT(error_of(with("/operators/3/index", 1e3)), StartsWith("operators[3].index: "));
  EXPECT_THAT(error_of(with("/operators/3/index", 4294967296)), StartsWith("operators[3].index: "));
  EXPECT_THAT(error_of(with("/operators/3/inputs/0", 1)), StartsWith("operators[3].inputs[0]: not a text"));
  EXPECT_THAT(error_of(with("/operators/3/inputs", "t1")), StartsWith("operators[3].inputs: not a list"));
  EXPECT_THAT(error_of(with("/operators/3/nonfinite", 1)), StartsWith("operators[3].nonfinite: "));
  EXPECT_THAT(error_of(with("/operators/3", none)), StartsWith("operators[3]: not an object"));
  EXPECT_THAT(error_of(with("/tensors/2/dims/0", -4)), StartsWith("tensors[2].dims[0]: "));
  EXPECT_THAT(error_of(with("/tensors/2/dtype", "f15")), StartsWith("tensors[2].dtype: "));
  EXPECT_THAT(error_of(with("/tensors/2/baseline/max_abs", none)), StartsWith("tensors[2].baseline.max_abs: null"));
  EXPECT_THAT(error_of(with("/tensors/2/baseline/worst",
                            Json::array({Json{{"index", 1}, {"actual", 1e300}, {"expected", 0}}}))),
              StartsWith("tensors[2].baseline.worst[0].actual: "));
  EXPECT_THAT(error_of(with("/findings/0/proven", none)), StartsWith("findings[0].proven: not true or false"));
  EXPECT_THAT(error_of(with("/run", 3)), StartsWith("run: not an object"));
  EXPECT_THAT(error_of(without("", "tensors")), StartsWith("tensors: missing"));
}

TEST(ReadJson, WhatIsNoJsonIsRefused) {
  const std::string text = to_json(bug_sample());
  EXPECT_THAT(error_of(""), HasSubstr("not JSON"));
  EXPECT_THAT(error_of(text.substr(0, text.size() / 2)), HasSubstr("not JSON, or cut off"));
  EXPECT_THAT(error_of(text + "x"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of(std::string(1'000'000, '[')), HasSubstr("nested more than"));
  EXPECT_THAT(error_of("{\"a\": \"\xff\"}"), HasSubstr("not UTF-8"));
  EXPECT_THAT(error_of(R"({"a": 1, "a": 2})"), HasSubstr("appears twice"));
  EXPECT_THAT(error_of(R"({"a": 1e999})"), HasSubstr("not JSON"));
}

/// Every value of a document replaced by values of other types, one at a time: read or refused, never a crash, and what
/// is read can be written.
TEST(ReadJson, NoReplacedValueDoesHarm) {
  Diagnosis few = full_sample();
  few.operators.resize(3);
  few.tensors.resize(4);
  const Json whole = Json::parse(to_json(few));
  std::vector<std::string> places;
  const Json flat = whole.flatten();
  for (const auto& [place, value] : flat.items()) places.push_back(place);
  for (const std::string& place : places) {
    for (const Json& value :
         {Json(nullptr), Json(true), Json(-1), Json(1e300), Json("x"), Json::array(), Json::object()}) {
      Json document = whole;
      document[Json::json_pointer(place)] = value;
      const Result<DiagnosisDocument> read = read_diagnosis(document.dump());
      if (read)
        EXPECT_FALSE(to_json(read->diagnosis, read->cases).empty());
      else
        EXPECT_THAT(read.error().message, HasSubstr(": ")) << place;
    }
  }
}

}  // namespace
}  // namespace qnndbg
