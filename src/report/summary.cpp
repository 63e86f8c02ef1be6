#include "report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "report/style.h"

namespace qnndbg {
namespace {

/// What the device computed in: the element types of the dumped activations, most frequent first. The fp32 and int32
/// tensors at the graph's ends say nothing about it.
std::string precision(const Diagnosis& d) {
  std::map<std::string, int> counts;
  for (const TensorRow& row : d.tensors) {
    const bool computing = row.dtype == DType::f16 || is_quantized(row.dtype);
    if (computing) ++counts[row.dtype == DType::f16 ? "fp16" : std::string(name_of(row.dtype))];
  }
  if (counts.empty()) return "fp32";
  std::vector<std::pair<int, std::string>> ordered;
  for (const auto& [name, number] : counts) ordered.emplace_back(-number, name);
  std::sort(ordered.begin(), ordered.end());
  return ordered.size() == 1 ? ordered[0].second : fmt::format("{} and {}", ordered[0].second, ordered[1].second);
}

std::string device(const Diagnosis& d) {
  if (d.run.arch == "unknown") return "HTP architecture not told (--soc)";
  return fmt::format("HTP {}", terminal_safe(d.run.arch)) +
         (d.run.soc.empty() ? "" : fmt::format(", SoC {}", terminal_safe(d.run.soc)));
}

}  // namespace

std::string run_text(const Diagnosis& d) {
  std::string text = fmt::format("{}: {}, ", file_name(d.model.file), plural(d.model.operators, "operator"));
  if (d.run.dump.empty()) return text + fmt::format("no dump, {}", device(d));
  text += fmt::format("{}, {}, {}", plural(d.run.dumped_tensors, "dumped tensor"), precision(d), device(d));
  if (d.run.executions.size() > 1 && d.run.execution)
    text += fmt::format(", execution {} of {}", *d.run.execution, d.run.executions.size());
  return text;
}

long long count_of(const Diagnosis& d, OpStatus status) {
  return std::count_if(d.operators.begin(), d.operators.end(),
                       [&](const OperatorRow& row) { return row.status == status; });
}

std::string status_counts_text(const Diagnosis& d, std::string_view not_judged_note) {
  std::vector<std::string> parts;
  const auto add = [&](OpStatus status, std::string_view what) {
    if (const long long number = count_of(d, status); number > 0) parts.push_back(fmt::format("{} {}", number, what));
  };
  const std::string_view note = d.run.dump.empty() ? "there is no dump" : not_judged_note;
  add(OpStatus::broken, "broken");
  add(OpStatus::right, "right");
  add(OpStatus::inherited, "right but fed by a broken one");
  add(OpStatus::consequence, "wrong after a refused node");
  add(OpStatus::not_judged, note.empty() ? "not judged" : fmt::format("not judged ({})", note));
  add(OpStatus::set_aside, "constant or shape only");
  return fmt::format("{}: {}", plural(d.coverage.ops_total, "operator"), fmt::join(parts, ", "));
}

std::string judged_text(const Diagnosis& d) {
  if (d.run.dump.empty()) return {};
  return fmt::format("{} of {} dumped operators judged", d.coverage.ops_judged, d.coverage.ops_dumped);
}

}  // namespace qnndbg
