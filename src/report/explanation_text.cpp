#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "knowledge/log_words.h"
#include "report/explanation.h"

namespace qnndbg {
namespace {

constexpr std::size_t kLabel = 10;  // width of the row labels
constexpr std::size_t kGutter = 5;  // "   | "
constexpr std::size_t kLineNumber = 7;
constexpr std::size_t kMostEvidence = 10;  // all of it with -v
constexpr std::size_t kMostSeen = 3;
constexpr std::size_t kEvidenceColumns = 2000;  // longer lines lose their middle

std::size_t width_of(const TextStyle& style) { return static_cast<std::size_t>(std::max(style.width, 40)); }

std::string head(const Explanation& e, const TextStyle& style) {
  const bool undecided = e.class_id == "not_decidable";
  const std::string level = undecided ? "not decidable" : fmt::format("error[{}]", e.class_id);
  std::string text = terminal_safe(e.summary);
  // The level says it already.
  constexpr std::string_view kUndecided = "Not decidable from this: ";
  if (undecided && text.starts_with(kUndecided)) text.erase(0, kUndecided.size());
  return paint(style, undecided ? Paint::warning : Paint::error, level) + ": " +
         paint(style, Paint::bold, wrap(text, 0, width_of(style) - std::min<std::size_t>(level.size() + 2, 30))) + '\n';
}

std::string row(const TextStyle& style, std::string_view label, std::string_view text) {
  const std::string wrapped = wrap(text, kGutter + kLabel, width_of(style));
  std::string out = fmt::format("   {} {:<{}}", "|", label, kLabel);
  for (std::size_t begin = 0;;) {
    const std::size_t end = wrapped.find('\n', begin);
    out += wrapped.substr(begin, end - begin);
    out += '\n';
    if (end == std::string::npos) return out;
    out += "   |";
    begin = end + 1 + 4;
  }
}

std::string evidence_text(const Explanation& e, const TextStyle& style) {
  std::string out;
  const std::size_t shown = style.verbosity > 0 ? e.evidence.size() : std::min(e.evidence.size(), kMostEvidence);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string text =
        shorten(terminal_safe(e.evidence[i].text),
                style.verbosity > 0 ? kEvidenceColumns : width_of(style) - kLineNumber - 3, style.unicode);
    const std::string number = e.evidence[i].line == 0 ? "" : fmt::format("{}", e.evidence[i].line);
    out += fmt::format("{} {} {}\n", paint(style, Paint::faint, fmt::format("{:>{}}", number, kLineNumber)),
                       paint(style, Paint::faint, "|"), text);
  }
  if (shown < e.evidence.size())
    out += fmt::format("{:>{}} | and {} (-v shows them)\n", "", kLineNumber,
                       plural(static_cast<long long>(e.evidence.size() - shown), "line"));
  return out;
}

std::string codes_text(const Explanation& e) {
  std::vector<std::string> words;
  for (const ExplainedCode& code : e.codes) {
    std::string word = fmt::format("{} = {:#x}", code.number, code.number);
    if (!code.name.empty()) word += ' ' + code.name;
    if (!code.stage.empty()) word += fmt::format(" (at {})", code.stage);
    words.push_back(std::move(word));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

std::string run_text(const LogFacts& facts) {
  std::vector<std::string> words;
  if (!facts.soc.empty()) words.push_back(fmt::format("SoC {}", facts.soc));
  if (!facts.soc_name.empty()) words.push_back(facts.soc_name);
  if (!facts.arch.empty()) words.push_back(facts.arch);
  for (const auto& [name, version] : facts.versions) words.push_back(fmt::format("{} {}", name, version));
  if (!facts.stack.empty()) words.push_back(fmt::format("lines of {}", facts.stack));
  return terminal_safe(fmt::format("{}", fmt::join(words, ", ")));
}

std::string node_text(const LogNode& node) {
  std::string text = fmt::format("`{}`", node.name);
  if (!node.type.empty()) text += fmt::format(" ({})", node.type);
  if (node.op_index >= 0) text += fmt::format(" of operator #{} `{}`", node.op_index, node.op);
  for (const EvidenceLine& reason : node.reasons) text += fmt::format("; {}", reason_words(reason));
  if (const std::string difference = datatype_difference(node); !difference.empty()) text += "; " + difference;
  if (const std::string inputs = kernel_inputs_words(node.inputs); !inputs.empty()) text += "; " + inputs;
  return terminal_safe(text);
}

std::string facts_text(const Explanation& e, const TextStyle& style) {
  std::string out;
  constexpr std::size_t kMostNodes = 3;
  for (std::size_t i = 0; i < std::min(e.facts.nodes.size(), kMostNodes); ++i)
    out += row(style, i == 0 ? "node" : "", node_text(e.facts.nodes[i]));
  const std::uint64_t more =
      e.facts.nodes_left_out + (e.facts.nodes.size() - std::min(e.facts.nodes.size(), kMostNodes));
  if (more > 0) out += row(style, "", fmt::format("and {} more", more));
  if (!e.codes.empty()) out += row(style, "code", codes_text(e));
  if (const std::string run = run_text(e.facts); !run.empty()) out += row(style, "run", run);
  if (!e.also.empty()) out += row(style, "also", fmt::format("{}", fmt::join(e.also, ", ")));
  return out;
}

std::string steps_text(const std::vector<std::string>& steps, const TextStyle& style) {
  std::string out;
  int number = 0;
  for (const std::string& step : steps) {
    ++number;
    const std::string mark = fmt::format("{:>4}. ", number);
    out += mark + wrap(terminal_safe(step), mark.size(), width_of(style)) + '\n';
  }
  return out;
}

std::string labelled(const TextStyle& style, std::string_view label, std::string_view text) {
  if (text.empty()) return "";
  const std::string mark = fmt::format("   = {:<{}}", label, kLabel);
  return mark + wrap(terminal_safe(text), mark.size(), width_of(style)) + '\n';
}

}  // namespace

Fingerprint fingerprint_of(const Explanation& e) {
  Fingerprint print;
  if (e.class_id != "not_decidable") print.classes = {e.class_id};
  const auto add = [](std::vector<std::string>& list, const std::string& value) {
    if (!value.empty() && list.size() < kLongestCaseList && std::find(list.begin(), list.end(), value) == list.end())
      list.push_back(value);
  };
  for (const ExplainedCode& code : e.codes) {
    if (std::find(print.codes.begin(), print.codes.end(), code.number) == print.codes.end())
      print.codes.push_back(code.number);
    add(print.stages, code.stage);
  }
  print.patterns = e.patterns;
  for (const LogNode& node : e.facts.nodes) {
    add(print.operators, node.type);
    add(print.kernels, node.kernel);
  }
  add(print.archs, e.facts.arch);
  add(print.socs, e.facts.soc);
  add(print.socs, e.facts.soc_name);
  add(print.stacks, e.facts.stack);
  if (const auto sdk = e.facts.versions.find("sdk"); sdk != e.facts.versions.end())
    add(print.sdk_versions, sdk->second);
  if (const auto mnn = e.facts.versions.find("mnn"); mnn != e.facts.versions.end())
    add(print.mnn_versions, mnn->second);
  return print;
}

std::string seen_before_text(std::span<const SimilarCase> cases, const TextStyle& style) {
  std::string out;
  for (std::size_t i = 0; i < std::min(cases.size(), kMostSeen); ++i) {
    const KnownCase& known = cases[i].known;
    const std::string line =
        fmt::format("{} {} ({}; qnn-debug case show {})", known.id, known.title,
                    fmt::join(cases[i].shared.begin(),
                              cases[i].shared.begin() +
                                  static_cast<std::ptrdiff_t>(std::min<std::size_t>(cases[i].shared.size(), 3)),
                              ", "),
                    known.id);
    out += labelled(style, i == 0 ? "seen" : "", line);
  }
  return out;
}

std::string explanation_text(const Explanation& e, std::span<const SimilarCase> cases, const TextStyle& style) {
  std::string out = head(e, style);
  out += evidence_text(e, style);
  out += facts_text(e, style);
  out += labelled(style, "why", e.why);
  out += labelled(style, "control", e.experiment);
  out += seen_before_text(cases, style);
  out += paint(style, Paint::accent, "next") + '\n';
  out += steps_text(e.next_steps, style);
  if (e.class_id != "not_decidable")
    out += fmt::format("class {}, confidence {}; {} read, {} of them noise\n", e.class_id, name_of(e.confidence),
                       plural(static_cast<long long>(e.facts.lines), "line"), e.facts.noise_lines);
  return out;
}

std::string finding_type_summary(const FindingType& type) {
  return fmt::format("{} {}: an operator {}", type.id, type.cause, type.title);
}

std::string finding_type_text(const FindingType& type, const TextStyle& style) {
  return fmt::format(
      "{}\n{}{}", paint(style, Paint::bold, finding_type_summary(type)), labelled(style, "do", type.next),
      labelled(style, "proof",
               "qnn-debug replay --model MODEL --dump DIR --op OPERATOR tries every mistake that the operator knows"));
}

std::vector<std::string> without_placeholders(const std::vector<std::string>& steps) {
  std::vector<std::string> result;
  for (const std::string& step : steps) result.push_back(fill_template(step, {}));
  return result;
}

std::string class_text(const ExplanationClass& type, std::span<const SimilarCase> cases, const TextStyle& style) {
  std::string out = paint(style, Paint::bold, fmt::format("{}: {}", type.id, type.title)) + '\n';
  out += labelled(style, "why", fill_template(type.why, {}));
  out += labelled(style, "control", type.experiment);
  out += seen_before_text(cases, style);
  out += paint(style, Paint::accent, "next") + '\n';
  return out + steps_text(without_placeholders(type.next_steps), style);
}

}  // namespace qnndbg
