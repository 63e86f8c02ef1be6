#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/finding_text.h"
#include "report/replay.h"
#include "report/table.h"

namespace qnndbg {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kUsed = 2, kFitted = 4;  // columns of the table of mistakes
constexpr std::size_t kWorstIndices = 5;       // of an axis, as many as a line takes

/// "[0, 3, 12, 7]"
std::string position_text(const std::vector<std::int64_t>& position) {
  return fmt::format("[{}]", fmt::join(position, ", "));
}

/// What an axis usually is; only images have a convention that every source framework follows once the model is
/// converted.
std::string axis_name(int axis, std::size_t rank) {
  static constexpr std::array<std::string_view, 4> kImage{"batch", "channel", "row", "column"};
  if (rank == kImage.size()) return std::string(kImage.at(static_cast<std::size_t>(axis)));
  return fmt::format("axis {}", axis);
}

/// One character for an error: "." within the bound, else how many digits it has in bound units.
char heat(double ratio) {
  if (!(ratio > 1)) return '.';
  if (!std::isfinite(ratio)) return '!';
  return static_cast<char>('1' + std::min(8, static_cast<int>(std::floor(std::log10(ratio)))));
}

Paint heat_paint(char cell) {
  if (cell == '.') return Paint::faint;
  return cell == '1' ? Paint::warning : Paint::error;
}

std::string number_text(double value) { return fmt::format("{:.5g}", value); }

class ReplayView {
 public:
  ReplayView(const DeepReplay& replay, const TextStyle& style, const std::string& next)
      : r_(replay), style_(style), next_(next) {}

  std::string render() {
    headline();
    notes();
    cause();
    parameters();
    tensors();
    stages();
    for (const ReplayStage& stage : r_.stages) {
      if (stage.right) continue;
      tried(stage);
      errors(stage);
    }
    if (!next_.empty()) out_ += fmt::format("\nnext: {}\n", terminal_safe(next_));
    status();
    return std::move(out_);
  }

 private:
  std::size_t width() const { return static_cast<std::size_t>(style_.width); }
  void section(std::string_view title) { out_ += '\n' + paint(style_, Paint::bold, title) + '\n'; }
  void table(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows) {
    out_ += render_table(style_, columns, rows, kIndent);
  }
  /// "  | cause     text", later lines of the text below it.
  void labelled(std::string_view label, std::string_view text) {
    const std::string start = fmt::format("   |  {:<10}", label);
    out_ += start + wrap_below(text, start.size()) + '\n';
  }
  std::string wrap_below(std::string_view text, std::size_t column) const {
    std::string wrapped = wrap(text, column, width());
    const std::string margin = "   |";
    for (std::size_t end = wrapped.find('\n'); end != std::string::npos; end = wrapped.find('\n', end + 1))
      wrapped.replace(end + 1, margin.size(), margin);
    return wrapped;
  }

  void headline() {
    const std::string name = fmt::format("qnn-debug {}", style_.version);
    std::string text = fmt::format("{}: {}, operator #{} of {}", file_name(r_.model.file), op_title(r_.op_type, r_.op),
                                   r_.op_index, r_.model.operators);
    if (!r_.node.empty() && r_.node != r_.op) text += fmt::format(", node `{}`", terminal_safe(r_.node));
    text += r_.run.arch == "unknown" ? ", HTP architecture not told (--soc)"
                                     : fmt::format(", HTP {}", terminal_safe(r_.run.arch));
    if (r_.run.executions.size() > 1 && r_.run.execution)
      text += fmt::format(", execution {} of {}", *r_.run.execution, r_.run.executions.size());
    if (!r_.run.constant_rounding.empty())
      text +=
          fmt::format(", constants rounded {}", r_.run.constant_rounding == "nearest" ? "to nearest" : "toward zero");
    out_ += paint(style_, Paint::bold, name) + "   " + wrap(text, name.size() + 3, width()) + '\n';
  }

  void notes() {
    for (const std::string& note : r_.notes)
      out_ += paint(style_, Paint::accent, "note") + ": " + wrap(terminal_safe(note), 6, width()) + '\n';
  }

  void cause() {
    if (!r_.cause) return;
    const CauseVerdict& cause = *r_.cause;
    const std::string level = fmt::format("error[{}]", r_.finding_id);
    out_ += '\n' + paint(style_, Paint::error, level) + ": " +
            wrap(terminal_safe(r_.title), level.size() + 2, width()) + '\n';
    labelled("cause", cause.cause + (cause.proven ? "   proven" : "   not proven"));
    for (const std::string& evidence : cause.evidence) labelled("", terminal_safe(evidence));
    if (!cause.ties.empty()) labelled("or", fmt::format("{}", fmt::join(cause.ties, ", ")));
    if (cause.suspect) {
      labelled("open", terminal_safe(cause.suspect->file));
      labelled("", terminal_safe(fmt::format("{}: {} was used, the model means {}", cause.suspect->parameter,
                                             cause.suspect->used, cause.suspect->meant)));
    }
    for (const std::string& step : r_.next_steps) labelled("try", step);
  }

  void parameters() {
    if (r_.parameters.empty()) return;
    section("parameters");
    std::vector<std::string> texts;
    for (const OperatorParameter& parameter : r_.parameters)
      texts.push_back(fmt::format("{}={}", terminal_safe(parameter.name), terminal_safe(parameter.value)));
    out_ += std::string(kIndent, ' ') + wrap(fmt::format("{}", fmt::join(texts, ", ")), kIndent, width()) + '\n';
  }

  // --- tensors and stages
  // ---------------------------------------------------------------------------------------------

  void tensors() {
    section("inputs and outputs");
    std::vector<TableRow> rows;
    for (const ReplayTensor& row : r_.inputs) rows.push_back(tensor_row("input", row));
    for (const ReplayTensor& row : r_.outputs) rows.push_back(tensor_row("output", row));
    table({{.title = ""},
           {.title = "tensor"},
           {.title = "dumped as", .shortens = true},
           {.title = "type"},
           {.title = "dims"},
           {.title = "on the device"},
           {.title = "min", .right = true},
           {.title = "max", .right = true}},
          rows);
    for (const auto* side : {&r_.inputs, &r_.outputs}) {
      for (const ReplayTensor& row : *side) tensor_remarks(row);
    }
  }

  TableRow tensor_row(std::string_view side, const ReplayTensor& row) const {
    const bool stored = row.role == OperandRole::constant || row.role == OperandRole::parameter;
    const std::string dumped = !row.dump_tensor.empty()           ? terminal_safe(row.dump_tensor)
                               : row.role == OperandRole::omitted ? "left out"
                               : stored                           ? std::string(name_of(row.role))
                                                                  : "not in the dump";
    const std::string device =
        row.device_dims ? fmt::format("{} {}", row.layout, to_string(*row.device_dims)) : std::string("-");
    const bool ranged = row.range && row.range->min <= row.range->max;
    return {.cells = {std::string(side), row.tensor.empty() ? "-" : row.tensor, dumped,
                      row.dtype ? std::string(name_of(*row.dtype)) : "-", row.dims ? to_string(*row.dims) : "-", device,
                      ranged ? number_text(row.range->min) : "-", ranged ? number_text(row.range->max) : "-"}};
  }

  void tensor_remarks(const ReplayTensor& row) {
    const auto say = [&](const std::string& text) {
      out_ += std::string(kIndent, ' ') + wrap(fmt::format("{}: {}", row.tensor, text), kIndent, width()) + '\n';
    };
    if (!row.problem.empty()) say(terminal_safe(row.problem));
    if (row.range && row.range->nonfinite > 0) say(plural(row.range->nonfinite, "element") + " NaN or infinite");
    if (row.encoding)
      say(fmt::format("scale {:.9g}, offset {} in the dump", row.encoding->scale, row.encoding->offset));
    if (row.model_encoding)
      say(fmt::format("scale {:.9g}, offset {} in the model", row.model_encoding->scale, row.model_encoding->offset));
  }

  void stages() {
    if (r_.stages.empty()) return;
    section("stages");
    std::vector<TableRow> rows;
    for (const ReplayStage& stage : r_.stages) {
      const double outside = 1 - stage.judgement.within_bound;
      rows.push_back({.cells = {terminal_safe(stage.dump_tensor), stage.qnn_type, to_string(stage.dims),
                                units_text(stage.judgement.bound_ratio),
                                outside > 0 ? fmt::format("{:.3g} %", 100 * outside) : "none",
                                figure(stage.metrics.max_abs), stage.right ? "right" : "broken"},
                      .paint = stage.right ? Paint::none : Paint::error});
    }
    table({{.title = "dumped as", .shortens = true},
           {.title = "type"},
           {.title = "dims"},
           {.title = "error", .right = true},
           {.title = "outside", .right = true},
           {.title = "max |error|", .right = true},
           {.title = "status"}},
          rows);
  }

  // --- broken stages
  // --------------------------------------------------------------------------------------------------

  void tried(const ReplayStage& stage) {
    section(fmt::format("what was tried for {}", terminal_safe(stage.dump_tensor)));
    if (stage.tried.empty()) {
      out_ += fmt::format("  no mistakes of {} are known to this version\n", stage.qnn_type);
      return;
    }
    std::vector<TableRow> rows;
    for (const TriedMistake& tried : stage.tried) {
      const bool computed = std::isfinite(tried.ratio);
      const std::string residual =
          computed ? fmt::format("{}{}", tried.sampled ? ">= " : "", figure(tried.ratio)) : std::string("-");
      const std::string outcome = tried.decisive  ? "decisive"
                                  : tried.matches ? "matches"
                                  : !computed     ? "impossible"
                                  : tried.sampled ? "refuted by a sample"
                                                  : "refuted";
      rows.push_back({.cells = {tried.cause, terminal_safe(tried.parameter), terminal_safe(tried.used),
                                terminal_safe(tried.meant), std::to_string(tried.free_parameters), residual, outcome},
                      .paint = tried.decisive  ? Paint::good
                               : tried.matches ? Paint::none
                                               : Paint::faint});
    }
    table({{.title = "cause"},
           {.title = "parameter", .shortens = true},
           {.title = "used", .shortens = true},
           {.title = "meant", .shortens = true},
           {.title = "fitted", .right = true},
           {.title = "units", .right = true},
           {.title = "outcome"}},
          merged_fits(std::move(rows)));
  }

  /// Fits of one number to the same device output, from several starting points or with several roundings, say the same
  /// thing: one row, and how many there are.
  static std::vector<TableRow> merged_fits(std::vector<TableRow> rows) {
    std::vector<TableRow> merged;
    std::vector<std::size_t> times;
    const auto same = [](std::vector<std::string> a, std::vector<std::string> b) {
      const bool fitted = a[kFitted] != "0";
      a[kUsed] = b[kUsed];
      return fitted && a == b;
    };
    for (TableRow& row : rows) {
      if (!merged.empty() && same(merged.back().cells, row.cells)) {
        ++times.back();
        continue;
      }
      merged.push_back(std::move(row));
      times.push_back(1);
    }
    for (std::size_t i = 0; i < merged.size(); ++i) {
      if (times[i] > 1) merged[i].cells.back() += fmt::format(", {} ways", times[i]);
    }
    return merged;
  }

  void errors(const ReplayStage& stage) {
    if (!stage.errors) return;
    section(fmt::format("where {} is wrong", terminal_safe(stage.dump_tensor)));
    worst_elements(*stage.errors);
    axes(*stage.errors, stage.dims.size());
    plane(stage.errors->plane, stage.dims.size());
  }

  void worst_elements(const ErrorMap& errors) {
    std::vector<TableRow> rows;
    for (const ElementError& element : errors.worst)
      rows.push_back({.cells = {position_text(element.position), number_text(element.device),
                                number_text(element.reference), figure(element.bound), figure(element.ratio)}});
    table({{.title = "element"},
           {.title = "device", .right = true},
           {.title = "replay", .right = true},
           {.title = "bound", .right = true},
           {.title = "units", .right = true}},
          rows);
  }

  /// Per axis the indices with the largest errors, and how many of them have any beyond the bound.
  void axes(const ErrorMap& errors, std::size_t rank) {
    std::vector<TableRow> rows;
    for (const AxisErrors& axis : errors.axes) {
      std::vector<std::string> worst;
      for (std::size_t i = 0; i < std::min(kWorstIndices, axis.worst.size()); ++i)
        worst.push_back(fmt::format("{} ({})", axis.worst[i].index, figure(axis.worst[i].ratio)));
      const auto wrong = std::count_if(axis.beyond.begin(), axis.beyond.end(), [](std::int64_t n) { return n > 0; });
      const std::string share = axis.group == 1
                                    ? fmt::format("{} of {}", wrong, axis.extent)
                                    : fmt::format("{} of {} groups of {}", wrong, axis.beyond.size(), axis.group);
      rows.push_back({.cells = {axis_name(axis.axis, rank), share, fmt::format("{}", fmt::join(worst, "  "))}});
    }
    if (rows.empty()) return;
    out_ += '\n';
    table({{.title = "along"}, {.title = "wrong"}, {.title = "worst (units)", .shortens = true}}, rows);
  }

  void plane(const ErrorPlane& plane, std::size_t rank) {
    if (plane.column_axis < 0) return;
    const auto along = [&](int axis, std::int64_t group) {
      return group == 1 ? axis_name(axis, rank) : fmt::format("{} in groups of {}", axis_name(axis, rank), group);
    };
    const std::string across = along(plane.column_axis, plane.column_group);
    const std::string what = plane.row_axis < 0
                                 ? fmt::format("across: {}", across)
                                 : fmt::format("down: {}, across: {}", along(plane.row_axis, plane.row_group), across);
    out_ += "\n  " + wrap(what + "; . within the bound, 1 below 10 units, 2 below 100, ...", kIndent, width()) + '\n';
    for (std::int64_t row = 0; row < plane.rows; ++row) {
      std::string line;
      for (std::int64_t column = 0; column < plane.columns; ++column)
        line += heat(plane.ratio[static_cast<std::size_t>(row * plane.columns + column)]);
      out_ += "  " + painted(line) + '\n';
    }
  }

  /// Runs of equal characters share one colour sequence.
  std::string painted(const std::string& line) const {
    std::string out;
    for (std::size_t begin = 0; begin < line.size();) {
      const std::size_t end = std::min(line.find_first_not_of(line[begin], begin), line.size());
      out += paint(style_, heat_paint(line[begin]), std::string_view(line).substr(begin, end - begin));
      begin = end;
    }
    return out;
  }

  void status() {
    const Paint color = r_.status == OpStatus::right    ? Paint::good
                        : r_.status == OpStatus::broken ? Paint::error
                                                        : Paint::warning;
    const std::string name = fmt::format("status: {}", status_text(r_.status));
    std::string text = r_.reason;
    if (r_.status == OpStatus::right)
      text = fmt::format("every dumped stage is within its bound; the worst uses {} of it",
                         figure(r_.bound_ratio().value_or(0)));
    if (r_.cause) text = fmt::format("{} ({})", r_.title, r_.cause->cause);
    out_ += (next_.empty() ? "\n" : "") + paint(style_, color, name) + "   " +
            wrap(terminal_safe(text), name.size() + 3, width()) + '\n';
  }

  const DeepReplay& r_;
  const TextStyle& style_;
  const std::string& next_;
  std::string out_;
};

}  // namespace

std::string replay_text(const DeepReplay& replay, const TextStyle& style, const std::string& next) {
  return ReplayView(replay, style, next).render();
}

}  // namespace qnndbg
