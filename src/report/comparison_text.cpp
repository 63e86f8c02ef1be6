#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "report/comparison_view.h"
#include "report/finding_text.h"
#include "report/summary.h"
#include "report/table.h"

namespace qnndbg {
namespace {

constexpr std::size_t kFindingsShown = 8;  // of a change; the rest is counted
constexpr std::size_t kOperatorsShown = 15;

/// What to look at first. The outcome stands at the end, for that stays on the screen.
constexpr auto kOrder = std::to_array({FindingChange::appeared, FindingChange::found, FindingChange::changed,
                                       FindingChange::still, FindingChange::gone, FindingChange::fixed});

Paint paint_of(Trend trend) {
  return trend == Trend::worse ? Paint::error : trend == Trend::better ? Paint::good : Paint::none;
}

Paint paint_of(const ComparedFinding& f) {
  switch (f.change) {
    case FindingChange::appeared:
    case FindingChange::found: return f.shown().kind == FindingKind::warning ? Paint::warning : Paint::error;
    case FindingChange::fixed: return Paint::good;
    case FindingChange::changed:
    case FindingChange::gone: return Paint::warning;
    case FindingChange::still: return Paint::accent;
  }
  return Paint::none;
}

std::string ids_of(const ComparedFinding& f) {
  if (!f.before || !f.after || f.before->id == f.after->id) return terminal_safe(f.shown().id);
  return fmt::format("{}, was {}", terminal_safe(f.after->id), terminal_safe(f.before->id));
}

/// "411 bound units, bias_dropped, proven"; for a run without the finding what its operator is there.
std::string state_of(const std::optional<Finding>& finding, const std::optional<OperatorRow>& row) {
  std::vector<std::string> parts;
  if (finding) {
    if (finding->local_error && finding->local_error->bound_ratio)
      parts.push_back(figure(*finding->local_error->bound_ratio) + " bound units");
    if (!finding->cause.empty()) parts.push_back(terminal_safe(finding->cause));
    if (finding->kind == FindingKind::bug) parts.emplace_back(finding->proven ? "proven" : "not proven");
  } else if (row) {
    parts.push_back(status_text(row->status));
    if (row->bound_ratio) parts.push_back(figure(*row->bound_ratio) + " bound units");
  }
  return parts.empty() ? std::string("not there") : fmt::format("{}", fmt::join(parts, ", "));
}

std::string place_of(const ComparedFinding& f) {
  const Finding& shown = f.shown();
  if (shown.op_index < 0) return shown.node.empty() ? "" : fmt::format("QNN node `{}`", terminal_safe(shown.node));
  std::string text = fmt::format("operator #{}", shown.op_index);
  if (f.operator_before && f.operator_after && f.operator_before->index != f.operator_after->index)
    text = fmt::format("operator #{}, was #{}", f.operator_after->index, f.operator_before->index);
  const std::string& tensor = shown.dump_tensor.empty() ? shown.tensor : shown.dump_tensor;
  return tensor.empty() ? text : fmt::format("{}, tensor {}", text, terminal_safe(tensor));
}

/// The run, and where it was read from: the models of both are usually called the same.
std::string side_text(const Diagnosis& d) {
  const std::string& source = d.run.dump.empty() ? d.run.log : d.run.dump;
  return source.empty() ? run_text(d) : fmt::format("{} ({})", run_text(d), terminal_safe(source));
}

std::string judged_share(const Diagnosis& d) {
  return fmt::format("{} of {}", d.coverage.ops_judged, d.coverage.ops_dumped);
}

/// "and 3 more (--format json)"
std::string more_text(std::size_t all, std::size_t shown) {
  return all > shown ? fmt::format("  and {} more (--format json)\n", all - shown) : "";
}

class ComparisonText {
 public:
  ComparisonText(const Comparison& comparison, const TextStyle& style) : c_(comparison), style_(style) {}

  std::string render() {
    headline();
    facts();
    for (const FindingChange change : kOrder) findings(change);
    operators();
    models();
    side_by_side();
    outcome();
    return std::move(out_);
  }

 private:
  std::size_t width() const { return static_cast<std::size_t>(std::max(style_.width, 0)); }

  void headline() {
    const std::string name = fmt::format("qnn-debug {}", style_.version);
    out_ += paint(style_, Paint::bold, name) + "   two diagnoses compared\n";
    out_ += "  before    " + wrap(side_text(c_.before), 12, width()) + '\n';
    out_ += "  after     " + wrap(side_text(c_.after), 12, width()) + '\n';
  }

  /// The runs may not be comparable.
  void facts() {
    for (const ComparedFact& fact : c_.facts) {
      const auto value = [](const std::string& text) { return text.empty() ? "not known" : terminal_safe(text); };
      const std::string text = fmt::format("{}: {} before, {} after", fact.what, value(fact.before), value(fact.after));
      out_ += paint(style_, Paint::accent, "note") + ": " + wrap(text, 6, width()) + '\n';
    }
  }

  void findings(FindingChange change) {
    std::size_t all = 0;
    for (const ComparedFinding& f : c_.findings) {
      if (f.change != change) continue;
      if (all++ >= kFindingsShown && style_.verbosity == 0) continue;
      out_ += '\n';
      finding(f);
    }
    if (style_.verbosity == 0) out_ += more_text(all, kFindingsShown);
  }

  void finding(const ComparedFinding& f) {
    const std::string label = fmt::format("{}[{}]", name_of(f.change), ids_of(f));
    const std::string text = wrap(fmt::format("{}: {}", label, terminal_safe(f.shown().title)), 0, width());
    const std::size_t painted = std::min(label.size(), text.size());
    out_ += paint(style_, paint_of(f), text.substr(0, painted)) + text.substr(painted) + '\n';
    if (const std::string place = place_of(f); !place.empty()) out_ += fmt::format("  --> {}\n", place);
    out_ += row_text(style_, "before", state_of(f.before, f.operator_before));
    out_ += row_text(style_, "after", state_of(f.after, f.operator_after));
    if (!f.what.empty()) out_ += step_text(style_, "changed", what_text(f));
    if (!f.reason.empty())
      out_ += step_text(style_, "note",
                        fmt::format("{}: {}", f.before ? "not fixed" : "maybe not new", terminal_safe(f.reason)));
  }

  static std::string what_text(const ComparedFinding& f) {
    std::vector<std::string> words;
    for (const std::string& what : f.what)
      words.push_back(what != "error" ? what : f.error == Trend::worse ? "larger error" : "smaller error");
    return fmt::format("{}", fmt::join(words, ", "));
  }

  /// Operators that are judged in one of the runs only. Those that are right in one and wrong in the other are
  /// findings.
  void operators() {
    judged("no longer judged:", Trend::worse, Paint::error);
    judged("judged now, and not before:", Trend::better, Paint::none);
  }

  void judged(std::string_view title, Trend trend, Paint color) {
    std::size_t all = 0;
    for (const ComparedOperator& row : c_.operators) {
      const bool lost = row.after.status == OpStatus::not_judged;
      const bool gained = row.before.status == OpStatus::not_judged;
      if (row.trend != trend || !(trend == Trend::worse ? lost : gained)) continue;
      if (all++ == 0) out_ += '\n' + paint(style_, color, title) + '\n';
      if (all > kOperatorsShown && style_.verbosity == 0) continue;
      const std::string why = lost ? row.after.reason : std::string(status_text(row.after.status));
      out_ +=
          "  " +
          wrap(fmt::format("#{} {}: {}", row.after.index, op_title(row.after.type, row.after.name), terminal_safe(why)),
               4, width()) +
          '\n';
    }
    if (style_.verbosity == 0) out_ += more_text(all, kOperatorsShown);
  }

  void models() {
    if (c_.removed.empty() && c_.added.empty()) return;
    out_ += '\n' +
            wrap(fmt::format("The models differ: {} only before, {} only after.",
                             plural(static_cast<long long>(c_.removed.size()), "operator"),
                             plural(static_cast<long long>(c_.added.size()), "operator")),
                 0, width()) +
            '\n';
  }

  void side_by_side() {
    std::vector<TableRow> rows;
    const auto add = [&rows](std::string what, std::string before, std::string after, Trend trend) {
      rows.push_back({.cells = {std::move(what), std::move(before), std::move(after),
                                trend == Trend::same ? "" : std::string(name_of(trend))},
                      .paint = paint_of(trend)});
    };
    add("verdict", std::string(name_of(c_.before.verdict)), std::string(name_of(c_.after.verdict)), c_.verdict);
    add("operators judged", judged_share(c_.before), judged_share(c_.after), Trend::same);
    for (const OpStatus status :
         {OpStatus::broken, OpStatus::consequence, OpStatus::right, OpStatus::inherited, OpStatus::not_judged}) {
      const long long before = count_of(c_.before, status);
      const long long after = count_of(c_.after, status);
      if (before + after > 0)
        add(status_text(status), fmt::format("{}", before), fmt::format("{}", after), Trend::same);
    }
    const auto share = [](const OperatorRow& row) { return figure(row.end_to_end->max_rel) + " of max"; };
    for (const ComparedOutput& output : c_.outputs)
      add("end to end, " + op_title(output.after.type, output.after.name), share(output.before), share(output.after),
          output.trend);
    const std::vector<TableColumn> columns = {{.title = "", .shortens = true},
                                              {.title = "before", .right = true},
                                              {.title = "after", .right = true},
                                              {.title = ""}};
    out_ += '\n' + render_table(style_, columns, rows, 2);
  }

  void outcome() {
    const auto list = [&](std::string_view label, Paint color, const std::vector<std::string>& what) {
      if (what.empty()) return;
      out_ += paint(style_, color, label) + ": " +
              wrap(terminal_safe(fmt::format("{}", fmt::join(what, "; "))), label.size() + 2, width()) + '\n';
    };
    out_ += '\n';
    list("better", Paint::good, what_got_better(c_));
    list("worse", Paint::error, what_got_worse(c_));
    const std::string_view outcome = outcome_of(c_);
    const std::string name = fmt::format("comparison: {}", outcome);
    const Paint color = outcome == "better" ? Paint::good : outcome == "same" ? Paint::bold : Paint::error;
    out_ += paint(style_, color, name) + "   " + wrap(comparison_summary(c_), name.size() + 3, width()) + '\n';
  }

  const Comparison& c_;
  const TextStyle& style_;
  std::string out_;
};

}  // namespace

std::string comparison_summary(const Comparison& c) {
  std::vector<std::string> parts;
  for (const FindingChange change : kOrder)
    if (const long long count = c.count(change); count > 0)
      parts.push_back(fmt::format("{} {}", count, name_of(change)));
  const std::string findings =
      parts.empty() ? "no findings in either run" : fmt::format("findings: {}", fmt::join(parts, ", "));
  return fmt::format("{} after {}; {}", name_of(c.after.verdict), name_of(c.before.verdict), findings);
}

std::string comparison_text(const Comparison& comparison, const TextStyle& style) {
  return ComparisonText(comparison, style).render();
}

}  // namespace qnndbg
