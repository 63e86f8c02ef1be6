#include "knowledge/codes.h"
#include "report/validation.h"

namespace qnndbg {
namespace {

Json code_or_null(std::uint32_t code) { return code == 0 ? Json(nullptr) : Json(code); }

Json code_name(std::uint32_t code) {
  const ErrorCode* known = find_error_code(static_cast<std::int64_t>(code));
  return known == nullptr ? Json(nullptr) : Json(known->name);
}

Json node_json(const qnn::NodeAnswer& node) {
  return Json{{"node", node.node},
              {"type", node.type},
              {"accepted", node.accepted},
              {"code", code_or_null(node.code)},
              {"code_name", code_name(node.code)},
              {"reasons", node.reasons},
              {"failure", text_or_null(node.failure)}};
}

Json operator_json(const qnn::OperatorAnswer& answer) {
  Json nodes = Json::array();
  for (const qnn::NodeAnswer& node : answer.nodes) nodes.push_back(node_json(node));
  return Json{
      {"op_index", index_or_null(answer.op_index)},
      {"op", text_or_null(answer.op)},
      {"op_type", text_or_null(answer.op_type)},
      {"acceptance", qnn::name_of(answer.acceptance)},
      {"refusal", answer.refusal ? Json{{"kind", name_of(answer.refusal->kind)}, {"reason", answer.refusal->reason}}
                                 : Json(nullptr)},
      {"nodes", std::move(nodes)}};
}

Json log_lines(const std::vector<qnn::LogLine>& log) {
  Json lines = Json::array();
  for (const qnn::LogLine& line : log) lines.push_back(qnn::message_of(line));
  return lines;
}

Json finalize_json(const qnn::FinalizeAnswer& answer) {
  if (!answer.tried) return nullptr;
  return Json{{"finalized", answer.finalized},     {"message", text_or_null(answer.message)},
              {"code", code_or_null(answer.code)}, {"code_name", code_name(answer.code)},
              {"node", text_or_null(answer.node)}, {"op_index", index_or_null(answer.op_index)},
              {"log", log_lines(answer.log)},      {"microseconds", answer.microseconds}};
}

Json event_json(const qnn::ProfileEvent& event) {
  Json children = Json::array();
  for (const qnn::ProfileEvent& child : event.children) children.push_back(event_json(child));
  return Json{{"name", event.name},
              {"type", event.type},
              {"unit", event.unit},
              {"value", event.value},
              {"events", std::move(children)}};
}

std::string arch_text(const qnn::Target& target) {
  return target.arch == 0 ? "unknown" : fmt::format("v{}", target.arch);
}

}  // namespace

Json library_json(const qnn::LibraryInfo& library) {
  return Json{{"provider", text_or_null(library.provider)},
              {"build_id", text_or_null(library.build_id)},
              {"core_api", text_or_null(library.core_api)},
              {"backend_api", text_or_null(library.backend_api)}};
}

std::string validation_json(const qnn::ValidationReport& report, const ModelInfo& model) {
  Json operators = Json::array();
  for (const qnn::OperatorAnswer& answer : report.operators) operators.push_back(operator_json(answer));
  return dump_json(Json{{"schema", "qnn-debug/validation/1"},
                        {"model", model_json(model)},
                        {"library", library_json(report.session.library)},
                        {"soc", report.session.target.soc},
                        {"arch", arch_text(report.session.target)},
                        {"all_accepted", report.all_accepted()},
                        {"operators", std::move(operators)},
                        {"finalize", finalize_json(report.finalize)}});
}

std::string run_file_json(const qnn::EmulationReport& report, const EmulationSettings& settings) {
  Json refused = Json::array();
  for (const qnn::NodeRefusal& refusal : report.refused)
    refused.push_back(Json{{"node", refusal.node},
                           {"function", refusal.function},
                           {"code", code_or_null(refusal.verdict.code)},
                           {"log", log_lines(refusal.verdict.log)}});
  Json profile = Json::array();
  for (const qnn::ProfileEvent& event : report.profile) profile.push_back(event_json(event));
  return dump_json(
      Json{{"schema", "qnn-debug/run/1"},
           {"made_by", "qnn-debug emulate"},
           {"model", settings.model},
           {"style", settings.style},
           {"precision", settings.precision},
           {"soc", report.session.target.soc},
           {"arch", arch_text(report.session.target)},
           {"library", library_json(report.session.library)},
           {"tensors", report.tensors},
           {"refused", std::move(refused)},
           {"timing", Json{{"finalize_us", report.finalize_microseconds}, {"execute_us", report.execute_microseconds}}},
           {"profile", std::move(profile)}});
}

}  // namespace qnndbg
