#include "report/calibration.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/json_object.h"
#include "report/table.h"

namespace qnndbg {
namespace {

constexpr std::size_t kLeftOutShown = 10;

Paint paint_of(BoundState state) {
  switch (state) {
    case BoundState::beyond: return Paint::error;
    case BoundState::tight:
    case BoundState::no_entry: return Paint::warning;
    default: return Paint::none;
  }
}

std::string state_text(const BoundRow& row) {
  switch (row.state) {
    case BoundState::beyond: return fmt::format("beyond the line: {} wanted", figure(row.wanted));
    case BoundState::tight: return fmt::format("too near: {} wanted", figure(row.wanted));
    case BoundState::no_entry: return fmt::format("no line of its own: {} would do", figure(row.wanted));
    case BoundState::loose: return fmt::format("holds; {} would do", figure(row.wanted));
    case BoundState::holds: return "holds";
  }
  return {};
}

std::string before_text(const BoundRow& row) {
  if (!row.before) return "new";
  return row.moved ? figure(row.before->worst) : "same";
}

std::string keys_table(const CalibrationView& view, const TextStyle& style) {
  std::vector<TableRow> rows;
  for (const BoundRow& row : view.comparison.rows) {
    const BoundBasis& basis = row.now.basis;
    rows.push_back({.cells = {terminal_safe(row.now.key), terminal_safe(basis.arch), std::to_string(basis.runs),
                              std::to_string(basis.instances), figure(basis.p999), figure(basis.worst),
                              figure(row.constant), before_text(row), state_text(row)},
                    .paint = paint_of(row.state)});
  }
  const std::vector<TableColumn> columns = {{.title = "bound", .shortens = true},
                                            {.title = "arch"},
                                            {.title = "runs", .right = true},
                                            {.title = "instances", .right = true},
                                            {.title = "99.9 %", .right = true},
                                            {.title = "worst", .right = true},
                                            {.title = "line", .right = true},
                                            {.title = "before", .right = true},
                                            {.title = "state"}};
  return render_table(style, columns, rows, 0);
}

/// The mildest first: they are the ones to look at twice.
std::string left_out_text(const CalibrationView& view, const TextStyle& style) {
  std::vector<LeftOut> rows = view.calibration.left_out;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LeftOut& a, const LeftOut& b) { return a.bound_ratio < b.bound_ratio; });
  std::string out;
  for (std::size_t i = 0; i < std::min(rows.size(), kLeftOutShown); ++i) {
    const LeftOut& row = rows[i];
    const std::string text =
        fmt::format("{} times its line{}: {} `{}`, {} of {}", figure(row.bound_ratio),
                    row.cause.empty() ? "" : fmt::format(" ({})", row.cause), terminal_safe(row.op_type),
                    terminal_safe(row.op), terminal_safe(row.dump_tensor), terminal_safe(row.run));
    out += "  " + wrap(text, 4, static_cast<std::size_t>(style.width)) + '\n';
  }
  if (rows.size() > kLeftOutShown) out += fmt::format("  and {} more (--format json)\n", rows.size() - kLeftOutShown);
  return out;
}

Json row_json(const BoundRow& row) {
  JsonObject object;
  object.set("key", row.now.key);
  object.set("arch", row.now.basis.arch);
  object.set("state", name_of(row.state));
  object.number("constant", row.constant);
  object.number("wanted", row.wanted);
  object.set("now", basis_json(row.now.basis));
  object.set("before", basis_json(row.before));
  object.set("moved", row.moved);
  object.set("worst_at", row.now.worst_at);
  return std::move(object).finish();
}

Json left_out_json(const LeftOut& row) {
  JsonObject object;
  object.set("run", row.run);
  object.set("op_index", row.op_index);
  object.set("op", row.op);
  object.set("op_type", row.op_type);
  object.set("dump_tensor", row.dump_tensor);
  object.set("key", row.key);
  object.number("bound_ratio", row.bound_ratio);
  object.set("cause", text_or_null(row.cause));
  return std::move(object).finish();
}

}  // namespace

std::string calibration_text(const CalibrationView& view, const TextStyle& style) {
  const auto width = static_cast<std::size_t>(style.width);
  std::string out = keys_table(view, style);
  for (const BoundRow& row : view.comparison.rows) {
    const bool worse = row.moved && row.now.basis.worst > row.before->worst;
    if (row.state != BoundState::beyond && row.state != BoundState::tight && !worse) continue;
    out += "  " +
           wrap(fmt::format("worst of {}: {}", terminal_safe(row.now.key), terminal_safe(row.now.worst_at)), 2, width) +
           '\n';
  }
  if (!view.calibration.left_out.empty()) out += "\nLeft out, for they are broken:\n" + left_out_text(view, style);
  if (!view.comparison.never_seen.empty())
    out += '\n' + wrap(fmt::format("Never seen: {}", fmt::join(view.comparison.never_seen, ", ")), 0, width) + '\n';
  std::int64_t instances = 0;
  for (const BoundRow& row : view.comparison.rows) instances += row.now.basis.instances;
  out += '\n' +
         wrap(fmt::format("{}, {}; {} not judged", plural(view.calibration.runs, "run"),
                          plural(instances, "sound instance"), plural(view.calibration.not_judged, "operator")),
              0, width) +
         '\n';
  return out;
}

std::string calibration_json(const CalibrationView& view) {
  Json keys = Json::array();
  for (const BoundRow& row : view.comparison.rows) keys.push_back(row_json(row));
  Json left_out = Json::array();
  for (const LeftOut& row : view.calibration.left_out) left_out.push_back(left_out_json(row));
  return dump_json(Json{{"schema", "qnn-debug/calibration/1"},
                        {"runs", view.calibration.runs},
                        {"not_judged", view.calibration.not_judged},
                        {"keys", std::move(keys)},
                        {"never_seen", view.comparison.never_seen},
                        {"left_out", std::move(left_out)},
                        {"problems", view.problems}});
}

}  // namespace qnndbg
