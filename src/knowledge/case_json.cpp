#include "knowledge/case_json.h"

#include <algorithm>
#include <unordered_set>

#include "knowledge/guarded_json.h"

namespace qnndbg {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "qnn-debug/known-cases/1";

constexpr std::size_t kDeepest = 8;                // a code is at depth 5: document, cases, case, fingerprint, codes
constexpr std::size_t kMostMembers = 64;           // of an object
constexpr std::size_t kMostElements = kMostCases;  // of a list, whichever it is
constexpr std::size_t kMostValues = 20'000'000;    // in all; bounds the memory of the parsed document

constexpr JsonLimits kLimits = {.bytes = kLargestCaseDocument,
                                .depth = kDeepest,
                                .members = kMostMembers,
                                .elements = kMostElements,
                                .values = kMostValues};

// --- Reading fields. Every message begins with the place, which the caller completes with what is around it. ---------

Result<std::string> read_string(const Json& value, std::string_view place) {
  if (!value.is_string()) return fail("{}: not a string", place);
  return value.get<std::string>();
}

Result<std::vector<std::string>> read_strings(const Json& value, const std::string& place) {
  if (!value.is_array()) return fail("{}: not a list of strings", place);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    Result<std::string> text = read_string(value[i], fmt::format("{}[{}]", place, i));
    if (!text) return fail(std::move(text.error()));
    out.push_back(std::move(*text));
  }
  return out;
}

Result<std::vector<int>> read_codes(const Json& value, const std::string& place) {
  if (!value.is_array()) return fail("{}: not a list of numbers", place);
  std::vector<int> out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool whole =
        value[i].is_number_integer() && value[i].get<std::int64_t>() >= 1 && value[i].get<std::int64_t>() <= 0xFFFF;
    if (!whole) return fail("{}[{}]: not an error number (1 to 65535)", place, i);
    out.push_back(value[i].get<int>());
  }
  return out;
}

Result<void> read_fingerprint_field(const std::string& key, const Json& value, Fingerprint& out) {
  const std::string place = "fingerprint." + key;
  if (key == "codes") {
    Result<std::vector<int>> codes = read_codes(value, place);
    if (!codes) return fail(std::move(codes.error()));
    out.codes = std::move(*codes);
    return {};
  }
  for (const FingerprintList& list : fingerprint_lists()) {
    if (list.key != key) continue;
    Result<std::vector<std::string>> values = read_strings(value, place);
    if (!values) return fail(std::move(values.error()));
    out.*list.values = std::move(*values);
    return {};
  }
  return fail("fingerprint.{}: unknown field", short_word(key));
}

Result<void> read_fingerprint(const Json& value, Fingerprint& out) {
  if (!value.is_object()) return fail("fingerprint: not an object");
  for (const auto& [key, field] : value.items())
    if (Result<void> read = read_fingerprint_field(key, field, out); !read) return read;
  return {};
}

std::string* one_line_field(std::string_view key, KnownCase& known) {
  if (key == "id") return &known.id;
  if (key == "title") return &known.title;
  if (key == "created") return &known.created;
  if (key == "updated") return &known.updated;
  if (key == "supersedes") return &known.supersedes;
  if (key == "annotates") return &known.annotates;
  return nullptr;
}

std::string* text_field(std::string_view key, KnownCase& known) {
  for (const CaseText& text : case_texts())
    if (text.key == key) return &(known.*text.text);
  return one_line_field(key, known);
}

Result<void> read_evidence(const Json& value, KnownCase& out) {
  const std::optional<EvidenceGrade> grade =
      value.is_string() ? evidence_grade(value.get_ref<const std::string&>()) : std::nullopt;
  if (!grade) return fail("evidence: not one of established, maintainers, inferred, unknown");
  out.evidence = *grade;
  return {};
}

Result<void> read_field(const std::string& key, const Json& value, KnownCase& out) {
  if (key == "fingerprint") return read_fingerprint(value, out.fingerprint);
  if (key == "evidence") return read_evidence(value, out);
  if (key == "sources") {
    Result<std::vector<std::string>> sources = read_strings(value, key);
    if (!sources) return fail(std::move(sources.error()));
    out.sources = std::move(*sources);
    return {};
  }
  std::string* const field = text_field(key, out);
  if (field == nullptr) return fail("{}: unknown field", short_word(key));
  Result<std::string> text = read_string(value, key);
  if (!text) return fail(std::move(text.error()));
  *field = std::move(*text);
  return {};
}

/// Precondition: an object.
Result<KnownCase> read_draft(const Json& value) {
  KnownCase known;
  for (const auto& [key, field] : value.items())
    if (Result<void> read = read_field(key, field, known); !read) return fail(std::move(read.error()));
  normalize(known);
  return known;
}

Result<KnownCase> read_case(const Json& value) {
  Result<KnownCase> known = read_draft(value);
  if (!known) return known;
  if (Result<void> checked = check_case(*known); !checked) return fail(std::move(checked.error()));
  return known;
}

/// The list "cases" of a document whose other fields are as they must be.
Result<const Json*> cases_of(const Json& document) {
  const auto schema = document.is_object() ? document.find("schema") : document.end();
  if (!document.is_object() || schema == document.end())
    return fail("not a document of known cases: it has no \"schema\": \"{}\"", kSchema);
  if (*schema != kSchema) return fail("schema: not \"{}\", the only one that this version of qnn-debug reads", kSchema);
  for (const auto& [key, field] : document.items())
    if (key != "schema" && key != "cases") return fail("{}: unknown field", short_word(key));
  const auto cases = document.find("cases");
  if (cases == document.end() || !cases->is_array()) return fail("cases: not a list");
  return &*cases;
}

Json strings_json(const std::vector<std::string>& values) {
  Json list = Json::array();
  for (const std::string& value : values) list.push_back(value);
  return list;
}

Json fingerprint_json(const Fingerprint& fingerprint) {
  Json object = Json::object();
  for (const FingerprintList& list : fingerprint_lists()) {
    object[std::string(list.key)] = strings_json(fingerprint.*list.values);
    if (list.values == &Fingerprint::classes) object["codes"] = fingerprint.codes;
  }
  return object;
}

Json case_json(const KnownCase& known) {
  Json object{{"id", known.id}, {"title", known.title}};
  for (const CaseText& text : case_texts()) {
    object[std::string(text.key)] = known.*text.text;
    if (text.text == &KnownCase::cause) object["evidence"] = name_of(known.evidence);
  }
  object["sources"] = strings_json(known.sources);
  object["created"] = known.created;
  object["updated"] = known.updated;
  if (!known.supersedes.empty()) object["supersedes"] = known.supersedes;
  if (!known.annotates.empty()) object["annotates"] = known.annotates;
  object["fingerprint"] = fingerprint_json(known.fingerprint);
  return object;
}

std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace

Result<std::vector<KnownCase>> parse_case_document(std::string_view text) {
  const Result<Json> document = parse_guarded(text, kLimits);
  if (!document) return fail(document.error());
  const Result<const Json*> list = cases_of(*document);
  if (!list) return fail(list.error());
  std::vector<KnownCase> cases;
  std::unordered_set<std::string> ids;
  for (const Json& value : **list) {
    const std::size_t index = cases.size();
    if (!value.is_object()) return fail("cases[{}]: not an object", index);
    Result<KnownCase> known = read_case(value);
    if (!known) return fail("cases[{}].{}", index, known.error().message);
    if (!ids.insert(known->id).second) return fail("cases[{}].id: {} appears twice", index, known->id);
    cases.push_back(std::move(*known));
  }
  return cases;
}

Result<KnownCase> parse_case(std::string_view text) {
  const Result<Json> value = parse_guarded(text, kLimits);
  if (!value) return fail(value.error());
  if (!value->is_object()) return fail("not an object");
  return read_case(*value);
}

Result<KnownCase> parse_case_draft(std::string_view text) {
  const Result<Json> value = parse_guarded(text, kLimits);
  if (!value) return fail(value.error());
  if (!value->is_object()) return fail("a case is a JSON object");
  if (value->contains("cases")) return fail("a document of cases, not a case; read it with `qnn-debug case import`");
  return read_draft(*value);
}

std::string case_document(std::span<const KnownCase* const> cases) {
  Json list = Json::array();
  for (const KnownCase* known : cases) list.push_back(case_json(*known));
  return text_of(Json{{"schema", kSchema}, {"cases", std::move(list)}}, 1) + '\n';
}

std::string case_line(const KnownCase& known) { return text_of(case_json(known), -1); }

}  // namespace qnndbg
