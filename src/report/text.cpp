#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "report/explanation.h"
#include "report/finding_text.h"
#include "report/network.h"
#include "report/sparkline.h"
#include "report/summary.h"
#include "report/table.h"

namespace qnndbg {
namespace {

constexpr std::size_t kFindingsInFull = 5;    // of kinds that change the verdict
constexpr std::size_t kFindingsAsLines = 15;  // and warnings
constexpr std::size_t kTables = 3;
constexpr std::size_t kNotes = 5;
constexpr std::size_t kSteps = 3;
constexpr int kNarrow = 60;
constexpr std::size_t kSparklineColumns = 64;
constexpr std::size_t kLongestMark = 24;
constexpr std::size_t kSmallestNetwork = 8;  // shorter ones need no overview

/// "^ name   ^^ name": a mark at each column, and the name where it fits before the next one.
std::string marks_line(const std::map<std::size_t, std::string>& names, std::size_t width, bool unicode) {
  std::string line;
  for (auto it = names.begin(); it != names.end(); ++it) {
    const auto& [column, name] = *it;
    const std::size_t end = std::next(it) == names.end() ? width : std::next(it)->first;
    line.append(column - columns_of(line), ' ');
    line += '^';
    const std::string label = ' ' + shorten(name, kLongestMark, unicode);
    if (column + 1 + columns_of(label) < end) line += label;
  }
  return line;
}

class TextView {
 public:
  TextView(const Diagnosis& diagnosis, const TextStyle& style, std::span<const SimilarCase> cases)
      : d_(diagnosis), style_(style), cases_(cases), network_(diagnosis) {}

  std::string render() {
    headline();
    notes();
    findings();
    log();
    overview();
    end_to_end();
    if (style_.verbosity >= 2) operators();
    if (style_.verbosity >= 1) not_judged();
    coverage();
    next_command();
    verdict();
    return std::move(out_);
  }

 private:
  bool is_clean() const { return d_.verdict == Verdict::clean; }
  std::size_t width() const { return static_cast<std::size_t>(style_.width); }
  void blank() { out_ += '\n'; }
  void line(std::string_view text) { out_ += wrap(text, 0, width()) + '\n'; }

  void headline();
  void notes();
  bool log_is_in_findings() const;
  void log();
  std::vector<const Finding*> ordered_findings() const;
  void findings();
  void overview();
  void end_to_end();
  void largest_steps();
  std::vector<const OperatorRow*> listed_operators() const;
  void operators();
  void not_judged();
  void coverage();
  void next_command();
  void verdict();

  const Diagnosis& d_;
  const TextStyle& style_;
  std::span<const SimilarCase> cases_;
  Network network_;
  std::string out_;
};

void TextView::headline() {
  const std::string name = fmt::format("qnn-debug {}", style_.version);
  out_ += paint(style_, Paint::bold, name) + "   " + wrap(run_text(d_), name.size() + 3, width()) + '\n';
}

void TextView::notes() {
  const std::size_t shown = style_.verbosity >= 1 ? d_.notes.size() : std::min(d_.notes.size(), kNotes);
  for (std::size_t i = 0; i < shown; ++i)
    out_ += paint(style_, Paint::accent, "note") + ": " + wrap(terminal_safe(d_.notes[i]), 6, width()) + '\n';
  if (shown < d_.notes.size())
    line(fmt::format("and {} (-v)", plural(static_cast<long long>(d_.notes.size() - shown), "more note")));
}

/// The findings say it already when the log is what they were found in.
bool TextView::log_is_in_findings() const {
  return std::any_of(d_.findings.begin(), d_.findings.end(), [](const Finding& finding) {
    return finding.kind == FindingKind::rejected || finding.kind == FindingKind::unregistered ||
           finding.kind == FindingKind::load;
  });
}

/// What the log says, unless it says nothing about a run that is sound.
void TextView::log() {
  const bool undecided = d_.log && d_.log->class_id == "not_decidable";
  if (!d_.log || (undecided && is_clean())) return;
  const std::string seen = is_clean() ? "" : seen_before_text(cases_, style_);
  if (log_is_in_findings() && seen.empty()) return;
  blank();
  if (!log_is_in_findings()) {
    const std::string label = undecided ? "log" : fmt::format("log[{}]", d_.log->class_id);
    const std::string text = wrap(fmt::format("{}: {}", label, terminal_safe(d_.log->summary)), 0, width());
    out_ += paint(style_, Paint::accent, label) + text.substr(label.size()) + '\n';
  }
  out_ += seen;
}

/// By operator; of what is said about one operator, its refusal first: the rest follows from it.
std::vector<const Finding*> TextView::ordered_findings() const {
  std::vector<const Finding*> findings;
  for (const Finding& finding : d_.findings) findings.push_back(&finding);
  for (auto begin = findings.begin(); begin != findings.end();) {
    const auto other = [&](const Finding* finding) { return finding->op_index != (*begin)->op_index; };
    const auto end = std::find_if(begin, findings.end(), other);
    std::stable_partition(begin, end, [](const Finding* f) { return f->kind == FindingKind::rejected; });
    begin = end;
  }
  return findings;
}

void TextView::findings() {
  std::size_t in_full = 0;
  std::size_t as_lines = 0;
  std::size_t left_out = 0;
  for (const Finding* listed : ordered_findings()) {
    const Finding& finding = *listed;
    const bool all = style_.verbosity >= 1;
    if (all || (finding.kind != FindingKind::warning && in_full < kFindingsInFull)) {
      blank();
      out_ += finding_text(finding, d_, network_, style_);
      if (finding.kind == FindingKind::bug && (all || in_full < kTables))
        out_ += '\n' + neighbours_text(finding, network_, style_);
      ++in_full;
    } else if (as_lines < kFindingsAsLines) {
      if (as_lines == 0) blank();
      out_ += finding_line(finding, d_, style_);
      ++as_lines;
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) line(fmt::format("and {} (-v)", plural(static_cast<long long>(left_out), "more finding")));
}

/// The sparkline with a mark below each broken operator, and its name where there is room before the next mark.
void TextView::overview() {
  std::vector<std::optional<double>> values;
  std::vector<const OperatorRow*> rows;
  for (const OperatorRow& row : d_.operators) {
    if (row.status == OpStatus::set_aside) continue;
    values.push_back(row.bound_ratio);
    rows.push_back(&row);
  }
  const bool wanted = count_of(d_, OpStatus::broken) > 0 || style_.verbosity >= 1;
  const bool any = std::any_of(values.begin(), values.end(), [](const auto& value) { return value.has_value(); });
  if (!wanted || !any || !style_.unicode || style_.width < kNarrow || values.size() < kSmallestNetwork) return;

  const Sparkline spark = sparkline(values, std::min(kSparklineColumns, width() - 4));
  blank();
  line(fmt::format("local error along the network (bound units, log scale from {} to {}, worst of each {})",
                   figure(spark.low), figure(spark.high),
                   spark.group == 1 ? "operator" : fmt::format("{} operators", spark.group)));
  out_ += fmt::format("  {}\n", spark.blocks);
  std::map<std::size_t, std::string> names;  // by column; the first broken operator of a group names it
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i]->status == OpStatus::broken) names.emplace(i / spark.group, terminal_safe(rows[i]->name));
  if (!names.empty()) out_ += "  " + marks_line(names, width() - 2, style_.unicode) + '\n';
}

/// Clean runs: how near the line the worst operator is, and that what remains at the outputs is rounding.
void TextView::end_to_end() {
  if (!is_clean()) return;
  blank();
  const OperatorRow* worst = nullptr;
  for (const OperatorRow& row : d_.operators)
    if (row.bound_ratio && (worst == nullptr || *row.bound_ratio > *worst->bound_ratio)) worst = &row;
  if (worst != nullptr)
    line(fmt::format("Every one of {} is within its error bound. The worst, {} (#{}), uses {} of it.",
                     plural(d_.coverage.ops_judged, "judged operator"), op_title(worst->type, worst->name),
                     worst->index, figure(*worst->bound_ratio)));

  bool any_difference = false;
  for (const OperatorRow& row : d_.operators) {
    for (const std::string& tensor : row.outputs) {
      const TensorRow* output = network_.compared(tensor);
      if (output == nullptr || network_.has_consumer(tensor) || output->baseline->max_abs == 0) continue;
      line(fmt::format("Output {} of `{}` differs from the fp32 baseline by {} of its maximum (max |error| {}).",
                       tensor, terminal_safe(row.name), figure(output->baseline->max_rel),
                       figure(output->baseline->max_abs)));
      any_difference = true;
    }
  }
  if (!any_difference) return;
  line("That is rounding: every operator that was judged is within its own bound.");
  largest_steps();
}

/// Where the end-to-end error grows most from an operator's inputs to its output.
void TextView::largest_steps() {
  std::vector<std::pair<double, const OperatorRow*>> steps;
  for (const OperatorRow& row : d_.operators) {
    if (!row.end_to_end || !std::isfinite(row.end_to_end->max_rel)) continue;
    const double step = row.end_to_end->max_rel - network_.inherited(row).value_or(0);
    if (step > 0) steps.emplace_back(step, &row);
  }
  std::stable_sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  steps.resize(std::min(steps.size(), kSteps));
  if (steps.empty()) return;
  std::vector<std::string> texts;
  for (const auto& [step, row] : steps)
    texts.push_back(fmt::format("{} (+{})", op_title(row->type, row->name), figure(step)));
  line(fmt::format("Largest steps of the end-to-end error: {}.", fmt::join(texts, ", ")));
}

/// In the model's order, or the largest local error first; then what was not judged, and what is no operator of the
/// device.
std::vector<const OperatorRow*> TextView::listed_operators() const {
  std::vector<const OperatorRow*> rows;
  for (const OperatorRow& row : d_.operators) rows.push_back(&row);
  if (!style_.worst_first) return rows;
  const auto rank = [](const OperatorRow* row) {
    const double ratio = !row->bound_ratio ? -1 : std::isfinite(*row->bound_ratio) ? *row->bound_ratio : HUGE_VAL;
    return std::pair(row->status != OpStatus::set_aside, ratio);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const auto* a, const auto* b) { return rank(a) > rank(b); });
  return rows;
}

void TextView::operators() {
  blank();
  std::vector<TableRow> rows;
  for (const OperatorRow* listed : listed_operators()) {
    const OperatorRow& row = *listed;
    const std::optional<double> end = row.end_to_end ? std::optional(row.end_to_end->max_rel) : std::nullopt;
    rows.push_back({.cells = {fmt::format("#{}", row.index), terminal_safe(row.type), terminal_safe(row.name),
                              units_text(row.bound_ratio), end ? figure(*end) : "-", status_text(row.status)},
                    .paint = row.status == OpStatus::broken      ? Paint::error
                             : row.status == OpStatus::set_aside ? Paint::faint
                                                                 : Paint::none});
  }
  const std::vector<TableColumn> columns = {
      {.title = "#", .right = true},           {.title = "type", .shortens = true},
      {.title = "operator", .shortens = true}, {.title = "local error", .right = true},
      {.title = "end to end", .right = true},  {.title = "status"}};
  out_ += render_table(style_, columns, rows, 0);
}

void TextView::not_judged() {
  if (d_.coverage.not_judged.empty()) return;
  blank();
  line("Not judged:");
  for (const NotJudged& row : d_.coverage.not_judged)
    out_ += "  " +
            wrap(fmt::format("#{} {}: {}", row.op_index, op_title(row.op_type, row.op), terminal_safe(row.reason)), 2,
                 width()) +
            '\n';
}

void TextView::coverage() {
  blank();
  line(status_counts_text(d_, style_.verbosity >= 1 ? "" : "-v says why"));
  if (!d_.run.dump.empty()) line(judged_text(d_));
}

void TextView::next_command() {
  if (style_.command.empty()) return;
  const bool more_to_say = !d_.coverage.not_judged.empty() || !is_clean();
  if (style_.verbosity == 0 && more_to_say && !d_.run.dump.empty())
    out_ += fmt::format("next: {} -v\n", terminal_safe(style_.command));
  if (d_.log && !is_clean() && !style_.log_command.empty())
    out_ += fmt::format("next: {}\n", terminal_safe(style_.log_command));
}

void TextView::verdict() {
  const Paint color = is_clean()                                                            ? Paint::good
                      : d_.verdict == Verdict::range || d_.verdict == Verdict::inconclusive ? Paint::warning
                                                                                            : Paint::error;
  const std::string name = fmt::format("verdict: {}", name_of(d_.verdict));
  // A diagnosis that was read from a document has no time.
  const std::string time = d_.seconds > 0 ? fmt::format("   {:.2f} s", d_.seconds) : "";
  out_ += paint(style_, color, name) + "   " + wrap(terminal_safe(d_.summary) + time, name.size() + 3, width()) + '\n';
}

}  // namespace

std::string to_text(const Diagnosis& diagnosis, const TextStyle& style, std::span<const SimilarCase> cases) {
  return TextView(diagnosis, style, cases).render();
}

}  // namespace qnndbg
