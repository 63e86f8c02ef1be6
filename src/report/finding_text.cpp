#include "report/finding_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/graph.h"
#include "report/table.h"

namespace qnndbg {
namespace {

constexpr std::size_t kLabel = 10;  // width of the row labels
constexpr std::size_t kShortestName = 8;
constexpr std::size_t kGutter = 6;  // "   |  "
constexpr std::size_t kMostInputs = 4;
constexpr std::size_t kMostConsumers = 2;

bool is_warning(const Finding& finding) { return finding.kind == FindingKind::warning; }

std::string label_of(const Finding& finding) {
  return fmt::format("{}[{}]", is_warning(finding) ? "warning" : "error", terminal_safe(finding.id));
}

std::string painted_label(const Finding& finding, const TextStyle& style) {
  return paint(style, is_warning(finding) ? Paint::warning : Paint::error, label_of(finding));
}

std::string head(const Finding& finding, const TextStyle& style) {
  const std::string label = label_of(finding) + ": ";
  const std::string wrapped = wrap(label + terminal_safe(finding.title), 0, static_cast<std::size_t>(style.width));
  return painted_label(finding, style) + ": " + paint(style, Paint::bold, wrapped.substr(label.size())) + '\n';
}

int operator_count(const Diagnosis& diagnosis) {
  return diagnosis.model.operators > 0 ? diagnosis.model.operators : diagnosis.coverage.ops_total;
}

/// "operator #25 of 91, tensor t25"
std::string place(const Finding& finding, const Diagnosis& diagnosis) {
  std::vector<std::string> parts;
  if (finding.op_index >= 0)
    parts.push_back(fmt::format("operator #{} of {}", finding.op_index, operator_count(diagnosis)));
  // The node of an operator is known by the operator's name.
  if (!finding.node.empty() && finding.node != qnn_node_name(finding.op))
    parts.push_back(fmt::format("QNN node `{}`", terminal_safe(finding.node)));
  const std::string& tensor = finding.dump_tensor.empty() ? finding.tensor : finding.dump_tensor;
  if (!tensor.empty()) parts.push_back(fmt::format("tensor {}", terminal_safe(tensor)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "  NHWC 1x32x32x24 (logical 1x24x32x32)"
std::string shape_of(const TensorRow& row) {
  std::string text = fmt::format("  {} {}", terminal_safe(row.layout), to_string(row.device_dims));
  if (row.dims != row.device_dims) text += fmt::format(" (logical {})", to_string(row.dims));
  return text;
}

std::string figure_or_dash(const std::optional<double>& value) { return value ? figure(*value) : std::string("-"); }

/// Constants and shapes carry no error.
bool is_set_aside(const OperatorRow* row) { return row != nullptr && row->status == OpStatus::set_aside; }

/// What stands beside an input: why it can be trusted, or not.
std::string input_remark(const OperatorRow* producer) {
  if (producer == nullptr) return "(no operator makes it)";
  switch (producer->status) {
    case OpStatus::right: return "(its own operator is right)";
    case OpStatus::inherited: return "(its own operator is right, but reads what a broken one made)";
    default: return fmt::format("(its own operator #{} is {})", producer->index, status_text(producer->status));
  }
}

struct FigureRow {
  std::string label;
  std::string tensor;
  std::string units;
  std::string remark;
};

/// Precondition: the finding has a local error.
FigureRow output_row(const Finding& finding, const Network& network) {
  FigureRow row;
  row.label = "output";
  row.tensor = terminal_safe(finding.dump_tensor.empty() ? finding.tensor : finding.dump_tensor);
  const ErrorFigure& error = *finding.local_error;
  row.units = figure_or_dash(error.bound_ratio);
  row.remark = fmt::format("max |error| {} = {} of max |reference|", figure(error.max_abs), figure(error.max_rel));
  const TensorRow* tensor = network.dumped(finding.dump_tensor);
  if (tensor != nullptr && tensor->within_bound && *tensor->within_bound < 1)
    row.remark += fmt::format(", {} % of the elements outside the bound", figure(100 * (1 - *tensor->within_bound)));
  return row;
}

std::vector<FigureRow> figure_rows(const Finding& finding, const Network& network) {
  std::vector<FigureRow> rows;
  const OperatorRow* op = network.op(finding.op_index);
  if (op != nullptr && finding.local_error) {
    for (const std::string& tensor : op->inputs) {
      if (rows.size() == kMostInputs) break;
      const OperatorRow* producer = network.producer(tensor);
      if (is_set_aside(producer)) continue;
      const std::string units = producer == nullptr ? "-" : figure_or_dash(producer->bound_ratio);
      rows.push_back({"input", terminal_safe(tensor), units, input_remark(producer)});
    }
  }
  if (finding.local_error) rows.push_back(output_row(finding, network));
  return rows;
}

std::string figures_text(const Finding& finding, const Network& network, const TextStyle& style) {
  std::vector<FigureRow> rows = figure_rows(finding, network);
  std::size_t tensor_width = 0;
  std::size_t units_width = 0;
  for (const FigureRow& row : rows) units_width = std::max(units_width, row.units.size());
  // Stages carry the whole name of their operator; the figures beside it must stay on the line.
  const std::size_t taken = kGutter + kLabel + 2 + units_width + std::string_view(" bound units").size();
  const auto width = static_cast<std::size_t>(style.width);
  for (FigureRow& row : rows) {
    row.tensor = shorten(row.tensor, width > taken + kShortestName ? width - taken : kShortestName, style.unicode);
    tensor_width = std::max(tensor_width, columns_of(row.tensor));
  }
  std::string out;
  for (const FigureRow& row : rows) {
    // Inputs of the graph and whatever no bound applies to have no figure to show.
    const std::string figures = row.units == "-" ? fmt::format("{:<{}}  ", row.tensor, tensor_width)
                                                 : fmt::format("{:<{}}  {:>{}} bound units  ", row.tensor, tensor_width,
                                                               row.units, units_width);
    const std::size_t indent = kGutter + kLabel + columns_of(figures);
    std::string line = fmt::format("   |  {:<{}}{}", row.label, kLabel, figures);
    const bool fits = indent + columns_of(row.remark) <= static_cast<std::size_t>(style.width);
    if (fits) {
      out += line + row.remark + '\n';
    } else {
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n' + row_text(style, "", row.remark);
    }
  }
  if (finding.inherited_error)
    out += row_text(style, "inherited",
                    fmt::format("its inputs differ from the fp32 baseline by {} of its maximum already",
                                figure(finding.inherited_error->max_rel)));
  return out;
}

std::string cause_text(const Finding& finding, const TextStyle& style) {
  std::string out;
  if (!finding.cause.empty()) {
    const bool is_bug = finding.kind == FindingKind::bug;
    const std::string proof = finding.proven ? "   proven" : is_bug ? "   not proven" : "";
    out += row_text(style, "cause", terminal_safe(finding.cause) + proof);
  }
  for (const std::string& sentence : finding.evidence) out += row_text(style, "", terminal_safe(sentence));
  if (finding.ties.empty()) return out;
  std::vector<std::string> ties;
  for (const std::string& tie : finding.ties) ties.push_back(terminal_safe(tie));
  return out + row_text(style, "", fmt::format("reproduced equally well by: {}", fmt::join(ties, ", ")));
}

std::string suspect_text(const Suspect& suspect) {
  std::string text = terminal_safe(suspect.file);
  if (!suspect.parameter.empty()) text += fmt::format(", {}", terminal_safe(suspect.parameter));
  if (!suspect.used.empty() && !suspect.meant.empty())
    text += fmt::format(": {} was used, the model means {}", terminal_safe(suspect.used), terminal_safe(suspect.meant));
  return text;
}

std::string steps_text(const Finding& finding, const Network& network, const TextStyle& style) {
  std::string out;
  if (finding.consequence_of) {
    const OperatorRow* origin = network.op(*finding.consequence_of);
    const std::string name = origin == nullptr ? "" : ' ' + op_title(origin->type, origin->name);
    out += step_text(style, "note",
                     *finding.consequence_of == finding.op_index
                         ? "a consequence of the refusal of this operator"
                         : fmt::format("a consequence of operator #{}{}", *finding.consequence_of, name));
  }
  if (finding.suspect) out += step_text(style, "open", suspect_text(*finding.suspect));
  for (const std::string& step : finding.next_steps) out += step_text(style, "try", terminal_safe(step));
  return out;
}

TableRow neighbour_row(const OperatorRow& row, const Network& network, bool is_culprit) {
  const std::optional<double> end_to_end = row.end_to_end ? std::optional(row.end_to_end->max_rel) : std::nullopt;
  return {.cells = {is_culprit ? ">" : "", fmt::format("#{}", row.index), op_title(row.type, row.name),
                    units_text(row.bound_ratio), figure_or_dash(network.inherited(row)), figure_or_dash(end_to_end),
                    status_text(row.status)},
          .paint = is_culprit ? Paint::bold : Paint::none};
}

}  // namespace

std::string row_text(const TextStyle& style, std::string_view label, std::string_view text) {
  const std::string wrapped = wrap(text, kGutter + kLabel, static_cast<std::size_t>(style.width));
  std::string out = fmt::format("   |  {:<{}}", label, kLabel);
  // Continuation lines keep the gutter.
  for (std::size_t begin = 0;;) {
    const std::size_t end = wrapped.find('\n', begin);
    out += wrapped.substr(begin, end - begin);
    out += '\n';
    if (end == std::string::npos) return out;
    out += "   |";
    begin = end + 1 + 4;
  }
}

std::string step_text(const TextStyle& style, std::string_view label, std::string_view text) {
  return fmt::format("   = {:<{}} {}\n", label, kLabel,
                     wrap(text, kGutter + kLabel, static_cast<std::size_t>(style.width)));
}

std::string op_title(std::string_view type, std::string_view name) {
  if (name.empty()) return terminal_safe(type);
  return fmt::format("{} `{}`", terminal_safe(type), terminal_safe(name));
}

std::string status_text(OpStatus status) {
  std::string text(name_of(status));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string units_text(const std::optional<double>& bound_ratio) {
  return bound_ratio ? figure(*bound_ratio) + " units" : std::string("-");
}

std::string finding_line(const Finding& finding, const Diagnosis& diagnosis, const TextStyle& style) {
  const std::string where = place(finding, diagnosis);
  return painted_label(finding, style) + ": " + terminal_safe(finding.title) +
         (where.empty() ? "" : fmt::format(" ({})", where)) + '\n';
}

std::string finding_text(const Finding& finding, const Diagnosis& diagnosis, const Network& network,
                         const TextStyle& style) {
  std::string out = head(finding, style);
  const TensorRow* tensor = network.dumped(finding.dump_tensor);
  const std::string where = place(finding, diagnosis);
  if (!where.empty()) out += fmt::format("  --> {}{}\n", where, tensor == nullptr ? "" : shape_of(*tensor));
  return out + figures_text(finding, network, style) + cause_text(finding, style) + steps_text(finding, network, style);
}

std::string neighbours_text(const Finding& finding, const Network& network, const TextStyle& style) {
  const OperatorRow* culprit = network.op(finding.op_index);
  if (culprit == nullptr) return {};
  std::vector<TableRow> rows;
  for (const OperatorRow* row : network.producers(*culprit))
    if (rows.size() < kMostInputs && !is_set_aside(row)) rows.push_back(neighbour_row(*row, network, false));
  rows.push_back(neighbour_row(*culprit, network, true));
  std::size_t readers = 0;
  for (const OperatorRow* row : network.consumers(*culprit))
    if (!is_set_aside(row) && readers++ < kMostConsumers) rows.push_back(neighbour_row(*row, network, false));

  // Local: against the replay from the device's own inputs. Inherited and end to end: against the fp32 baseline.
  const std::vector<TableColumn> columns = {{.title = ""},
                                            {.title = "#", .right = true},
                                            {.title = "operator", .shortens = true},
                                            {.title = "local error", .right = true},
                                            {.title = "inherited", .right = true},
                                            {.title = "end to end", .right = true},
                                            {.title = "status"}};
  return render_table(style, columns, rows, 3);
}

}  // namespace qnndbg
