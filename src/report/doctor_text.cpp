#include <fmt/format.h>

#include <algorithm>

#include "knowledge/soc.h"
#include "report/doctor.h"

namespace qnndbg {
namespace {

using lint::Check;
using lint::CheckStatus;
using lint::CheckType;

constexpr std::size_t kStatusColumn = 2;
constexpr std::size_t kIdColumn = 12;

Paint paint_of(CheckStatus status) {
  switch (status) {
    case CheckStatus::ok: return Paint::good;
    case CheckStatus::note: return Paint::accent;
    case CheckStatus::warning: return Paint::warning;
    case CheckStatus::problem: return Paint::error;
    case CheckStatus::not_checked: return Paint::faint;
  }
  return Paint::none;
}

std::string_view word_for(CheckStatus status) {
  return status == CheckStatus::not_checked ? "unknown" : lint::name_of(status);
}

std::string_view why_of(std::string_view id) {
  for (const CheckType& type : lint::check_types())
    if (type.id == id) return type.why;
  return {};
}

/// A labelled paragraph below a check. Commands are whole: a line break would make another command of them.
std::string detail(const TextStyle& style, std::size_t column, std::string_view label, std::string_view text,
                   bool breaks) {
  const std::string shown = terminal_safe(text);
  const std::size_t indent = column + 5;
  return fmt::format("{:{}}{} {}\n", "", column, paint(style, Paint::faint, fmt::format("{:<4}", label)),
                     breaks ? wrap(shown, indent, static_cast<std::size_t>(style.width)) : shown);
}

std::string check_lines(const TextStyle& style, const Check& check, std::size_t id_columns) {
  const std::string status = paint(style, paint_of(check.status), fmt::format("{:<8}", word_for(check.status)));
  const std::size_t column = kIdColumn + id_columns + 2;
  std::string out =
      fmt::format("{:{}}{}  {:<{}}  {}\n", "", kStatusColumn, status, check.id.substr(check.id.find('.') + 1),
                  id_columns, wrap(terminal_safe(check.found), column, static_cast<std::size_t>(style.width)));
  const bool bad = check.status == CheckStatus::problem || check.status == CheckStatus::warning;
  if (bad) out += detail(style, column, "why", why_of(check.id), /*breaks=*/true);
  if (!check.fix.empty()) out += detail(style, column, bad ? "fix" : "try", check.fix, /*breaks=*/false);
  return out;
}

std::string headline(const DoctorView& view, const TextStyle& style) {
  const lint::Target& target = view.environment.target;
  std::string device = "device not told (--soc)";
  if (target.arch != 0) device = "device: HTP " + arch_name(target.arch);
  if (!target.soc.empty()) device += fmt::format(" ({})", terminal_safe(target.soc));
  return fmt::format("{}   {} Linux, {}\n", paint(style, Paint::bold, fmt::format("qnn-debug {}", style.version)),
                     lint::name_of(view.environment.host), device);
}

std::string next_line(const DoctorView& view, const TextStyle& style) {
  const bool broken = count_of(view.checks, CheckStatus::problem) > 0;
  if (style.command.empty()) return {};
  return broken ? fmt::format("next  mend them from the top, then: {}\n", terminal_safe(style.command))
                : "next  qnn-debug diagnose --model MODEL --inputs INPUTS --dump DUMP\n";
}

}  // namespace

int count_of(const std::vector<Check>& checks, CheckStatus status) {
  return static_cast<int>(
      std::count_if(checks.begin(), checks.end(), [&](const Check& check) { return check.status == status; }));
}

std::string doctor_summary(const std::vector<Check>& checks) {
  const int problems = count_of(checks, CheckStatus::problem);
  const int warnings = count_of(checks, CheckStatus::warning);
  std::string text = problems == 0 ? std::string("no problem") : plural(problems, "problem");
  if (warnings > 0) text += ", " + plural(warnings, "warning");
  return text;
}

std::string doctor_text(const DoctorView& view, const TextStyle& style) {
  std::size_t id_columns = 0;
  for (const Check& check : view.checks) id_columns = std::max(id_columns, check.id.size() - check.id.find('.') - 1);
  std::string out = headline(view, style);
  std::string_view group;
  for (const Check& check : view.checks) {
    if (lint::group_of(check.id) != group) {
      group = lint::group_of(check.id);
      out += fmt::format("\n{}\n", paint(style, Paint::bold, group));
    }
    out += check_lines(style, check, id_columns);
  }
  const int problems = count_of(view.checks, CheckStatus::problem);
  out += fmt::format("\n{}\n", paint(style, problems > 0 ? Paint::error : Paint::good, doctor_summary(view.checks)));
  return out + next_line(view, style);
}

}  // namespace qnndbg
