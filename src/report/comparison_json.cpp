#include "report/comparison_view.h"
#include "report/json_object.h"

namespace qnndbg {
namespace {

Json side_json(const Diagnosis& d) {
  return Json{{"verdict", name_of(d.verdict)},
              {"summary", d.summary},
              {"model", model_json(d.model)},
              {"run", run_json(d.run)},
              {"coverage", Json{{"ops_total", d.coverage.ops_total},
                                {"ops_set_aside", d.coverage.ops_set_aside},
                                {"ops_dumped", d.coverage.ops_dumped},
                                {"ops_judged", d.coverage.ops_judged}}}};
}

Json facts_json(const Comparison& c) {
  Json list = Json::array();
  for (const ComparedFact& fact : c.facts)
    list.push_back(Json{{"what", fact.what}, {"before", fact.before}, {"after", fact.after}});
  return list;
}

Json finding_or_null(const std::optional<Finding>& finding) { return finding ? finding_json(*finding) : Json(nullptr); }

Json findings_json(const Comparison& c) {
  Json list = Json::array();
  for (const ComparedFinding& f : c.findings)
    list.push_back(Json{{"change", name_of(f.change)},
                        {"what", f.what},
                        {"error", name_of(f.error)},
                        {"reason", text_or_null(f.reason)},
                        {"before", finding_or_null(f.before)},
                        {"after", finding_or_null(f.after)}});
  return list;
}

Json state_json(const OperatorRow& row) {
  JsonObject object;
  object.set("index", row.index);
  object.set("status", name_of(row.status));
  object.set("reason", text_or_null(row.reason));
  object.number("bound_ratio", row.bound_ratio);
  return std::move(object).finish();
}

Json operators_json(const Comparison& c) {
  Json list = Json::array();
  for (const ComparedOperator& row : c.operators)
    list.push_back(Json{{"name", row.after.name},
                        {"type", row.after.type},
                        {"trend", name_of(row.trend)},
                        {"before", state_json(row.before)},
                        {"after", state_json(row.after)}});
  return list;
}

Json outputs_json(const Comparison& c) {
  Json list = Json::array();
  for (const ComparedOutput& row : c.outputs)
    list.push_back(Json{{"name", row.after.name},
                        {"type", row.after.type},
                        {"trend", name_of(row.trend)},
                        {"before", error_json(row.before.end_to_end)},
                        {"after", error_json(row.after.end_to_end)}});
  return list;
}

Json rows_json(const std::vector<OperatorRow>& rows) {
  Json list = Json::array();
  for (const OperatorRow& row : rows)
    list.push_back(Json{{"index", row.index}, {"name", row.name}, {"type", row.type}, {"status", name_of(row.status)}});
  return list;
}

}  // namespace

std::string comparison_json(const Comparison& c) {
  return dump_json(Json{{"schema", "qnn-debug/comparison/1"},
                        {"outcome", outcome_of(c)},
                        {"summary", comparison_summary(c)},
                        {"worse", what_got_worse(c)},
                        {"better", what_got_better(c)},
                        {"before", side_json(c.before)},
                        {"after", side_json(c.after)},
                        {"facts", facts_json(c)},
                        {"findings", findings_json(c)},
                        {"operators", operators_json(c)},
                        {"outputs", outputs_json(c)},
                        {"paired", c.paired},
                        {"removed", rows_json(c.removed)},
                        {"added", rows_json(c.added)}});
}

}  // namespace qnndbg
