#include "report/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/finding_text.h"
#include "report/markdown_text.h"
#include "report/network.h"
#include "report/style.h"
#include "report/summary.h"

namespace qnndbg {
namespace {

constexpr std::size_t kFindings = 20;  // whoever has more reads the document
constexpr std::size_t kNotJudged = 20;
constexpr std::size_t kNotes = 10;
constexpr std::size_t kBlockWidth = 100;

std::string bullet(std::string_view label, std::string_view text) { return fmt::format("- **{}:** {}\n", label, text); }

/// "and 3 more (qnn-debug report ...)" for lists that were cut.
std::string and_more(std::size_t all, std::size_t shown, std::string_view noun) {
  if (all <= shown) return {};
  return fmt::format("\nand {}; the document (`--format json`) has all.\n",
                     plural(static_cast<long long>(all - shown), fmt::format("more {}", noun)));
}

std::string operator_of(int index, const Network& network) {
  const OperatorRow* row = network.op(index);
  const std::string number = markdown_code(fmt::format("#{}", index));
  return row == nullptr ? number : fmt::format("{} {} {}", number, markdown_code(row->type), markdown_code(row->name));
}

std::string place_of(const Finding& finding, const Network& network, const Diagnosis& d) {
  std::vector<std::string> parts;
  if (finding.op_index >= 0)
    parts.push_back(
        fmt::format("operator {} of {}", markdown_code(fmt::format("#{}", finding.op_index)), d.model.operators));
  if (!finding.node.empty() && finding.node != finding.op) parts.push_back("QNN node " + markdown_code(finding.node));
  const std::string& tensor = finding.dump_tensor.empty() ? finding.tensor : finding.dump_tensor;
  if (!tensor.empty()) parts.push_back("tensor " + markdown_code(tensor));
  if (const TensorRow* row = network.dumped(finding.dump_tensor); row != nullptr)
    parts.push_back(fmt::format("{} {}", markdown_sentence(row->layout), to_string(row->device_dims)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string error_of(const ErrorFigure& error) {
  std::string text = error.bound_ratio ? fmt::format("{} bound units, ", figure(*error.bound_ratio)) : "";
  return text +
         fmt::format("max \\|error\\| {} = {} of max \\|reference\\|", figure(error.max_abs), figure(error.max_rel));
}

std::string cause_of(const Finding& finding) {
  std::string text = markdown_code(finding.cause);
  if (finding.proven)
    text += ", proven";
  else if (finding.kind == FindingKind::bug)
    text += ", not proven";
  std::vector<std::string> ties;
  for (const std::string& tie : finding.ties) ties.push_back(markdown_code(tie));
  return ties.empty() ? text : fmt::format("{}; reproduced equally well by {}", text, fmt::join(ties, ", "));
}

std::string suspect_of(const Suspect& suspect) {
  std::string text = markdown_code(suspect.file);
  if (!suspect.parameter.empty()) text += ", " + markdown_code(suspect.parameter);
  if (!suspect.used.empty() && !suspect.meant.empty())
    text += fmt::format(": {} was used, the model means {}", markdown_code(suspect.used), markdown_code(suspect.meant));
  return text;
}

std::string evidence_of(const Finding& finding) {
  std::string lines;
  for (const std::string& sentence : finding.evidence) lines += wrap(terminal_safe(sentence), 2, kBlockWidth) + '\n';
  return markdown_block(lines);
}

std::string section_of(const Finding& finding, const Network& network, const Diagnosis& d) {
  const bool warning = finding.kind == FindingKind::warning;
  std::string out = fmt::format("\n### {} {}: {}\n\n", warning ? "warning" : "error", markdown_code(finding.id),
                                markdown_sentence(finding.title));
  if (const std::string place = place_of(finding, network, d); !place.empty()) out += bullet("Where", place);
  if (!finding.cause.empty()) out += bullet("Cause", cause_of(finding));
  if (finding.local_error) out += bullet("Local error", error_of(*finding.local_error));
  if (finding.inherited_error)
    out += bullet("Inherited", fmt::format("its inputs differ from the fp32 baseline by {} of its maximum already",
                                           figure(finding.inherited_error->max_rel)));
  if (finding.consequence_of)
    out += bullet("A consequence of", *finding.consequence_of == finding.op_index
                                          ? "the refusal of this operator"
                                          : "the refusal of " + operator_of(*finding.consequence_of, network));
  if (finding.suspect) out += bullet("Open", suspect_of(*finding.suspect));
  for (const std::string& step : finding.next_steps) out += bullet("Try", markdown_sentence(step));
  if (!finding.evidence.empty()) out += '\n' + evidence_of(finding);
  return out;
}

std::string findings_of(const Diagnosis& d, const Network& network) {
  std::string out;
  const std::size_t shown = std::min(d.findings.size(), kFindings);
  for (std::size_t i = 0; i < shown; ++i) out += section_of(d.findings[i], network, d);
  return out + and_more(d.findings.size(), shown, "finding");
}

/// Not where it decides nothing beside a dump.
std::string log_of(const Diagnosis& d, std::span<const SimilarCase> cases) {
  const bool undecided = d.log && d.log->class_id == "not_decidable";
  if (!d.log || (undecided && !d.run.dump.empty())) return {};
  std::string out = fmt::format("\n### Log\n\n{}{}\n", undecided ? "" : markdown_code(d.log->class_id) + ": ",
                                markdown_sentence(d.log->summary));
  if (!cases.empty()) out += '\n';
  for (const SimilarCase& match : cases)
    out += bullet("Seen before", fmt::format("{} {} ({})", markdown_code(match.known.id),
                                             markdown_sentence(match.known.title), figure(match.similarity)));
  return out;
}

std::string coverage_of(const Diagnosis& d) {
  std::string out = "\n### Coverage\n\n" + markdown_sentence(status_counts_text(d, "")) + ".";
  if (const std::string judged = judged_text(d); !judged.empty()) out += ' ' + judged + '.';
  out += '\n';
  if (d.coverage.not_judged.empty() || d.run.dump.empty()) return out;
  out += "\nNot judged:\n\n";
  const std::size_t shown = std::min(d.coverage.not_judged.size(), kNotJudged);
  for (std::size_t i = 0; i < shown; ++i) {
    const NotJudged& row = d.coverage.not_judged[i];
    out += fmt::format("- {} {} {}: {}\n", markdown_code(fmt::format("#{}", row.op_index)), markdown_code(row.op_type),
                       markdown_code(row.op), markdown_sentence(row.reason));
  }
  return out + and_more(d.coverage.not_judged.size(), shown, "operator");
}

std::string notes_of(const Diagnosis& d) {
  if (d.notes.empty()) return {};
  std::string out = "\n### Notes\n\n";
  const std::size_t shown = std::min(d.notes.size(), kNotes);
  for (std::size_t i = 0; i < shown; ++i) out += fmt::format("- {}\n", markdown_sentence(d.notes[i]));
  return out + and_more(d.notes.size(), shown, "note");
}

std::string facts_of(const Diagnosis& d) {
  std::string out;
  if (!d.run.dump.empty()) out += bullet("Dump", markdown_code(d.run.dump));
  if (!d.run.log.empty()) out += bullet("Log", markdown_code(d.run.log));
  if (!d.run.library.empty()) out += bullet("Library", markdown_code(d.run.library));
  if (!d.run.mnn.empty()) out += bullet("MNN", markdown_code(d.run.mnn));
  if (!d.run.constant_rounding.empty()) out += bullet("Constants rounded", markdown_code(d.run.constant_rounding));
  if (d.run.tolerance_scale != 1) out += bullet("Bounds multiplied by", figure(d.run.tolerance_scale));
  if (!d.run.inputs_given && !d.run.dump.empty()) out += bullet("Inputs", "not given; the dump's own were trusted");
  return out;
}

}  // namespace

std::string to_markdown(const Diagnosis& d, std::string_view version, std::string_view command,
                        std::span<const SimilarCase> cases) {
  const Network network(d);
  std::string out = fmt::format("## qnn-debug {}: {}\n\n{}\n\n{}\n", version, markdown_code(name_of(d.verdict)),
                                markdown_sentence(d.summary), markdown_sentence(run_text(d)));
  out += findings_of(d, network) + log_of(d, cases) + coverage_of(d) + notes_of(d);
  if (const std::string facts = facts_of(d); !facts.empty()) out += "\n### Run\n\n" + facts;
  if (!command.empty()) out += "\n### Command\n\n" + markdown_block(terminal_safe(command) + '\n');
  return out;
}

}  // namespace qnndbg
