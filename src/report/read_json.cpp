#include "report/read_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "knowledge/case_json.h"
#include "knowledge/guarded_json.h"
#include "report/json_object.h"

namespace qnndbg {
namespace {

constexpr std::string_view kFamily = "qnn-debug/diagnosis/";
constexpr std::string_view kSchema = "qnn-debug/diagnosis/1";

constexpr JsonLimits kLimits = {
    .bytes = kLargestDiagnosisDocument,
    .depth = 12,            // a code of a case is at 7: document, similar_cases, match, case, fingerprint, codes
    .members = 256,         // metrics have 25
    .elements = 4'000'000,  // tensors of a dump
    .values = 40'000'000,   // in all; 256 MB of document have no more
};

constexpr auto kVerdicts = std::to_array(
    {Verdict::load_failed, Verdict::rejected, Verdict::bug, Verdict::range, Verdict::clean, Verdict::inconclusive});
constexpr auto kKinds = std::to_array({FindingKind::bug, FindingKind::input, FindingKind::range, FindingKind::rejected,
                                       FindingKind::unregistered, FindingKind::load, FindingKind::warning});
constexpr auto kStatuses = std::to_array({OpStatus::right, OpStatus::inherited, OpStatus::broken, OpStatus::consequence,
                                          OpStatus::not_judged, OpStatus::set_aside});
constexpr auto kConfidences = std::to_array({Confidence::none, Confidence::low, Confidence::medium, Confidence::high});
constexpr auto kTypes =
    std::to_array({DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64,
                   DType::f16, DType::f32, DType::f64, DType::sfixed8, DType::sfixed16, DType::sfixed32, DType::ufixed8,
                   DType::ufixed16, DType::ufixed32, DType::bool8});

/// The first thing that is wrong with a document. Reading goes on with defaults, so that every function below can be a
/// plain list of fields; who began it looks here at the end.
class Problem {
 public:
  bool any() const { return !text_.empty(); }
  const std::string& text() const { return text_; }
  void set(const std::string& place, std::string_view what) {
    if (!any()) text_ = fmt::format("{}: {}", place, what);
  }

 private:
  std::string text_;
};

/// One object of the document. Fields are required unless a function's name says otherwise.
class Fields {
 public:
  /// Keeps references to `value` and `problem`. `place`: "operators[3]"; empty for the document itself.
  Fields(const Json& value, std::string place, Problem& problem)
      : value_(value), place_(std::move(place)), problem_(problem) {
    if (!value_.is_object())
      problem_.set(place_.empty() ? "document" : place_, "not an object");
    else if (value_.contains("nonfinite"))
      uncounted_ = whole<int>("nonfinite");
  }

  bool has(const char* key) const { return value_.is_object() && value_.contains(key); }
  void refuse(const char* key, std::string_view why) { problem_.set(place_of(key), why); }

  std::string text(const char* key) {
    const Json& field = at(key);
    if (field.is_string()) return field.get<std::string>();
    refuse(key, "not a text");
    return {};
  }
  std::string text_or_empty(const char* key) { return at(key).is_null() ? std::string() : text(key); }

  bool flag(const char* key) {
    const Json& field = at(key);
    if (field.is_boolean()) return field.get<bool>();
    refuse(key, "not true or false");
    return false;
  }

  /// A whole number of the type; negative ones only where `least` says so.
  template <class Int>
  Int whole(const char* key, Int least = 0) {
    const std::optional<Int> value = whole_of<Int>(at(key));
    if (value && *value >= least) return *value;
    refuse(key, "not a whole number that can stand here");
    return least;
  }
  template <class Int>
  std::optional<Int> whole_or_none(const char* key) {
    return at(key).is_null() ? std::nullopt : std::optional(whole<Int>(key));
  }
  int index_or_none(const char* key) { return whole_or_none<int>(key).value_or(-1); }

  /// NaN for a null that "nonfinite" counts.
  double number(const char* key) {
    const Json& field = at(key);
    if (field.is_number()) return field.get<double>();
    if (field.is_null() && count_null()) return std::numeric_limits<double>::quiet_NaN();
    refuse(key, field.is_null() ? "null, but \"nonfinite\" does not count it" : "not a number");
    return 0;
  }
  float number_of_float(const char* key) {
    const double value = number(key);
    if (std::isnan(value) || std::abs(value) <= std::numeric_limits<float>::max()) return static_cast<float>(value);
    refuse(key, "beyond the range of a float");
    return 0;
  }
  /// nullopt for a null that "nonfinite" does not count. Where several numbers of an object may be missing, the one
  /// that is more likely not to be finite has to be read first.
  std::optional<double> number_or_none(const char* key) {
    if (at(key).is_null() && uncounted_ == 0) return std::nullopt;
    return number(key);
  }

  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> out;
    for_each(key, [&](const Json& element, std::size_t i) {
      if (element.is_string())
        out.push_back(element.get<std::string>());
      else
        problem_.set(fmt::format("{}[{}]", place_of(key), i), "not a text");
    });
    return out;
  }

  template <class Int>
  std::vector<Int> wholes(const char* key) {
    std::vector<Int> out;
    for_each(key, [&](const Json& element, std::size_t i) {
      const std::optional<Int> value = whole_of<Int>(element);
      if (value && std::cmp_greater_equal(*value, 0))
        out.push_back(*value);
      else
        problem_.set(fmt::format("{}[{}]", place_of(key), i), "not a whole number that can stand here");
    });
    return out;
  }

  /// One of `choices`, by its name_of().
  template <class Choices>
  auto choice(const char* key, const Choices& choices) {
    const std::string name = text(key);
    for (const auto value : choices)
      if (name_of(value) == name) return value;
    refuse(key, fmt::format("\"{}\" is nothing that this version knows", short_word(name)));
    return choices.front();
  }

  /// What `read` makes of an object.
  template <class Read>
  auto object(const char* key, Read read) {
    return read_object(at(key), place_of(key), read);
  }
  template <class Read>
  auto object_or_none(const char* key, Read read) {
    using Value = decltype(object(key, read));
    return at(key).is_null() ? std::optional<Value>() : std::optional<Value>(object(key, read));
  }
  template <class Read>
  auto list(const char* key, Read read) {
    std::vector<decltype(object(key, read))> out;
    for_each(key, [&](const Json& element, std::size_t i) {
      out.push_back(read_object(element, fmt::format("{}[{}]", place_of(key), i), read));
    });
    return out;
  }

  /// The field as it is; null when it is missing.
  const Json& raw(const char* key) { return at(key); }
  std::string place_of(const char* key) const { return place_.empty() ? key : fmt::format("{}.{}", place_, key); }

 private:
  const Json& at(const char* key) {
    static const Json null;
    if (!value_.is_object()) return null;
    const auto field = value_.find(key);
    if (field != value_.end()) return *field;
    refuse(key, "missing");
    return null;
  }

  template <class Int>
  static std::optional<Int> whole_of(const Json& value) {
    if (value.is_number_unsigned() && std::in_range<Int>(value.get<std::uint64_t>())) return value.get<Int>();
    if (value.is_number_integer() && !value.is_number_unsigned() && std::in_range<Int>(value.get<std::int64_t>()))
      return value.get<Int>();
    return std::nullopt;
  }

  bool count_null() {
    if (uncounted_ == 0) return false;
    --uncounted_;
    return true;
  }

  template <class Visit>
  void for_each(const char* key, Visit visit) {
    const Json& field = at(key);
    if (!field.is_array()) return refuse(key, "not a list");
    for (std::size_t i = 0; i < field.size() && !problem_.any(); ++i) visit(field[i], i);
  }

  template <class Read>
  auto read_object(const Json& value, std::string place, Read read) {
    Fields fields(value, std::move(place), problem_);
    auto out = read(fields);
    if (fields.uncounted_ > 0) fields.refuse("nonfinite", "counts more numbers than are null");
    return out;
  }

  const Json& value_;
  std::string place_;
  Problem& problem_;
  int uncounted_ = 0;  // numbers that "nonfinite" announced and that were not met yet
};

ErrorFigure read_error(Fields& in) {
  ErrorFigure error;
  error.max_abs = in.number("max_abs");
  error.max_rel = in.number("max_rel");
  error.bound_ratio = in.number_or_none("bound_ratio");
  return error;
}

Suspect read_suspect(Fields& in) {
  return {
      .file = in.text("file"), .parameter = in.text("parameter"), .used = in.text("used"), .meant = in.text("meant")};
}

Encoding read_encoding(Fields& in) {
  return {.scale = in.number("scale"),
          .offset = in.whole<std::int32_t>("offset", std::numeric_limits<std::int32_t>::min())};
}

WorstElement read_worst(Fields& in) {
  WorstElement element;
  element.index = in.whole<std::int64_t>("index");
  element.actual = in.number_of_float("actual");
  element.expected = in.number_of_float("expected");
  return element;
}

Metrics read_metrics(Fields& in) {
  Metrics metrics;
  using Count = std::pair<const char*, std::int64_t Metrics::*>;
  for (const auto& [key, count] : std::to_array<Count>({{"count", &Metrics::count},
                                                        {"compared", &Metrics::compared},
                                                        {"actual_nan", &Metrics::actual_nan},
                                                        {"actual_inf", &Metrics::actual_inf},
                                                        {"actual_zero", &Metrics::actual_zero},
                                                        {"expected_nan", &Metrics::expected_nan},
                                                        {"expected_inf", &Metrics::expected_inf},
                                                        {"expected_zero", &Metrics::expected_zero}}))
    metrics.*count = in.whole<std::int64_t>(key);
  using Figure = std::pair<const char*, double Metrics::*>;
  for (const auto& [key, figure] : std::to_array<Figure>({{"max_abs", &Metrics::max_abs},
                                                          {"mean_abs", &Metrics::mean_abs},
                                                          {"mean", &Metrics::mean},
                                                          {"max_rel", &Metrics::max_rel},
                                                          {"mean_rel", &Metrics::mean_rel},
                                                          {"rmse", &Metrics::rmse},
                                                          {"sqnr_db", &Metrics::sqnr_db},
                                                          {"cosine", &Metrics::cosine},
                                                          {"p50", &Metrics::p50},
                                                          {"p99", &Metrics::p99},
                                                          {"p999", &Metrics::p999},
                                                          {"expected_max_abs", &Metrics::expected_max_abs},
                                                          {"expected_min", &Metrics::expected_min},
                                                          {"expected_max", &Metrics::expected_max},
                                                          {"actual_min", &Metrics::actual_min},
                                                          {"actual_max", &Metrics::actual_max}}))
    metrics.*figure = in.number(key);
  metrics.worst = in.list("worst", read_worst);
  return metrics;
}

ModelInfo read_model(Fields& in) {
  ModelInfo model;
  model.file = in.text("file");
  model.converter_version = in.text_or_empty("converter_version");
  model.source = in.text_or_empty("source");
  model.bytes = in.whole<std::uint64_t>("bytes");
  model.operators = in.whole<int>("operators");
  model.tensors = in.whole<int>("tensors");
  return model;
}

RunInfo read_run(Fields& in) {
  RunInfo run;
  run.dump = in.text_or_empty("dump");
  run.log = in.text_or_empty("log");
  run.execution = in.whole_or_none<std::uint64_t>("execution");
  run.executions = in.wholes<std::uint64_t>("executions");
  run.dumped_tensors = in.whole<int>("dumped_tensors");
  run.soc = in.text_or_empty("soc");
  run.arch = in.text("arch");
  run.constant_rounding = in.text_or_empty("constant_rounding");
  run.library = in.text_or_empty("library");
  run.mnn = in.text_or_empty("mnn");
  run.tolerance_scale = in.number("tolerance_scale");
  run.inputs_given = in.flag("inputs_given");
  if (in.has("witness")) run.witness = in.text("witness");
  return run;
}

NotJudged read_not_judged(Fields& in) {
  NotJudged row;
  row.op_index = in.index_or_none("op_index");
  row.op = in.text("op");
  row.op_type = in.text("op_type");
  row.reason = in.text("reason");
  return row;
}

Coverage read_coverage(Fields& in) {
  Coverage coverage;
  coverage.ops_total = in.whole<int>("ops_total");
  coverage.ops_set_aside = in.whole<int>("ops_set_aside");
  coverage.ops_dumped = in.whole<int>("ops_dumped");
  coverage.ops_judged = in.whole<int>("ops_judged");
  coverage.not_judged = in.list("not_judged", read_not_judged);
  return coverage;
}

Finding read_finding(Fields& in) {
  Finding finding;
  finding.id = in.text("id");
  finding.kind = in.choice("kind", kKinds);
  finding.title = in.text("title");
  finding.op = in.text_or_empty("op");
  finding.op_index = in.index_or_none("op_index");
  finding.op_type = in.text_or_empty("op_type");
  finding.output = in.whole<int>("output");
  finding.tensor = in.text_or_empty("tensor");
  finding.dump_tensor = in.text_or_empty("dump_tensor");
  finding.node = in.text_or_empty("node");
  finding.cause = in.text_or_empty("cause");
  finding.proven = in.flag("proven");
  finding.ties = in.texts("ties");
  finding.local_error = in.object_or_none("local_error", read_error);
  finding.inherited_error = in.object_or_none("inherited_error", read_error);
  finding.consequence_of = in.whole_or_none<int>("consequence_of");
  finding.evidence = in.texts("evidence");
  finding.suspect = in.object_or_none("suspect", read_suspect);
  finding.next_steps = in.texts("next_steps");
  return finding;
}

OperatorRow read_operator(Fields& in) {
  OperatorRow row;
  row.index = in.whole<int>("index");
  row.name = in.text("name");
  row.type = in.text("type");
  row.inputs = in.texts("inputs");
  row.outputs = in.texts("outputs");
  row.status = in.choice("status", kStatuses);
  row.reason = in.text_or_empty("reason");
  row.bound_ratio = in.number_or_none("bound_ratio");
  row.end_to_end = in.object_or_none("end_to_end", read_error);
  return row;
}

TensorRow read_tensor(Fields& in) {
  TensorRow row;
  row.name = in.text("name");
  row.tensor = in.text_or_empty("tensor");
  row.op_index = in.index_or_none("op_index");
  row.dims = in.wholes<std::int64_t>("dims");
  row.device_dims = in.wholes<std::int64_t>("device_dims");
  row.layout = in.text_or_empty("layout");
  row.dtype = in.choice("dtype", kTypes);
  row.encoding = in.object_or_none("encoding", read_encoding);
  row.model_encoding = in.object_or_none("model_encoding", read_encoding);
  row.problem = in.text_or_empty("problem");
  row.bound_ratio = in.number_or_none("bound_ratio");  // before within_bound, a share, which is always finite
  row.within_bound = in.number_or_none("within_bound");
  row.local = in.object_or_none("local", read_metrics);
  row.baseline = in.object_or_none("baseline", read_metrics);
  return row;
}

BoundBasis read_basis(Fields& in) {
  BoundBasis basis;
  basis.arch = in.text("arch");
  basis.runs = in.whole<std::int64_t>("runs");
  basis.instances = in.whole<std::int64_t>("instances");
  basis.elements = in.whole<std::int64_t>("elements");
  basis.worst = in.number("worst");
  basis.p999 = in.number("p999");
  basis.library = in.text_or_empty("library");
  return basis;
}

BoundUse read_bound_use(Fields& in) {
  BoundUse use;
  use.op_index = in.index_or_none("op_index");
  use.op = in.text("op");
  use.op_type = in.text("op_type");
  use.dump_tensor = in.text("dump_tensor");
  use.key = in.text("key");
  use.bound.y = in.number("y");
  use.bound.max_y = in.number("max_y");
  use.bound.magnitude = in.number("magnitude");
  use.bound.absolute = in.number("absolute");
  use.bound_ratio = in.number("bound_ratio");
  // The margin follows from the ratio, and tells an infinite one from NaN.
  const std::optional<double> margin = in.number_or_none("margin");
  if (std::isnan(use.bound_ratio) && margin == 0.0) use.bound_ratio = std::numeric_limits<double>::infinity();
  use.basis = in.object_or_none("basis", read_basis);
  return use;
}

ExplainedCode read_code(Fields& in) {
  ExplainedCode code;
  code.number = in.whole<int>("number");
  code.name = in.text_or_empty("name");
  code.stage = in.text_or_empty("stage");
  code.line = in.whole<std::uint64_t>("line");
  return code;
}

EvidenceLine read_evidence(Fields& in) { return {.line = in.whole<std::uint64_t>("line"), .text = in.text("text")}; }

Explanation read_log(Fields& in) {
  Explanation log;
  log.class_id = in.text("class");
  log.summary = in.text("summary");
  log.confidence = in.choice("confidence", kConfidences);
  log.also = in.texts("also");
  log.codes = in.list("codes", read_code);
  log.evidence = in.list("evidence", read_evidence);
  log.next_steps = in.texts("next_steps");
  log.facts.lines = in.whole<std::uint64_t>("lines");
  return log;
}

DetailsFile read_details_file(Fields& in) {
  DetailsFile details{.file = in.text("file"), .sha256 = in.text("sha256")};
  if (details.sha256.size() != 64 || details.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
    in.refuse("sha256", "64 hexadecimal digits are wanted");
  return details;
}

SimilarCase read_case(Fields& in) {
  SimilarCase match;
  match.similarity = in.number("similarity");
  if (!(match.similarity >= 0 && match.similarity <= 1)) in.refuse("similarity", "not between 0 and 1");
  match.shared = in.texts("shared");
  // The reader of cases takes text: they have a format of their own.
  Result<KnownCase> known = parse_case(in.raw("case").dump());
  if (known)
    match.known = std::move(*known);
  else
    in.refuse("case", known.error().message);
  return match;
}

DiagnosisDocument read_document(Fields& in) {
  DiagnosisDocument out;
  Diagnosis& diagnosis = out.diagnosis;
  diagnosis.verdict = in.choice("verdict", kVerdicts);
  diagnosis.summary = in.text("summary");
  diagnosis.model = in.object("model", read_model);
  diagnosis.run = in.object("run", read_run);
  diagnosis.coverage = in.object("coverage", read_coverage);
  diagnosis.findings = in.list("findings", read_finding);
  diagnosis.operators = in.list("operators", read_operator);
  diagnosis.tensors = in.list("tensors", read_tensor);
  diagnosis.notes = in.texts("notes");
  if (in.has("log")) diagnosis.log = in.object_or_none("log", read_log);
  if (in.has("similar_cases")) out.cases = in.list("similar_cases", read_case);
  if (in.has("details")) diagnosis.details_file = in.object_or_none("details", read_details_file);
  if (in.has("bounds")) diagnosis.bounds = in.list("bounds", read_bound_use);
  return out;
}

/// The first thing to look at: whoever gives another document wants to hear of that, not of a missing field.
Result<void> check_schema(const Json& document) {
  const auto schema = document.is_object() ? document.find("schema") : document.end();
  if (!document.is_object() || schema == document.end() || !schema->is_string())
    return fail("not a diagnosis: it has no \"schema\": \"{}\" (qnn-debug diagnose --format json writes one)", kSchema);
  const std::string name = schema->get<std::string>();
  if (name == kSchema) return {};
  if (name.starts_with(kFamily))
    return fail("schema: \"{}\" is of another version of qnn-debug; this one reads \"{}\"", short_word(name), kSchema);
  return fail("schema: \"{}\" is no diagnosis; \"{}\" is wanted (qnn-debug diagnose --format json writes it)",
              short_word(name), kSchema);
}

}  // namespace

Result<DiagnosisDocument> read_diagnosis(std::string_view text) {
  const Result<Json> document = parse_guarded(text, kLimits);
  if (!document) return fail(document.error());
  if (Result<void> known = check_schema(*document); !known) return fail(std::move(known.error()));
  Problem problem;
  Fields fields(*document, "", problem);
  DiagnosisDocument out = read_document(fields);
  if (problem.any()) return fail("{}", problem.text());
  return out;
}

Result<Diagnosis> diagnosis_from_json(std::string_view text) {
  Result<DiagnosisDocument> document = read_diagnosis(text);
  if (!document) return fail(std::move(document.error()));
  return std::move(document->diagnosis);
}

}  // namespace qnndbg
