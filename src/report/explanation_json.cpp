#include "knowledge/log_words.h"
#include "report/cases_json.h"
#include "report/codes_json.h"
#include "report/explanation.h"

namespace qnndbg {
namespace {

constexpr const char* kSchema = "qnn-debug/explanation/1";
constexpr std::size_t kMostNodes = 256;  // in full; the rest is counted

Json evidence_json(const std::vector<EvidenceLine>& evidence) {
  Json list = Json::array();
  for (const EvidenceLine& line : evidence) list.push_back(Json{{"line", line.line}, {"text", line.text}});
  return list;
}

std::string_view name_of(NodeFate fate) {
  switch (fate) {
    case NodeFate::none: return "named";
    case NodeFate::refused: return "refused";
    case NodeFate::not_created: return "not_created";
    case NodeFate::unregistered: return "unregistered";
    case NodeFate::unsupported: return "unsupported";
  }
  return "";
}

Json datatypes_json(const DatatypeSet& set) {
  Json object = Json::object();
  for (const auto& [operand, type] : set) object[operand] = type;
  return object;
}

Json node_json(const LogNode& node) {
  JsonObject object;
  object.set("name", node.name);
  object.set("type", text_or_null(node.type));
  object.set("mnn_type", node.mnn_type == 0 ? Json(nullptr) : Json(node.mnn_type));
  object.set("op", text_or_null(node.op));
  object.set("op_index", index_or_null(node.op_index));
  object.set("fate", name_of(node.fate));
  object.set("code", node.code == 0 ? Json(nullptr) : Json(node.code));
  object.set("count", node.count);
  object.set("line", node.first.line);
  object.set("reasons", evidence_json(node.reasons));
  object.set("kernel", text_or_null(node.kernel));
  object.set("inputs", text_or_null(kernel_inputs_words(node.inputs)));
  object.set("requested", node.requested.empty() ? Json(nullptr) : datatypes_json(node.requested));
  object.set("nearest_supported", text_or_null(datatype_difference(node)));
  return std::move(object).finish();
}

Json facts_json(const LogFacts& facts) {
  Json nodes = Json::array();
  for (std::size_t i = 0; i < std::min(facts.nodes.size(), kMostNodes); ++i) nodes.push_back(node_json(facts.nodes[i]));
  JsonObject object;
  object.set("soc", text_or_null(facts.soc));
  object.set("soc_name", text_or_null(facts.soc_name));
  object.set("arch", text_or_null(facts.arch));
  object.set("stack", text_or_null(facts.stack));
  object.set("versions", Json(facts.versions));
  object.set("nodes", std::move(nodes));
  object.set("nodes_left_out",
             facts.nodes_left_out + (facts.nodes.size() > kMostNodes ? facts.nodes.size() - kMostNodes : 0));
  object.set("values", Json(facts.values));
  object.set("lines", facts.lines);
  object.set("noise_lines", facts.noise_lines);
  object.set("bytes", facts.bytes);
  return std::move(object).finish();
}

/// What every explanation has, whatever was asked about.
Json document(std::string_view class_id, std::string_view summary, Confidence confidence, Json codes, Json facts,
              Json evidence, const std::vector<std::string>& next_steps, std::span<const SimilarCase> cases) {
  return Json{{"schema", kSchema},
              {"class", class_id},
              {"summary", summary},
              {"confidence", name_of(confidence)},
              {"codes", std::move(codes)},
              {"facts", std::move(facts)},
              {"evidence", std::move(evidence)},
              {"next_steps", next_steps},
              {"similar_cases", similar_cases_json(cases)},
              {"rule", nullptr},
              {"why", nullptr},
              {"experiment", nullptr},
              {"also", Json::array()},
              {"patterns", Json::array()}};
}

ParsedCode plain_code(int number) {
  ParsedCode parsed;
  parsed.number = number;
  parsed.raw = static_cast<std::uint64_t>(number);
  return parsed;
}

Json codes_of(const Explanation& explanation) {
  Json codes = Json::array();
  for (const ExplainedCode& code : explanation.codes) {
    Json entry = number_json(plain_code(code.number), code.stage);
    entry["line"] = code.line;
    codes.push_back(std::move(entry));
  }
  return codes;
}

void add_reasoning(Json& out, const Explanation& explanation) {
  out["rule"] = text_or_null(explanation.rule);
  out["why"] = text_or_null(explanation.why);
  out["experiment"] = text_or_null(explanation.experiment);
  out["also"] = explanation.also;
  out["patterns"] = explanation.patterns;
}

}  // namespace

std::string explanation_json(const Explanation& e, std::span<const SimilarCase> cases) {
  Json out = document(e.class_id, e.summary, e.confidence, codes_of(e), facts_json(e.facts), evidence_json(e.evidence),
                      e.next_steps, cases);
  add_reasoning(out, e);
  return dump_json(out);
}

std::string code_explanation_json(const ParsedCode& parsed, std::string_view stage,
                                  std::span<const SimilarCase> cases) {
  Json code = number_json(parsed, stage);
  const std::string class_id = code.value("class", "not_decidable");
  const std::string meaning = code.value("meaning", "");
  const bool decided = class_id != "not_decidable" && !class_id.empty();
  std::vector<std::string> steps;
  if (find_error_code(parsed.number) != nullptr) steps = code.value("next_steps", std::vector<std::string>());
  steps.emplace_back("The lines before the number decide: qnn-debug explain run.log");
  Json codes = Json::array();
  codes.push_back(std::move(code));
  return dump_json(document(decided ? class_id : "not_decidable", meaning,
                            decided ? Confidence::medium : Confidence::none, std::move(codes), facts_json({}),
                            Json::array(), steps, cases));
}

std::string finding_type_json(const FindingType& type) {
  Json out = document("not_decidable", finding_type_summary(type), Confidence::none, Json::array(), facts_json({}),
                      Json::array(), finding_type_steps(type), {});
  out["finding"] = Json{{"id", type.id}, {"cause", type.cause}};
  return dump_json(out);
}

std::string class_json(const ExplanationClass& type, std::span<const SimilarCase> cases) {
  Json out = document(type.id, type.title, Confidence::none, Json::array(), facts_json({}), Json::array(),
                      without_log(type.next_steps), cases);
  out["why"] = text_or_null(without_log(type.why));
  out["experiment"] = text_or_null(without_log(type.experiment));
  return dump_json(out);
}

Json log_json(const std::optional<Explanation>& log) {
  if (!log) return nullptr;
  JsonObject object;
  object.set("class", log->class_id);
  object.set("summary", log->summary);
  object.set("confidence", name_of(log->confidence));
  object.set("also", log->also);
  Json codes = Json::array();
  for (const ExplainedCode& code : log->codes)
    codes.push_back(Json{{"number", code.number},
                         {"name", text_or_null(code.name)},
                         {"stage", text_or_null(code.stage)},
                         {"line", code.line}});
  object.set("codes", std::move(codes));
  object.set("evidence", evidence_json(log->evidence));
  object.set("next_steps", log->next_steps);
  object.set("lines", log->facts.lines);
  return std::move(object).finish();
}

}  // namespace qnndbg
