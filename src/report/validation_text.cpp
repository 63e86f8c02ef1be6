#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "knowledge/codes.h"
#include "knowledge/mnn_backend.h"
#include "report/validation.h"

namespace qnndbg {
namespace {

constexpr std::size_t kGutter = 6;  // "   |  "
constexpr std::size_t kMostReasons = 8;
constexpr std::size_t kSlowest = 10;

std::size_t width_of(const TextStyle& style) { return static_cast<std::size_t>(std::max(style.width, 40)); }

std::string row(const TextStyle& style, std::string_view text) {
  const std::string wrapped = wrap(text, kGutter, width_of(style));
  std::string out = "   |  ";
  for (std::size_t begin = 0;;) {
    const std::size_t end = wrapped.find('\n', begin);
    out += wrapped.substr(begin, end - begin) + '\n';
    if (end == std::string::npos) return out;
    out += "   |";
    begin = end + 1 + 4;
  }
}

std::string target_text(const qnn::SessionInfo& session, bool default_target) {
  std::string text = fmt::format("SoC {}", session.target.soc);
  if (session.target.arch != 0) text += fmt::format(", v{}", session.target.arch);
  if (default_target) text += " (the newest that the library knows; --soc)";
  return text;
}

std::string library_text(const qnn::LibraryInfo& library) {
  return fmt::format("{} {}", terminal_safe(library.provider),
                     library.build_id.empty() ? library.core_api : terminal_safe(library.build_id));
}

std::string code_text(std::uint32_t code) {
  const ErrorCode* known = find_error_code(static_cast<std::int64_t>(code));
  return known == nullptr ? fmt::format("{} = {:#x}", code, code)
                          : fmt::format("{} = {:#x} {}", code, code, known->name);
}

std::string title(const qnn::OperatorAnswer& answer) {
  if (answer.op_index < 0) return "a node that MNN inserts";
  return fmt::format("{} `{}`", answer.op_type, terminal_safe(answer.op));
}

std::string node_text(const qnn::NodeAnswer& node, const TextStyle& style) {
  std::string out = row(style, fmt::format("node `{}` ({}){}", terminal_safe(node.node), terminal_safe(node.type),
                                           node.code == 0 ? "" : ": " + code_text(node.code)));
  if (!node.failure.empty()) out += row(style, terminal_safe(node.failure));
  const std::size_t shown = style.verbosity > 0 ? node.reasons.size() : std::min(node.reasons.size(), kMostReasons);
  for (std::size_t i = 0; i < shown; ++i) out += row(style, "library says: " + terminal_safe(node.reasons[i]));
  if (shown < node.reasons.size())
    out += row(style,
               fmt::format("and {} (-v)", plural(static_cast<long long>(node.reasons.size() - shown), "more line")));
  return out;
}

std::string refused_text(const qnn::OperatorAnswer& answer, const TextStyle& style) {
  const bool unmapped = answer.acceptance == qnn::Acceptance::unmapped;
  std::string out =
      fmt::format("\n{} {} {}\n", paint(style, Paint::error, unmapped ? "error[QD0501]:" : "error[QD0401]:"),
                  title(answer), unmapped ? "cannot be written as QNN nodes" : "is refused");
  if (answer.op_index >= 0) out += fmt::format("  --> operator #{}\n", answer.op_index);
  if (answer.refusal)
    out += row(style, fmt::format("{}: {}", name_of(answer.refusal->kind), terminal_safe(answer.refusal->reason)));
  for (const qnn::NodeAnswer& node : answer.nodes)
    if (!node.accepted) out += node_text(node, style);
  if (const std::string_view file = mnn_execution_file(answer.op_type); !file.empty())
    out += fmt::format("   = open  {}\n", file);
  return out;
}

/// "Convolution 16, ReLU 4": the operators that are accepted.
std::string accepted_text(const qnn::ValidationReport& report) {
  std::map<std::string, int> counts;
  for (const qnn::OperatorAnswer& answer : report.operators)
    if (answer.acceptance == qnn::Acceptance::accepted && answer.op_index >= 0) ++counts[answer.op_type];
  std::vector<std::string> parts;
  for (const auto& [type, count] : counts) parts.push_back(fmt::format("{} {}", terminal_safe(type), count));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string finalize_text(const qnn::ValidationReport& report, const TextStyle& style) {
  const qnn::FinalizeAnswer& answer = report.finalize;
  if (!answer.tried) return "finalize: not tried\n";
  if (answer.finalized)
    return fmt::format("finalize: done in {:.2f} s\n", static_cast<double>(answer.microseconds) * 1e-6);
  std::string out = fmt::format("\n{} {}\n", paint(style, Paint::error, "error[QD0503]:"),
                                wrap(terminal_safe(answer.message), 16, width_of(style)));
  if (!answer.node.empty()) out += row(style, fmt::format("it stops at node `{}`", terminal_safe(answer.node)));
  if (answer.op_index >= 0) {
    const qnn::OperatorAnswer& op = report.operators[static_cast<std::size_t>(answer.op_index)];
    out += row(style, fmt::format("operator #{}, {}", answer.op_index, title(op)));
  }
  const std::string first = qnn::first_error(answer.log);
  if (!first.empty()) out += row(style, "library says: " + terminal_safe(first));
  return out;
}

void collect_events(const std::vector<qnn::ProfileEvent>& events, std::vector<const qnn::ProfileEvent*>& nodes) {
  constexpr std::uint32_t kNode = 404;
  for (const qnn::ProfileEvent& event : events) {
    if (event.type == kNode) nodes.push_back(&event);
    collect_events(event.children, nodes);
  }
}

std::string profile_text(const std::vector<qnn::ProfileEvent>& profile) {
  std::vector<const qnn::ProfileEvent*> nodes;
  collect_events(profile, nodes);
  std::stable_sort(nodes.begin(), nodes.end(), [](const auto* a, const auto* b) { return a->value > b->value; });
  nodes.resize(std::min(nodes.size(), kSlowest));
  std::string out = nodes.empty() ? "" : "most expensive nodes, in the library's figures:\n";
  for (const qnn::ProfileEvent* node : nodes)
    out += fmt::format("  {:>12}  {}\n", node->value, terminal_safe(node->name));
  return out;
}

}  // namespace

std::string validation_text(const qnn::ValidationReport& report, const ModelInfo& model, const TextStyle& style) {
  std::string out =
      fmt::format("{}   {}: {}, {}, {}\n", paint(style, Paint::bold, fmt::format("qnn-debug {}", style.version)),
                  file_name(model.file), plural(model.operators, "operator"), library_text(report.session.library),
                  target_text(report.session, report.default_target));
  long long refused = 0;
  for (const qnn::OperatorAnswer& answer : report.operators) {
    if (answer.acceptance != qnn::Acceptance::refused && answer.acceptance != qnn::Acceptance::unmapped) continue;
    ++refused;
    out += refused_text(answer, style);
  }
  if (const std::string accepted = accepted_text(report); !accepted.empty())
    out += '\n' + wrap("accepted: " + accepted, 10, width_of(style)) + '\n';
  out += finalize_text(report, style);
  const bool good = report.all_accepted();
  out += paint(style, good ? Paint::good : Paint::error,
               good           ? "every operator is accepted"
               : refused == 0 ? "every operator is accepted, but the graph cannot be finalized"
                              : fmt::format("{} refused", plural(refused, "operator"))) +
         '\n';
  return out;
}

std::string emulation_text(const qnn::EmulationReport& report, const EmulationSettings& settings, std::string_view dump,
                           const TextStyle& style) {
  std::string out = fmt::format("{}   {}: {}, {}, as {} in {}\n",
                                paint(style, Paint::bold, fmt::format("qnn-debug {}", style.version)),
                                terminal_safe(settings.model), library_text(report.session.library),
                                target_text(report.session, report.default_target), settings.style, settings.precision);
  for (const qnn::NodeRefusal& refusal : report.refused)
    out += fmt::format("{} node `{}` was refused ({}): {}\n", paint(style, Paint::warning, "warning:"),
                       terminal_safe(refusal.node), code_text(refusal.verdict.code),
                       terminal_safe(qnn::first_error(refusal.verdict.log)));
  out += profile_text(report.profile);
  out += fmt::format("{} written to {}; finalize {:.2f} s, execute {:.2f} s\n",
                     plural(static_cast<long long>(report.tensors), "tensor"), terminal_safe(dump),
                     static_cast<double>(report.finalize_microseconds) * 1e-6,
                     static_cast<double>(report.execute_microseconds) * 1e-6);
  return out;
}

}  // namespace qnndbg
