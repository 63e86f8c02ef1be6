#include <fmt/format.h>

#include <vector>

#include "report/comparison_view.h"
#include "report/finding_text.h"
#include "report/markdown_text.h"
#include "report/style.h"
#include "report/summary.h"

namespace qnndbg {
namespace {

constexpr std::size_t kFindings = 30;
constexpr std::size_t kOperators = 30;

std::string state_of(const std::optional<Finding>& finding, const std::optional<OperatorRow>& row) {
  std::vector<std::string> parts;
  if (finding) {
    if (finding->local_error && finding->local_error->bound_ratio)
      parts.push_back(figure(*finding->local_error->bound_ratio) + " bound units");
    if (!finding->cause.empty()) parts.push_back(markdown_code(finding->cause));
    if (finding->proven) parts.emplace_back("proven");
  } else if (row) {
    parts.push_back(status_text(row->status));
    if (row->bound_ratio) parts.push_back(figure(*row->bound_ratio) + " bound units");
  }
  return parts.empty() ? std::string("not there") : fmt::format("{}", fmt::join(parts, ", "));
}

std::string finding_of(const ComparedFinding& f) {
  const Finding& shown = f.shown();
  std::string out = fmt::format("- **{}** {}", name_of(f.change), markdown_code(shown.id));
  if (shown.op_index >= 0)
    out += fmt::format(" {} {} {}", markdown_code(fmt::format("#{}", shown.op_index)), markdown_code(shown.op_type),
                       markdown_code(shown.op));
  else if (!shown.node.empty())
    out += " " + markdown_code(shown.node);
  out += fmt::format("\n  - before: {}\n  - after: {}\n", state_of(f.before, f.operator_before),
                     state_of(f.after, f.operator_after));
  if (!f.reason.empty()) out += fmt::format("  - {}\n", markdown_sentence(f.reason));
  return out;
}

std::string findings_of(const Comparison& c) {
  if (c.findings.empty()) return {};
  std::string out = "\n### Findings\n\n";
  const std::size_t shown = std::min(c.findings.size(), kFindings);
  for (std::size_t i = 0; i < shown; ++i) out += finding_of(c.findings[i]);
  if (shown < c.findings.size()) out += fmt::format("\nand {} more.\n", c.findings.size() - shown);
  return out;
}

std::string operators_of(const Comparison& c) {
  std::string list;
  std::size_t all = 0;
  for (const ComparedOperator& row : c.operators) {
    if (row.after.status != OpStatus::not_judged || ++all > kOperators) continue;
    list +=
        fmt::format("- {} {} {}: {}\n", markdown_code(fmt::format("#{}", row.after.index)),
                    markdown_code(row.after.type), markdown_code(row.after.name), markdown_sentence(row.after.reason));
  }
  if (all > kOperators) list += fmt::format("\nand {} more.\n", all - kOperators);
  return list.empty() ? list : "\n### No longer judged\n\n" + list;
}

std::string facts_of(const Comparison& c) {
  std::string list;
  const auto value = [](const std::string& text) {
    return text.empty() ? std::string("not known") : markdown_code(text);
  };
  for (const ComparedFact& fact : c.facts)
    list += fmt::format("- {}: {} before, {} after\n", markdown_code(fact.what), value(fact.before), value(fact.after));
  if (!c.removed.empty() || !c.added.empty())
    list += fmt::format("- operators only before: {}, only after: {}\n", c.removed.size(), c.added.size());
  return list.empty() ? list : "\n### The runs differ\n\n" + list;
}

std::string ends_of(const Comparison& c) {
  std::string list;
  for (const ComparedOutput& row : c.outputs)
    list += fmt::format("- {} {}: {} before, {} after\n", markdown_code(row.after.type), markdown_code(row.after.name),
                        figure(row.before.end_to_end->max_rel), figure(row.after.end_to_end->max_rel));
  return list.empty() ? list : "\n### End-to-end error, as a share of the maximum\n\n" + list;
}

std::string list_of(std::string_view label, const std::vector<std::string>& what) {
  std::string out;
  for (const std::string& text : what) out += fmt::format("- **{}:** {}\n", label, markdown_sentence(text));
  return out;
}

}  // namespace

std::string comparison_markdown(const Comparison& c, std::string_view version, std::string_view command) {
  std::string out = fmt::format("## qnn-debug {}: comparison {}\n\n{}\n\n- **Before:** {}\n- **After:** {}\n", version,
                                markdown_code(outcome_of(c)), markdown_sentence(comparison_summary(c)),
                                markdown_sentence(run_text(c.before)), markdown_sentence(run_text(c.after)));
  out += list_of("Worse", what_got_worse(c)) + list_of("Better", what_got_better(c));
  out += findings_of(c) + operators_of(c) + ends_of(c) + facts_of(c);
  if (!command.empty()) out += "\n### Command\n\n" + markdown_block(terminal_safe(command));
  return out;
}

}  // namespace qnndbg
