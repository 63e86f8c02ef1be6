#include "report/json.h"

#include <cmath>

#include "report/cases_json.h"
#include "report/explanation.h"
#include "report/json_object.h"

namespace qnndbg {

Json error_json(const std::optional<ErrorFigure>& error) {
  if (!error) return nullptr;
  JsonObject object;
  object.number("max_abs", error->max_abs);
  object.number("max_rel", error->max_rel);
  object.number("bound_ratio", error->bound_ratio);
  return std::move(object).finish();
}

Json suspect_json(const std::optional<Suspect>& suspect) {
  if (!suspect) return nullptr;
  return Json{
      {"file", suspect->file}, {"parameter", suspect->parameter}, {"used", suspect->used}, {"meant", suspect->meant}};
}

namespace {

Json worst_json(const std::vector<WorstElement>& worst) {
  Json list = Json::array();
  for (const WorstElement& element : worst) {
    JsonObject object;
    object.set("index", element.index);
    object.number("actual", element.actual);
    object.number("expected", element.expected);
    list.push_back(std::move(object).finish());
  }
  return list;
}

}  // namespace

Json metrics_json(const std::optional<Metrics>& metrics) {
  if (!metrics) return nullptr;
  JsonObject object;
  object.set("count", metrics->count);
  object.set("compared", metrics->compared);
  object.set("actual_nan", metrics->actual_nan);
  object.set("actual_inf", metrics->actual_inf);
  object.set("actual_zero", metrics->actual_zero);
  object.set("expected_nan", metrics->expected_nan);
  object.set("expected_inf", metrics->expected_inf);
  object.set("expected_zero", metrics->expected_zero);
  object.number("max_abs", metrics->max_abs);
  object.number("mean_abs", metrics->mean_abs);
  object.number("mean", metrics->mean);
  object.number("max_rel", metrics->max_rel);
  object.number("mean_rel", metrics->mean_rel);
  object.number("rmse", metrics->rmse);
  object.number("sqnr_db", metrics->sqnr_db);
  object.number("cosine", metrics->cosine);
  object.number("p50", metrics->p50);
  object.number("p99", metrics->p99);
  object.number("p999", metrics->p999);
  object.number("expected_max_abs", metrics->expected_max_abs);
  object.number("expected_min", metrics->expected_min);
  object.number("expected_max", metrics->expected_max);
  object.number("actual_min", metrics->actual_min);
  object.number("actual_max", metrics->actual_max);
  object.set("worst", worst_json(metrics->worst));
  return std::move(object).finish();
}

Json run_json(const RunInfo& run) {
  JsonObject object;
  object.set("dump", text_or_null(run.dump));
  object.set("log", text_or_null(run.log));
  object.set("execution", value_or_null(run.execution));
  object.set("executions", run.executions);
  object.set("dumped_tensors", run.dumped_tensors);
  object.set("soc", text_or_null(run.soc));
  object.set("arch", run.arch);
  object.set("constant_rounding", text_or_null(run.constant_rounding));
  object.set("library", text_or_null(run.library));
  object.set("mnn", text_or_null(run.mnn));
  object.exact("tolerance_scale", run.tolerance_scale);
  object.set("inputs_given", run.inputs_given);
  if (!run.witness.empty()) object.set("witness", run.witness);
  return std::move(object).finish();
}

namespace {

Json coverage_json(const Coverage& coverage) {
  Json not_judged = Json::array();
  for (const NotJudged& row : coverage.not_judged)
    not_judged.push_back(Json{
        {"op_index", index_or_null(row.op_index)}, {"op", row.op}, {"op_type", row.op_type}, {"reason", row.reason}});
  return Json{{"ops_total", coverage.ops_total},
              {"ops_set_aside", coverage.ops_set_aside},
              {"ops_dumped", coverage.ops_dumped},
              {"ops_judged", coverage.ops_judged},
              {"not_judged", std::move(not_judged)}};
}

}  // namespace

Json finding_json(const Finding& finding) {
  return Json{{"id", finding.id},
              {"kind", name_of(finding.kind)},
              {"title", finding.title},
              {"op", text_or_null(finding.op)},
              {"op_index", index_or_null(finding.op_index)},
              {"op_type", text_or_null(finding.op_type)},
              {"output", finding.output},
              {"tensor", text_or_null(finding.tensor)},
              {"dump_tensor", text_or_null(finding.dump_tensor)},
              {"node", text_or_null(finding.node)},
              {"cause", text_or_null(finding.cause)},
              {"proven", finding.proven},
              {"ties", finding.ties},
              {"local_error", error_json(finding.local_error)},
              {"inherited_error", error_json(finding.inherited_error)},
              {"consequence_of", value_or_null(finding.consequence_of)},
              {"evidence", finding.evidence},
              {"suspect", suspect_json(finding.suspect)},
              {"next_steps", finding.next_steps}};
}

namespace {

Json operator_json(const OperatorRow& row) {
  JsonObject object;
  object.set("index", row.index);
  object.set("name", row.name);
  object.set("type", row.type);
  object.set("inputs", row.inputs);
  object.set("outputs", row.outputs);
  object.set("status", name_of(row.status));
  object.set("reason", text_or_null(row.reason));
  object.number("bound_ratio", row.bound_ratio);
  object.set("end_to_end", error_json(row.end_to_end));
  return std::move(object).finish();
}

Json tensor_json(const TensorRow& row) {
  JsonObject object;
  object.set("name", row.name);
  object.set("tensor", text_or_null(row.tensor));
  object.set("op_index", index_or_null(row.op_index));
  object.set("dims", row.dims);
  object.set("device_dims", row.device_dims);
  object.set("layout", text_or_null(row.layout));
  object.set("dtype", name_of(row.dtype));
  object.set("encoding", encoding_json(row.encoding));
  object.set("model_encoding", encoding_json(row.model_encoding));
  object.set("problem", text_or_null(row.problem));
  object.number("within_bound", row.within_bound);
  object.number("bound_ratio", row.bound_ratio);
  object.set("local", metrics_json(row.local));
  object.set("baseline", metrics_json(row.baseline));
  return std::move(object).finish();
}

Json bound_use_json(const BoundUse& row) {
  JsonObject object;
  object.set("op_index", index_or_null(row.op_index));
  object.set("op", row.op);
  object.set("op_type", row.op_type);
  object.set("dump_tensor", row.dump_tensor);
  object.set("key", row.key);
  object.exact("y", row.bound.y);
  object.exact("max_y", row.bound.max_y);
  object.exact("magnitude", row.bound.magnitude);
  object.exact("absolute", row.bound.absolute);
  object.number("bound_ratio", row.bound_ratio);
  // Of the ratio as it stands there, so that whoever reads the document and divides gets the same figure.
  BoundUse shown = row;
  if (std::isfinite(row.bound_ratio)) shown.bound_ratio = figure_json(row.bound_ratio).get<double>();
  object.number("margin", shown.margin());
  object.set("basis", basis_json(row.basis));
  return std::move(object).finish();
}

Json diagnosis_json(const Diagnosis& diagnosis, std::span<const SimilarCase> cases) {
  Json document{{"schema", "qnn-debug/diagnosis/1"},
                {"verdict", name_of(diagnosis.verdict)},
                {"summary", diagnosis.summary},
                {"model", model_json(diagnosis.model)},
                {"run", run_json(diagnosis.run)},
                {"coverage", coverage_json(diagnosis.coverage)},
                {"findings", list_of(diagnosis.findings, finding_json)},
                {"operators", list_of(diagnosis.operators, operator_json)},
                {"tensors", list_of(diagnosis.tensors, tensor_json)},
                {"notes", diagnosis.notes}};
  if (diagnosis.log) {
    document["log"] = log_json(diagnosis.log);
    document["similar_cases"] = similar_cases_json(cases);
  }
  if (diagnosis.details_file)
    document["details"] = Json{{"file", diagnosis.details_file->file}, {"sha256", diagnosis.details_file->sha256}};
  if (diagnosis.bounds) document["bounds"] = list_of(*diagnosis.bounds, bound_use_json);
  return document;
}

}  // namespace

std::string to_json(const Diagnosis& diagnosis, std::span<const SimilarCase> cases) {
  return dump_json(diagnosis_json(diagnosis, cases));
}

std::string to_compact_json(const Diagnosis& diagnosis, std::span<const SimilarCase> cases) {
  return compact_json(diagnosis_json(diagnosis, cases));
}

}  // namespace qnndbg
