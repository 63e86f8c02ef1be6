#include "qnn/validate.h"

#include <algorithm>
#include <map>
#include <set>

#include "knowledge/explanation.h"

namespace qnndbg::qnn {
namespace {

constexpr std::size_t kMostReasons = 64;

/// Lines that only say that there was a refusal.
bool is_headline(std::string_view line) {
  return line.find("validateNativeOps") != std::string_view::npos ||
         line.find("validateOpConfig failed") != std::string_view::npos ||
         line.find("Failed to validate op") != std::string_view::npos ||
         line.find("Op specific validation failed") != std::string_view::npos;
}

std::vector<std::string> reasons_of(const std::vector<LogLine>& log) {
  std::vector<std::string> reasons;
  for (const LogLine& line : log) {
    if (line.level != abi::LogLevel::error || reasons.size() == kMostReasons) continue;
    std::string text = message_of(line);
    if (text.empty() || is_headline(text) || std::find(reasons.begin(), reasons.end(), text) != reasons.end()) continue;
    reasons.push_back(std::move(text));
  }
  return reasons;
}

/// Tensors by name: a graph has thousands.
class TensorIndex {
 public:
  explicit TensorIndex(const GraphSpec& graph) : graph_(graph) {
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) positions_.emplace(graph.tensors[i].name, i);
  }

  /// The tensors that a node names, without those of all other nodes: weights are large.
  std::vector<TensorSpec> tensors_of(const NodeSpec& node) const {
    std::set<std::size_t> named;
    for (const std::vector<std::string>* names : {&node.inputs, &node.outputs})
      for (const std::string& name : *names)
        if (const auto found = positions_.find(name); found != positions_.end()) named.insert(found->second);
    std::vector<TensorSpec> tensors;
    for (const std::size_t position : named) tensors.push_back(graph_.tensors[position]);
    return tensors;
  }

 private:
  const GraphSpec& graph_;
  std::map<std::string, std::size_t, std::less<>> positions_;
};

/// The first `count` nodes with the tensors that they name.
GraphSpec first_nodes(const GraphSpec& graph, std::size_t count) {
  GraphSpec part{.name = graph.name};
  part.nodes.assign(graph.nodes.begin(), graph.nodes.begin() + static_cast<std::ptrdiff_t>(count));
  std::set<std::string_view> named;
  for (const NodeSpec& node : part.nodes) {
    named.insert(node.inputs.begin(), node.inputs.end());
    named.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const TensorSpec& tensor : graph.tensors)
    if (named.contains(tensor.name)) part.tensors.push_back(tensor);
  return part;
}

class Validator {
 public:
  Validator(Engine& engine, const Model& model, const ModelGraph& graph, const ValidateOptions& options)
      : engine_(engine), model_(model), graph_(graph), tensors_(graph.spec()), options_(options) {}

  CallResult<ValidationReport> run() {
    report_.session = engine_.info();
    list_operators();
    const std::vector<NodeSpec>& nodes = graph_.spec().nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (options_.progress && !options_.progress(i, nodes.size(), nodes[i].name))
        return fail(Failure::stopped, "interrupted");
      CallResult<NodeAnswer> answer = ask(nodes[i]);
      if (!answer) return fail(std::move(answer.error()));
      OperatorAnswer& op = operator_of(graph_.source().nodes[i].op);
      if (!answer->accepted) op.acceptance = Acceptance::refused;
      op.nodes.push_back(std::move(*answer));
    }
    if (options_.finalize && graph_.source().unmapped.empty()) {
      if (auto tried = try_finalize(); !tried) return fail(std::move(tried.error()));
    }
    return std::move(report_);
  }

 private:
  void list_operators() {
    std::set<int> mapped;
    for (const QnnGraphNode& node : graph_.source().nodes) mapped.insert(node.op);
    for (const OpNode& op : model_.graph().ops) {
      OperatorAnswer answer;
      answer.op_index = op.index;
      answer.op = op.name;
      answer.op_type = op.type_name;
      if (mapped.contains(op.index)) answer.acceptance = Acceptance::accepted;
      report_.operators.push_back(std::move(answer));
    }
    for (const QnnUnmappedOp& unmapped : graph_.source().unmapped) {
      OperatorAnswer& answer = report_.operators[static_cast<std::size_t>(unmapped.op)];
      answer.acceptance = Acceptance::unmapped;
      answer.refusal = unmapped.refusal;
    }
    if (mapped.contains(-1)) {
      OperatorAnswer inserted;
      inserted.acceptance = Acceptance::accepted;
      report_.operators.push_back(std::move(inserted));
    }
  }

  OperatorAnswer& operator_of(int op) {
    return op < 0 ? report_.operators.back() : report_.operators[static_cast<std::size_t>(op)];
  }

  CallResult<NodeAnswer> ask(const NodeSpec& node) {
    NodeAnswer answer;
    answer.node = node.name;
    answer.type = node.type;
    const CallResult<Verdict> verdict = engine_.worker().validate(node, tensors_.tensors_of(node));
    if (verdict) {
      answer.accepted = verdict->accepted;
      answer.code = verdict->code;
      if (!verdict->accepted) answer.reasons = reasons_of(verdict->log);
      return answer;
    }
    const CallError& error = verdict.error();
    if (error.failure == Failure::stopped) return fail(error);
    answer.failure = error.message;
    answer.reasons = reasons_of(error.log);
    if (auto back = engine_.restart_if_gone(); !back) return fail(std::move(back.error()));
    return answer;
  }

  CallResult<void> try_finalize() {
    FinalizeAnswer& answer = report_.finalize;
    answer.tried = true;
    CallResult<FinalizeReport> ready = engine_.worker().finalize(graph_.spec(), {});
    if (ready) {
      answer.finalized = true;
      answer.microseconds = ready->microseconds;
      answer.log = std::move(ready->log);
      return {};
    }
    CallError error = std::move(ready.error());
    if (error.failure == Failure::stopped) return fail(std::move(error));
    answer.message = error.message;
    answer.code = error.code;
    answer.log = std::move(error.log);
    answer.node = node_in(answer.log);
    if (auto back = engine_.restart_if_gone(); !back) return back;
    if (answer.node.empty()) {
      if (auto found = halve(answer.node); !found) return found;
    }
    for (const QnnGraphNode& node : graph_.source().nodes)
      if (node.name == answer.node) answer.op_index = node.op;
    return {};
  }

  /// The node that the library's lines name.
  std::string node_in(const std::vector<LogLine>& log) const {
    const LogRecord record = read_log(log_text(log));
    for (const LogNode& node : record.nodes)
      if (node.not_created) return node.name;
    return {};
  }

  /// The first node that finalizing fails at: the graph of all nodes before it can be finalized.
  CallResult<void> halve(std::string& node) {
    std::size_t good = 0;
    std::size_t bad = graph_.spec().nodes.size();
    while (bad - good > 1) {
      const std::size_t middle = good + (bad - good) / 2;
      const CallResult<FinalizeReport> ready = engine_.worker().finalize(first_nodes(graph_.spec(), middle), {});
      if (!ready && ready.error().failure == Failure::stopped) return fail(ready.error());
      (ready ? good : bad) = middle;
      if (auto back = engine_.restart_if_gone(); !back) return back;
    }
    if (bad > 0) node = graph_.spec().nodes[bad - 1].name;
    return {};
  }

  Engine& engine_;
  const Model& model_;
  const ModelGraph& graph_;
  const TensorIndex tensors_;
  const ValidateOptions& options_;
  ValidationReport report_;
};

}  // namespace

std::string_view name_of(Acceptance acceptance) {
  switch (acceptance) {
    case Acceptance::accepted: return "accepted";
    case Acceptance::refused: return "refused";
    case Acceptance::unmapped: return "unmapped";
    case Acceptance::set_aside: return "set_aside";
  }
  return "";
}

bool ValidationReport::all_accepted() const {
  const bool operators_accepted = std::all_of(operators.begin(), operators.end(), [](const OperatorAnswer& answer) {
    return answer.acceptance == Acceptance::accepted || answer.acceptance == Acceptance::set_aside;
  });
  return operators_accepted && (!finalize.tried || finalize.finalized);
}

CallResult<ValidationReport> validate_model(Engine& engine, const Model& model, const ModelGraph& graph,
                                            const ValidateOptions& options) {
  return Validator(engine, model, graph, options).run();
}

}  // namespace qnndbg::qnn
