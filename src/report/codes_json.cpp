#include "report/codes_json.h"

#include <fmt/format.h>

#include "report/codes_text.h"

namespace qnndbg {
namespace {

Json causes_json(const std::vector<ErrorCause>& causes) {
  Json out = Json::array();
  for (const ErrorCause& cause : causes)
    out.push_back({{"cause", cause.what}, {"sign", text_or_null(cause.sign)}, {"class", text_or_null(cause.class_id)}});
  return out;
}

Json also_called_json(const std::vector<OtherName>& names) {
  Json out = Json::array();
  for (const OtherName& other : names) out.push_back({{"by", other.by}, {"name", other.name}, {"right", other.right}});
  return out;
}

Json follows_json(const std::vector<Consequence>& follows) {
  Json out = Json::array();
  for (const Consequence& before : follows) out.push_back({{"number", before.after}, {"why", before.why}});
  return out;
}

Json stages_json(const std::vector<StageMeaning>& stages) {
  Json out = Json::array();
  for (const StageMeaning& stage : stages)
    out.push_back({{"stage", stage.stage},
                   {"class", stage.class_id},
                   {"meaning", stage.meaning},
                   {"causes", causes_json(stage.causes)},
                   {"next_steps", stage.next_steps}});
  return out;
}

Json lookalikes_json(std::int64_t number) {
  Json out = Json::array();
  for (const Lookalike& other : lookalikes(number))
    out.push_back({{"kind", other.kind}, {"what", other.what}, {"meaning", other.meaning}, {"context", other.context}});
  return out;
}

Json hex_json(std::int64_t number) {
  return number < 0 ? Json(nullptr) : Json(fmt::format("0x{:x}", static_cast<std::uint64_t>(number)));
}

/// A number that is no code, in the shape of one.
ErrorCode not_a_code(const ParsedCode& parsed) {
  ErrorCode code;
  if (const CodeRange* range = code_range_of(parsed.number)) code.module = range->module;
  code.meaning = number_meaning(parsed);
  code.next_steps = {"Read the lines before the number: `qnn-debug explain run.log`."};
  return code;
}

Json element(std::int64_t number, const ErrorCode& code, std::string_view stage) {
  const StageMeaning* there = code.at_stage(stage);
  JsonObject out;
  out.set("number", number);
  out.set("hex", hex_json(number));
  out.set("name", text_or_null(code.name));
  out.set("aliases", code.aliases);
  out.set("module", text_or_null(code.module));
  out.set("since", text_or_null(code.since));
  out.set("class", there == nullptr ? code.class_id : there->class_id);
  out.set("stage", text_or_null(std::string(stage)));
  out.set("meaning", there == nullptr ? code.meaning : there->meaning);
  out.set("causes", causes_json(there == nullptr ? code.causes : there->causes));
  out.set("next_steps", there == nullptr ? code.next_steps : there->next_steps);
  out.set("returned_by", code.returned_by);
  out.set("also_called", also_called_json(code.also_called));
  out.set("follows", follows_json(code.follows));
  out.set("stages", stage.empty() ? stages_json(code.stages) : Json::array());
  return std::move(out).finish();
}

}  // namespace

Json code_json(const ErrorCode& code, std::string_view stage) { return element(code.number, code, stage); }

Json number_json(const ParsedCode& parsed, std::string_view stage) {
  const ErrorCode* code = parsed.transport ? nullptr : find_error_code(parsed.number);
  Json out = element(parsed.number, code == nullptr ? not_a_code(parsed) : *code, stage);
  out["read_as"] = text_or_null(parsed.how);
  out["lookalikes"] = lookalikes_json(parsed.number);
  return out;
}

}  // namespace qnndbg
