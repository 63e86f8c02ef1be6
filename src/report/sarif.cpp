#include "report/sarif.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "dump/paths.h"
#include "knowledge/findings.h"
#include "report/finding_text.h"
#include "report/json_object.h"
#include "report/network.h"
#include "report/style.h"

namespace qnndbg {
namespace {

// The schema's name in the standard; code scanning services refuse logs that do not state it.
constexpr const char* kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr const char* kVersion = "2.1.0";
constexpr const char* kMnnRoot = "MNN_ROOT";
constexpr const char* kFingerprint = "qnnDebugFinding/v1";

/// Text of a message. SARIF reads "[text](target)" in it as a link and "{0}" as a placeholder, and has no escape for
/// the one; a space keeps names from being either. The exact name stands in the logical location.
std::string message_text(std::string_view text) {
  std::string out;
  for (const char c : terminal_safe(text)) {
    const bool link = c == '(' && out.ends_with(']');
    const bool placeholder = c >= '0' && c <= '9' && out.ends_with('{');
    if (link || placeholder) out += ' ';
    out += c;
  }
  return out;
}

Json message(std::string_view text) { return Json{{"text", message_text(text)}}; }

void add_sentence(std::string& text, std::string_view sentence) {
  if (sentence.empty()) return;
  if (!text.empty()) text += text.ends_with('.') ? " " : ". ";
  text += sentence;
}

// --- Rules -----------------------------------------------------------------------------------------------------------

/// Findings that change no verdict, whichever run they are found in.
bool is_warning_rule(const FindingType& type) {
  return type.id.starts_with("QD09") || type.cause == "quant_saturation";
}

Json rule_json(const FindingType& type) {
  const std::string_view subject = type.id.starts_with("QD01") ? "An input" : "An operator";
  return Json{{"id", type.id},
              {"name", type.cause},
              {"shortDescription", Json{{"text", fmt::format("{} that {}.", subject, type.title)}}},
              {"help", Json{{"text", fmt::format("{} More: qnn-debug explain {}", type.next, type.id)}}},
              {"defaultConfiguration", Json{{"level", is_warning_rule(type) ? "warning" : "error"}}}};
}

Json driver_json(std::string_view version) {
  Json rules = Json::array();
  for (const FindingType& type : finding_types()) rules.push_back(rule_json(type));
  return Json{{"name", "qnn-debug"}, {"semanticVersion", version}, {"rules", std::move(rules)}};
}

// --- Files -----------------------------------------------------------------------------------------------------------

/// The files that results point to, each listed once: the model first.
class Artifacts {
 public:
  explicit Artifacts(const ModelInfo& model) {
    if (model.file.empty()) return;
    model_ = Json{{"uri", uri_of_path(model.file)}, {"index", 0}};
    list_.push_back(Json{{"location", Json{{"uri", uri_of_path(model.file)}}},
                         {"roles", Json::array({"analysisTarget"})},
                         {"length", model.bytes},
                         {"description", Json{{"text", "The model that was judged."}}}});
  }

  /// The artifactLocation of the file to open, or else of the model; null when neither is known.
  Json location(const std::optional<Suspect>& suspect) {
    // Documents come from strangers, and a viewer opens what a log names.
    if (!suspect || !check_relative_path(suspect->file)) return model_;
    Json place{{"uri", uri_of_path(suspect->file)}, {"uriBaseId", kMnnRoot}};
    const auto [found, is_new] = indices_.emplace(suspect->file, list_.size());
    if (is_new) list_.push_back(Json{{"location", place}});
    place["index"] = found->second;
    return place;
  }

  Json list() && { return std::move(list_); }

 private:
  Json list_ = Json::array();
  Json model_;                                  // its artifactLocation
  std::map<std::string, std::size_t> indices_;  // of files below MNN's root
};

// --- Results ---------------------------------------------------------------------------------------------------------

/// An operator of the model, or the QNN node where none is known for it.
Json logical_location(int op_index, const std::string& op, const std::string& node) {
  if (op_index < 0) return Json{{"name", node}, {"kind", "node"}};
  return Json{{"name", op}, {"fullyQualifiedName", fmt::format("#{} {}", op_index, op)}, {"kind", "operator"}};
}

bool has_logical_location(const Finding& finding) { return finding.op_index >= 0 || !finding.node.empty(); }

std::string error_sentence(const Finding& finding) {
  if (!finding.local_error) return {};
  const ErrorFigure& error = *finding.local_error;
  std::string text =
      fmt::format("Local error: max |error| {} = {} of max |reference|", figure(error.max_abs), figure(error.max_rel));
  if (error.bound_ratio) text += fmt::format(", {} bound units", figure(*error.bound_ratio));
  return text;
}

std::string consequence_sentence(const Finding& finding, const Network& network) {
  const int origin = *finding.consequence_of;
  if (origin == finding.op_index) return "A consequence of the refusal of this operator";
  const OperatorRow* row = network.op(origin);
  return fmt::format("A consequence of the refusal of operator #{}{}", origin,
                     row == nullptr ? "" : ' ' + op_title(row->type, row->name));
}

Json result_message(const Finding& finding, const Network& network) {
  std::string text = finding.title;
  std::string reason = fmt::format("{}", fmt::join(finding.evidence, "; "));
  if (!finding.cause.empty())
    reason = fmt::format("Cause: {}{}{}{}", finding.cause, finding.proven ? ", proven" : "", reason.empty() ? "" : ": ",
                         reason);
  add_sentence(text, reason);
  add_sentence(text, error_sentence(finding));
  if (finding.consequence_of) add_sentence(text, consequence_sentence(finding, network));
  return message(text);
}

/// The document's fields of the finding that SARIF has no place for.
Json result_properties(const Finding& finding) {
  const Json document = finding_json(finding);
  Json properties = Json::object();
  for (const char* key :
       {"kind", "op_index", "op_type", "output", "tensor", "dump_tensor", "node", "cause", "proven", "ties",
        "local_error", "inherited_error", "consequence_of", "evidence", "suspect", "next_steps"})
    properties[key] = document[key];
  return properties;
}

Json related_locations(const Finding& finding, const Network& network) {
  const OperatorRow* row = network.op(*finding.consequence_of);
  Json location{{"id", 1}, {"message", message(consequence_sentence(finding, network))}};
  if (row != nullptr) location["logicalLocations"] = Json::array({logical_location(row->index, row->name, "")});
  return Json::array({std::move(location)});
}

class Results {
 public:
  Results(const Diagnosis& diagnosis, Artifacts& artifacts) : network_(diagnosis), artifacts_(artifacts) {}

  Json of(const Finding& finding) {
    Json result{{"ruleId", finding.id}};
    const auto types = finding_types();
    const auto rule = std::find_if(types.begin(), types.end(), [&](const auto& type) { return type.id == finding.id; });
    if (rule != types.end()) result["ruleIndex"] = rule - types.begin();
    result["level"] = finding.kind == FindingKind::warning ? "warning" : "error";
    result["message"] = result_message(finding, network_);
    if (Json place = location(finding); !place.empty()) result["locations"] = Json::array({std::move(place)});
    if (finding.consequence_of) result["relatedLocations"] = related_locations(finding, network_);
    result["partialFingerprints"] = Json{{kFingerprint, fingerprint(finding)}};
    result["properties"] = result_properties(finding);
    return result;
  }

 private:
  Json location(const Finding& finding) {
    Json place = Json::object();
    if (Json file = artifacts_.location(finding.suspect); !file.is_null())
      place["physicalLocation"] = Json{{"artifactLocation", std::move(file)}};
    if (has_logical_location(finding))
      place["logicalLocations"] = Json::array({logical_location(finding.op_index, finding.op, finding.node)});
    return place;
  }

  /// Two findings may agree in all that identifies them (names need not be unique, an operator has several outputs):
  /// they are numbered.
  std::string fingerprint(const Finding& finding) {
    const std::string& name = finding.op.empty() ? finding.node : finding.op;
    const std::string what = fmt::format("{}/{}/{}", finding.cause, finding.op_type, name);
    return fmt::format("{}/{}/{}/{}", finding.cause, finding.op_type, ++seen_[what], name);
  }

  Network network_;
  Artifacts& artifacts_;
  std::map<std::string, int> seen_;
};

// --- The run ---------------------------------------------------------------------------------------------------------

Json notification(const char* level, std::string_view text) {
  return Json{{"level", level}, {"message", message(text)}};
}

Json not_judged_notification(const NotJudged& row) {
  Json out = notification("warning", fmt::format("{} was not judged: {}", op_title(row.op_type, row.op), row.reason));
  if (row.op_index >= 0)
    out["locations"] =
        Json::array({Json{{"logicalLocations", Json::array({logical_location(row.op_index, row.op, "")})}}});
  return out;
}

Json notifications(const Diagnosis& d) {
  Json list = Json::array();
  if (d.verdict == Verdict::inconclusive || d.verdict == Verdict::load_failed)
    list.push_back(notification("warning", fmt::format("The verdict is {}: {}", name_of(d.verdict), d.summary)));
  if (d.run.dump.empty())
    list.push_back(notification("warning", "No operator was judged: there is no dump"));
  else
    for (const NotJudged& row : d.coverage.not_judged) list.push_back(not_judged_notification(row));
  for (const std::string& note : d.notes) list.push_back(notification("note", note));
  return list;
}

Json invocation_json(const Diagnosis& d, std::string_view command) {
  Json invocation = Json::object();
  if (!command.empty()) invocation["commandLine"] = command;
  invocation["executionSuccessful"] = true;
  invocation["exitCode"] = d.verdict == Verdict::clean ? 0 : 1;
  invocation["toolExecutionNotifications"] = notifications(d);
  return invocation;
}

Json run_properties(const Diagnosis& d) {
  return Json{{"verdict", name_of(d.verdict)},
              {"summary", d.summary},
              {"coverage", Json{{"ops_total", d.coverage.ops_total},
                                {"ops_set_aside", d.coverage.ops_set_aside},
                                {"ops_dumped", d.coverage.ops_dumped},
                                {"ops_judged", d.coverage.ops_judged}}},
              {"run", run_json(d.run)}};
}

Json base_ids() {
  return Json{
      {kMnnRoot, Json{{"description", Json{{"text", "The root of MNN's source tree, of the version that ran."}}}}}};
}

}  // namespace

std::string uri_of_path(std::string_view path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    // RFC 3986: the unreserved characters, and the slash between segments. A colon is encoded, so that no first segment
    // looks like a scheme.
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || std::string_view("-._~/").find(c) != std::string_view::npos)
      uri += c;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

std::string to_sarif(const Diagnosis& d, std::string_view version, std::string_view command) {
  Artifacts artifacts(d.model);
  Results results(d, artifacts);
  Json list = Json::array();
  for (const Finding& finding : d.findings) list.push_back(results.of(finding));
  Json run{{"tool", Json{{"driver", driver_json(version)}}},
           {"invocations", Json::array({invocation_json(d, command)})},
           {"originalUriBaseIds", base_ids()},
           {"artifacts", std::move(artifacts).list()},
           {"results", std::move(list)},
           {"properties", run_properties(d)}};
  return dump_json(Json{{"$schema", kSchema}, {"version", kVersion}, {"runs", Json::array({std::move(run)})}});
}

}  // namespace qnndbg
