#include "diagnose/log_evidence.h"

#include <algorithm>
#include <map>

#include "dump/dump.h"
#include "knowledge/codes.h"
#include "knowledge/findings.h"
#include "knowledge/log_words.h"
#include "knowledge/mnn_backend.h"
#include "knowledge/soc.h"

namespace qnndbg {
namespace {

constexpr std::size_t kMaxReasons = 4;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// Classes of failures after which no graph runs.
bool prevents_running(std::string_view class_id) {
  constexpr std::string_view kClasses[] = {
      "library_not_found", "sdk_mix",           "version_mismatch",           "skel_load_failed",
      "permission_denied", "soc_arch_mismatch", "device_create_failed",       "context_refused",
      "out_of_memory",     "backend_not_built", "finalize_op_not_created",    "finalize_graph_too_large",
      "finalize_tcm",      "conversion_crash",  "finalize_weights_not_mapped"};
  return std::find(std::begin(kClasses), std::end(kClasses), class_id) != std::end(kClasses);
}

std::string line_words(const EvidenceLine& line) {
  return fmt::format("log line {}: {}", line.line, message_of(line.text));
}

/// "3110 = 0xc26 QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE"
std::string code_words(int number) {
  const ErrorCode* code = find_error_code(std::int64_t{number});
  return code == nullptr ? fmt::format("{} = {:#x}", number, number)
                         : fmt::format("{} = {:#x} {}", number, number, code->name);
}

/// From the names of QNN nodes to operators of the model.
class NodeNames {
 public:
  explicit NodeNames(const Graph& graph) : graph_(graph), names_(graph) {
    for (const OpNode& op : graph.ops)
      if (!op.name.empty()) operators_.try_emplace(qnn_node_name(op.name), op.index);
  }

  /// The operator that a QNN node belongs to; nullptr when MNN inserted the node, or when its name does not tell.
  const OpNode* operator_of(std::string_view node) const {
    // MNN's own messages have the operator's name as it is, QNN's the node's.
    const std::string name = qnn_node_name(node);
    // An operator may be called like a tensor ("t5"), which a dump's names would take it for.
    if (const auto exact = operators_.find(name); exact != operators_.end()) return &graph_.ops[at(exact->second)];
    const DumpRole role = names_.role(name);
    if (role.kind == DumpRole::Kind::stage) return &graph_.ops[at(role.op)];
    // "LayerNorm_I_29_O_30": a type and counters of the backend, which tell the operator if it is the only one.
    const std::size_t counters = node.find("_I_");
    return counters == std::string::npos ? nullptr : only_one_of_type(node.substr(0, counters));
  }

  /// The model's only operator of this type; nullptr when it has none or several.
  const OpNode* only_one_of_type(std::string_view type) const {
    const auto is_type = [&](const OpNode& op) { return op.type_name == type; };
    const auto found = std::find_if(graph_.ops.begin(), graph_.ops.end(), is_type);
    if (found == graph_.ops.end() || std::find_if(found + 1, graph_.ops.end(), is_type) != graph_.ops.end())
      return nullptr;
    return &*found;
  }

 private:
  const Graph& graph_;
  const DumpNames names_;
  std::map<std::string, int> operators_;  // by node name
};

class LogJoiner {
 public:
  LogJoiner(const Graph& graph, const Explanation& log, Diagnosis& out)
      : graph_(graph), names_(graph), log_(log), out_(out) {}

  void join() {
    for (const LogNode& node : log_.facts.nodes) {
      if (node.fate == NodeFate::refused) add_rejected(node);
      if (node.fate == NodeFate::unregistered) add_unregistered(node);
    }
    if (out_.coverage.ops_dumped == 0) add_load_findings();
    mark_consequences();
  }

 private:
  static Finding make(FindingKind kind, std::string_view cause, const OpNode* op, std::string_view node,
                      std::string_view node_type) {
    const FindingType& type = finding_type(cause);
    Finding finding;
    finding.id = type.id;
    finding.kind = kind;
    finding.cause = cause;
    finding.node = node;
    finding.next_steps.emplace_back(type.next);
    if (op != nullptr) {
      finding.op = op->name;
      finding.op_index = op->index;
      finding.op_type = op->type_name;
      if (!op->outputs.empty()) finding.tensor = tensor_id(op->outputs[0]);
    } else {
      finding.op_type = node_type;
    }
    return finding;
  }

  void add_rejected(const LogNode& node) {
    const OpNode* op = names_.operator_of(node.name);
    Finding finding = make(FindingKind::rejected, "node_rejected", op, node.name, node.type);
    finding.title =
        fmt::format("QNN refused node `{}`{}: {}", node.name, node.type.empty() ? "" : fmt::format(" ({})", node.type),
                    node.code == 0 ? "no code is in the log" : code_words(node.code));
    finding.proven = true;  // the library's own words
    for (std::size_t i = 0; i < std::min(node.reasons.size(), kMaxReasons); ++i)
      finding.evidence.push_back(
          fmt::format("library says (log line {}): {}", node.reasons[i].line, reason_words(node.reasons[i])));
    if (const std::string difference = datatype_difference(node); !difference.empty())
      finding.evidence.push_back(difference);
    if (node.reasons.empty()) finding.evidence.push_back(line_words(node.first));
    if (op != nullptr) {
      finding.evidence.push_back(verdict_of(*op));
      add_hint(node, *op, finding);
      refused_.push_back(op->index);
    }
    out_.findings.push_back(std::move(finding));
  }

  /// What is known about this refusal, and the file to open.
  static void add_hint(const LogNode& node, const OpNode& op, Finding& finding) {
    const std::string_view file = mnn_execution_file(op.type_name);
    if (!file.empty()) finding.suspect = Suspect{std::string(file), "", "", ""};
    std::vector<std::string_view> patterns;
    for (const int pattern : node.reason_patterns) patterns.emplace_back(log_patterns()[at(pattern)].id);
    const RefusalHint* hint = find_refusal_hint(op.type_name, patterns);
    if (hint == nullptr) return;
    finding.evidence.push_back(fmt::format("known: {}", hint->why));
    finding.next_steps.insert(finding.next_steps.begin(), fmt::format("until it is fixed: {}", hint->until_then));
  }

  /// A refused node is not always wrong.
  std::string verdict_of(const OpNode& op) const {
    switch (out_.operators[at(op.index)].status) {
      case OpStatus::broken:
      case OpStatus::consequence: return "the dump shows that it computed wrongly";
      case OpStatus::right:
      case OpStatus::inherited: return "the dump shows that it computed rightly all the same";
      default: return "its output could not be judged";
    }
  }

  void add_unregistered(const LogNode& node) {
    const OpNode* op = names_.operator_of(node.name);
    std::string type = node.type;
    if (op == nullptr && type.empty()) type = fmt::format("OpType {}", node.mnn_type);
    Finding finding = make(FindingKind::unregistered, "op_unregistered", op, "", type);
    if (op == nullptr) finding.op = node.name;
    finding.title = fmt::format("{} `{}` {}", finding.op_type, finding.op, finding_type("op_unregistered").title);
    finding.proven = true;
    finding.evidence.push_back(line_words(node.first));
    out_.findings.push_back(std::move(finding));
  }

  bool has_unregistered() const {
    return std::any_of(out_.findings.begin(), out_.findings.end(),
                       [](const Finding& f) { return f.kind == FindingKind::unregistered; });
  }

  bool saw(std::string_view pattern) const {
    return std::find(log_.patterns.begin(), log_.patterns.end(), pattern) != log_.patterns.end();
  }

  void add_load_findings() {
    const auto type = log_.facts.values.find("type");
    if (saw("mnn-encode-error") || saw("mnn-form-unsupported")) {
      add_load("encode_failed", type == log_.facts.values.end() ? "" : type->second);
    } else if (saw("mnn-finalize-failed") || log_.class_id.starts_with("finalize_")) {
      add_load("finalize_failed", "");
    } else if (prevents_running(log_.class_id) ||
               (!has_unregistered() &&
                (saw("mnn-execute-failed") || saw("mnn-resize-failed") || log_.class_id == "op_unregistered"))) {
      add_load("load_error", "");
    }
  }

  void add_load(std::string_view cause, std::string_view type) {
    const OpNode* op = type.empty() ? node_not_created() : names_.only_one_of_type(type);
    Finding finding = make(FindingKind::load, cause, op, "", type);
    finding.title = log_.summary;
    finding.proven = log_.confidence == Confidence::high;
    if (op != nullptr)
      if (const std::string_view file = mnn_execution_file(op->type_name); !file.empty())
        finding.suspect = Suspect{std::string(file), "", "", ""};
    // Where a refused node comes first, the failure follows from it, and its finding has the rest.
    const auto refused = std::find_if(out_.findings.begin(), out_.findings.end(), [](const Finding& f) {
      return f.kind == FindingKind::rejected && f.op_index >= 0;
    });
    if (refused != out_.findings.end()) {
      finding.consequence_of = refused->op_index;
      finding.title = fmt::format("the graph {}", finding_type(cause).title);
      finding.evidence.push_back(log_.summary);
    } else {
      add_evidence(finding);
      finding.next_steps = log_.next_steps;
    }
    out_.findings.push_back(std::move(finding));
  }

  void add_evidence(Finding& finding) const {
    for (const EvidenceLine& line : log_.evidence) {
      if (finding.evidence.size() == kMaxReasons) break;
      finding.evidence.push_back(line_words(line));
    }
  }

  const OpNode* node_not_created() const {
    for (const LogNode& node : log_.facts.nodes)
      if (node.fate == NodeFate::not_created || !node.kernel.empty()) return names_.operator_of(node.name);
    return nullptr;
  }

  void mark_consequences() {
    if (refused_.empty()) return;
    std::vector<int> source(graph_.tensors.size(), -1);  // the refused operator that a tensor comes from
    for (const OpNode& op : graph_.ops) {
      int from = std::find(refused_.begin(), refused_.end(), op.index) == refused_.end() ? -1 : op.index;
      for (const int input : op.inputs)
        if (from < 0 && input >= 0) from = source[at(input)];
      for (const int output : op.outputs) source[at(output)] = from;
      if (from >= 0) mark(op.index, from);
    }
  }

  void mark(int op, int from) {
    OperatorRow& row = out_.operators[at(op)];
    if (row.status == OpStatus::broken) row.status = OpStatus::consequence;
    for (Finding& finding : out_.findings)
      if (finding.op_index == op && (finding.kind == FindingKind::bug || finding.kind == FindingKind::range))
        finding.consequence_of = from;
  }

  const Graph& graph_;
  const NodeNames names_;
  const Explanation& log_;
  Diagnosis& out_;
  std::vector<int> refused_;
};

}  // namespace

void name_operators(const Model& model, Explanation& log) {
  const NodeNames names(model.graph());
  for (LogNode& node : log.facts.nodes) {
    const OpNode* op = names.operator_of(node.name);
    if (op == nullptr) continue;
    node.op = op->name;
    node.op_index = op->index;
  }
}

std::string arch_of_log(const Explanation& log) {
  if (const std::optional<int> arch = parse_arch(log.facts.arch)) return arch_name(*arch);
  if (const Soc* soc = find_soc(log.facts.soc); soc != nullptr && soc->arch != 0) return arch_name(soc->arch);
  return "";
}

void join_log(const Model& model, const Explanation& log, Diagnosis& diagnosis) {
  LogJoiner(model.graph(), log, diagnosis).join();
  RunInfo& run = diagnosis.run;
  if (run.soc.empty()) run.soc = log.facts.soc;
  if (run.arch == "unknown")
    if (const std::string arch = arch_of_log(log); !arch.empty()) run.arch = arch;
  const auto version = [&](const char* name) {
    const auto found = log.facts.versions.find(name);
    return found == log.facts.versions.end() ? std::string() : found->second;
  };
  if (run.library.empty()) run.library = version("sdk");
  if (run.mnn.empty()) run.mnn = version("mnn");
}

}  // namespace qnndbg
