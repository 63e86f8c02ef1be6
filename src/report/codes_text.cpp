#include "report/codes_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "graph/graph.h"

namespace qnndbg {
namespace {

constexpr std::size_t kLabel = 12;           // width of the row labels
constexpr std::size_t kMargin = 2;           // before a label or a number
constexpr std::size_t kItem = 5;             // before the text of "  1. " and "   - "
constexpr std::size_t kSign = 15;            // before the text of "     shown by  "
constexpr std::size_t kMostFunctions = 8;    // listed by name unless -v asks for all
constexpr std::size_t kMostSuggestions = 5;  // "did you mean"
constexpr std::size_t kShortestPart = 4;     // of a name: fewer letters are in too many of them
constexpr std::size_t kLongestName = 100;

std::size_t width_of(const TextStyle& style) { return static_cast<std::size_t>(std::max(style.width, 40)); }

std::string paragraph(const TextStyle& style, std::string_view text) { return wrap(text, 0, width_of(style)) + '\n'; }

std::string row(const TextStyle& style, std::string_view label, std::string_view text) {
  return fmt::format("{:{}}{:<{}}{}\n", "", kMargin, label, kLabel, wrap(text, kMargin + kLabel, width_of(style)));
}

std::string heading(const TextStyle& style, std::string_view title) {
  return '\n' + paint(style, Paint::accent, title) + '\n';
}

std::string item(const TextStyle& style, std::string_view mark, std::string_view text) {
  return fmt::format("{:>{}} {}\n", mark, kItem - 1, wrap(text, kItem, width_of(style)));
}

std::string hex(std::int64_t number) { return fmt::format("0x{:x}", static_cast<std::uint64_t>(number)); }

/// "1002 = 0x3ea"
std::string both_forms(std::int64_t number) {
  return number < 0 ? fmt::format("{}", number) : fmt::format("{} = {}", number, hex(number));
}

std::string last_line(const TextStyle& style, std::string_view command, std::string_view why) {
  return fmt::format("\n{} {}   {}\n", paint(style, Paint::bold, "next:"), command,
                     paint(style, Paint::faint, fmt::format("({})", why)));
}

/// Every explanation of a number ends with the command that decides what the number leaves open.
std::string read_the_log(const TextStyle& style) {
  return last_line(style, "qnn-debug explain run.log", "the lines before the number decide");
}

/// "QnnGraph" of "QnnGraph_finalize"
std::string_view group_of(std::string_view function) { return function.substr(0, function.find('_')); }

std::string functions_text(const std::vector<std::string>& functions, const TextStyle& style) {
  if (functions.empty()) return "(no function's documentation lists it)";
  if (functions.size() <= kMostFunctions || style.verbosity > 0) return fmt::format("{}", fmt::join(functions, ", "));
  std::vector<std::string_view> groups;
  for (const std::string& function : functions)
    if (groups.empty() || groups.back() != group_of(function)) groups.push_back(group_of(function));
  return fmt::format("{} functions of {} (-v lists them)", functions.size(), fmt::join(groups, ", "));
}

std::string range_text(const CodeRange& range) {
  return fmt::format("{} ({} to {}): {}", range.module, range.first, range.last, range.what);
}

std::string head(const ErrorCode& code, const TextStyle& style, std::string_view how) {
  std::string out = paint(style, Paint::bold, fmt::format("{}  {}", both_forms(code.number), code.name)) + '\n';
  if (!how.empty()) out += row(style, "read as", how);
  if (!code.aliases.empty()) out += row(style, "also", fmt::format("{}", fmt::join(code.aliases, ", ")));
  out += row(style, "returned by", functions_text(code.returned_by, style));
  if (const CodeRange* range = code_range_of(code.number)) out += row(style, "range", range_text(*range));
  if (!code.since.empty()) out += row(style, "new", fmt::format("came {}; older headers do not have it", code.since));
  if (code.retired) out += row(style, "retired", "still in the headers, but no longer returned");
  if (code.class_id != "not_decidable") out += row(style, "class", code.class_id);
  return out;
}

std::string causes_text(const std::vector<ErrorCause>& causes, const TextStyle& style) {
  std::string out;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    out += item(style, fmt::format("{}.", i + 1), causes[i].what);
    if (!causes[i].sign.empty())
      out += fmt::format("{:{}}shown by  {}\n", "", kItem, wrap(causes[i].sign, kSign, width_of(style)));
  }
  return out;
}

std::string steps_text(const std::vector<std::string>& steps, const TextStyle& style) {
  std::string out = fmt::format("{:{}}what to do\n", "", kMargin);
  for (const std::string& step : steps) out += item(style, "-", step);
  return out;
}

std::string stage_text(const StageMeaning& stage, const TextStyle& style) {
  const CodeStage* known = find_code_stage(stage.stage);
  std::string title = known == nullptr ? stage.stage : known->title;
  std::string out = heading(style, fmt::format("While {}", title));
  out += paragraph(style, stage.meaning);
  return out + causes_text(stage.causes, style) + steps_text(stage.next_steps, style);
}

/// The steps of a code that no stage has listed already.
std::vector<std::string> further_steps(const ErrorCode& code, bool stages_shown) {
  std::vector<std::string> steps = code.next_steps;
  if (!stages_shown) return steps;
  const auto listed = [&](const std::string& step) {
    return std::any_of(code.stages.begin(), code.stages.end(), [&](const StageMeaning& stage) {
      return std::find(stage.next_steps.begin(), stage.next_steps.end(), step) != stage.next_steps.end();
    });
  };
  steps.erase(std::remove_if(steps.begin(), steps.end(), listed), steps.end());
  return steps;
}

std::string general_text(const ErrorCode& code, const TextStyle& style, bool stages_shown) {
  const std::string_view title = stages_shown ? "Other causes" : "Usual causes";
  std::string out = heading(style, title) + causes_text(code.causes, style);
  const std::vector<std::string> steps = further_steps(code, stages_shown);
  return steps.empty() ? out : out + steps_text(steps, style);
}

std::string others_text(const ErrorCode& code, const TextStyle& style) {
  std::string out;
  if (!code.follows.empty()) {
    out += heading(style, "Often only a consequence of");
    for (const Consequence& before : code.follows)
      out += item(style, "-", fmt::format("{}: {}", before.after, before.why));
  }
  if (!code.also_called.empty()) {
    out += heading(style, "Called differently");
    for (const OtherName& other : code.also_called)
      out += item(style, "-", fmt::format("{} has \"{}\". {}.", other.by, other.name, other.right));
  }
  return out;
}

std::string lookalikes_text(std::int64_t number, const TextStyle& style,
                            std::string_view title = "The same number elsewhere in a log") {
  const std::vector<Lookalike> found = lookalikes(number);
  if (found.empty()) return {};
  std::string out = heading(style, title);
  for (const Lookalike& other : found)
    out += item(style, "-", fmt::format("{} ({}, {})", other.meaning, other.what, other.context));
  return out;
}

std::string near_text(std::int64_t number, const TextStyle& style) {
  const std::vector<const ErrorCode*> near = codes_near(number);
  if (near.empty()) return {};
  std::string out = heading(style, "Codes next to it");
  for (const ErrorCode* code : near)
    out += item(style, "-", fmt::format("{}  {}: {}", both_forms(code->number), code->name, code->meaning));
  return out;
}

std::string plain_number_text(const ParsedCode& parsed, const TextStyle& style) {
  std::string out = paint(style, Paint::bold, both_forms(parsed.number)) + '\n';
  if (!parsed.how.empty()) out += row(style, "read as", parsed.how);
  out += '\n' + paragraph(style, number_meaning(parsed));
  out += near_text(parsed.number, style);
  out += parsed.transport ? lookalikes_text(parsed.number, style, "What it stands for")
                          : lookalikes_text(parsed.number, style);
  return out + read_the_log(style);
}

std::string sentence_of(const NotAnError& name) {
  const CodeRange* range = code_range_of(name.number);
  const std::string_view module = range == nullptr ? std::string_view("a module") : std::string_view(range->module);
  switch (name.kind) {
    case NotAnError::Kind::success: return "Success: the call did what was asked. Not an error.";
    case NotAnError::Kind::sentinel:
      return "A sentinel of the headers: it only makes the enum 32 bits wide. No function returns it; where it is "
             "printed, "
             "the variable was never set.";
    case NotAnError::Kind::first_of_range:
      return fmt::format("The first number of the range of {}, a mark in the headers. It is not an error by itself.",
                         module);
    case NotAnError::Kind::last_of_range:
      return fmt::format("The last number of the range of {}, a mark in the headers. No function returns it.", module);
  }
  return {};
}

/// A stage that gives the number no meaning of its own gets the general one.
std::string code_body(const ErrorCode& code, const TextStyle& style, std::string_view stage) {
  std::string out = '\n' + paragraph(style, code.meaning);
  if (const StageMeaning* there = code.at_stage(stage)) return out + stage_text(*there, style);
  const bool all_stages = stage.empty() && !code.stages.empty();
  if (all_stages)
    for (const StageMeaning& each : code.stages) out += stage_text(each, style);
  return out + general_text(code, style, all_stages);
}

}  // namespace

std::string code_text(const ErrorCode& code, const TextStyle& style, std::string_view stage, std::string_view how) {
  std::string out = head(code, style, how) + code_body(code, style, stage) + others_text(code, style);
  out += lookalikes_text(code.number, style);
  return out + read_the_log(style);
}

std::string number_text(const ParsedCode& parsed, const TextStyle& style, std::string_view stage) {
  const ErrorCode* code = parsed.transport ? nullptr : find_error_code(parsed.number);
  return code == nullptr ? plain_number_text(parsed, style) : code_text(*code, style, stage, parsed.how);
}

std::string not_an_error_text(const NotAnError& name, const TextStyle& style) {
  std::string out = paint(style, Paint::bold, fmt::format("{}  {}", both_forms(name.number), name.name)) + '\n';
  out += '\n' + paragraph(style, sentence_of(name));
  if (const ErrorCode* code = find_error_code(name.number))
    return out + last_line(style, fmt::format("qnn-debug explain {}", code->number),
                           fmt::format("the same number is {}", code->name));
  return out + read_the_log(style);
}

std::optional<std::string> explain_code(std::string_view text, const TextStyle& style, std::string_view stage) {
  if (const std::optional<ParsedCode> parsed = parse_error_code(text)) return number_text(*parsed, style, stage);
  if (const ErrorCode* code = find_error_code(text)) return code_text(*code, style, stage);
  if (const NotAnError* name = find_not_an_error(text)) return not_an_error_text(*name, style);
  return std::nullopt;
}

std::string number_meaning(const ParsedCode& parsed) {
  if (parsed.transport)
    return "A status of FastRPC, the driver between CPU and DSP, not a QNN code. Its bits must not be masked. QNN "
           "prints its own "
           "code a few lines later, usually 4000 or 14001.";
  if (const NotAnError* name = find_not_an_error(parsed.number)) return sentence_of(*name);
  if (const CodeRange* range = code_range_of(parsed.number))
    return fmt::format("Not a code that QNN's headers have up to SDK 2.51. It falls in the range of {}.",
                       range_text(*range));
  if (parsed.number > 0xFFFF && (parsed.number & 0xFFFF) == 0)
    return "No error code: QNN keeps it in the low 16 bits, and here these are 0, success.";
  return "Not a QNN code: it is in no module's range (1000 to 14999, 30000 to 49999, 60000 to 60999).";
}

std::vector<std::string> code_names_like(std::string_view text) {
  if (text.empty() || text.size() > kLongestName) return {};
  std::string wanted(text);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](unsigned char c) { return c < 0x80U ? static_cast<char>(std::toupper(c)) : static_cast<char>(c); });
  const std::vector<std::string_view> views = error_code_names();
  std::vector<std::string> names(views.begin(), views.end());
  std::vector<std::string> like;
  if (wanted.size() >= kShortestPart)
    std::copy_if(names.begin(), names.end(), std::back_inserter(like),
                 [&](const std::string& name) { return name.find(wanted) != std::string::npos; });
  std::stable_sort(like.begin(), like.end(),
                   [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  const std::string full = wanted.starts_with("QNN_") ? wanted : "QNN_" + wanted;
  for (std::string& near : nearest_names(full, names, kMostSuggestions))
    if (std::find(like.begin(), like.end(), near) == like.end()) like.push_back(std::move(near));
  like.resize(std::min(like.size(), kMostSuggestions));
  return like;
}

}  // namespace qnndbg
