#include "report/bounds.h"

#include <fmt/format.h>

#include <vector>

#include "report/table.h"

namespace qnndbg {
namespace {

std::string seen_text(const std::optional<BoundBasis>& basis) {
  return basis ? fmt::format("{} on {}", basis->instances, terminal_safe(basis->arch)) : "never";
}

}  // namespace

std::string formula_of(const Bound& bound) {
  std::vector<std::string> terms;
  if (bound.y > 0) terms.push_back(figure(bound.y) + " u|y|");
  if (bound.max_y > 0) terms.push_back(figure(bound.max_y) + " u max|y|");
  if (bound.magnitude > 0) terms.push_back(figure(bound.magnitude) + " u M");
  if (bound.absolute > 0) terms.push_back(figure(bound.absolute));
  return terms.empty() ? "0" : fmt::format("{}", fmt::join(terms, " + "));
}

std::string bounds_text(const Diagnosis& diagnosis, const TextStyle& style) {
  if (!diagnosis.bounds) return {};
  std::vector<TableRow> rows;
  for (const BoundUse& use : *diagnosis.bounds) {
    const std::optional<double> margin = use.margin();
    rows.push_back({.cells = {fmt::format("#{}", use.op_index), terminal_safe(use.dump_tensor), terminal_safe(use.key),
                              formula_of(use.bound), figure(use.bound_ratio), margin ? figure(*margin) : "-",
                              seen_text(use.basis), use.basis ? figure(use.basis->worst) : "-"},
                    .paint = use.bound_ratio > 1 ? Paint::error : Paint::none});
  }
  const std::vector<TableColumn> columns = {
      {.title = "#", .right = true},     {.title = "tensor", .shortens = true},  {.title = "bound"},
      {.title = "line of each element"}, {.title = "worst", .right = true},      {.title = "margin", .right = true},
      {.title = "seen", .right = true},  {.title = "their worst", .right = true}};
  std::string out = '\n' + render_table(style, columns, rows, 0);
  out +=
      wrap(
          "worst: the largest error in units of its line; margin: the factor left; u = 2^-11; M: the operator's own "
          "magnitude; seen: sound instances that the line rests on, and their worst in the unit of its first constant.",
          0, static_cast<std::size_t>(style.width)) +
      '\n';
  return out;
}

}  // namespace qnndbg
