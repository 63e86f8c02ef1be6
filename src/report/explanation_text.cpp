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
constexpr std::size_t kMostNodes = 3;
constexpr std::size_t kMostSeen = 3;
constexpr std::size_t kEvidenceRows = 2;  // of the terminal, for one line of the log; longer ones lose their middle
constexpr std::string_view kUndecided = "not_decidable";

std::size_t width_of(const TextStyle& style) { return static_cast<std::size_t>(std::max(style.width, 40)); }

/// A label, which is shorter than any line, and after it the text; both painted.
std::string headline(const TextStyle& style, Paint color, const std::string& label, std::string_view text) {
  const std::string wrapped = wrap(fmt::format("{}: {}", label, text), 0, width_of(style));
  return paint(style, color, label) + ": " + paint(style, Paint::bold, wrapped.substr(label.size() + 2)) + '\n';
}

std::string head(const Explanation& e, const TextStyle& style) {
  const std::string text = terminal_safe(e.summary);
  if (e.class_id != kUndecided) return headline(style, Paint::error, fmt::format("error[{}]", e.class_id), text);
  // The label says it already. Of a model there may be nothing to decide.
  constexpr std::string_view kSaid = "Not decidable from this: ";
  if (!text.starts_with(kSaid)) return paint(style, Paint::bold, wrap(text, 0, width_of(style))) + '\n';
  return headline(style, Paint::warning, "not decidable", text.substr(kSaid.size()));
}

/// `text` behind a gutter that its continuation lines keep. `begin` ends with the bar and may be painted; `bar` is
/// where the bar stands.
std::string behind_bar(std::string_view begin, std::size_t bar, std::size_t indent, std::string_view text,
                       std::size_t width) {
  const std::string wrapped = wrap(text, indent, width);
  std::string out(begin);
  for (std::size_t from = 0;;) {
    const std::size_t end = wrapped.find('\n', from);
    out += wrapped.substr(from, end - from);
    out += '\n';
    if (end == std::string::npos) return out;
    out += fmt::format("{:>{}}", "|", bar + 1);
    from = end + 1 + bar + 1;
  }
}

std::string row(const TextStyle& style, std::string_view label, std::string_view text) {
  return behind_bar(fmt::format("   | {:<{}}", label, kLabel), 3, kGutter + kLabel, text, width_of(style));
}

std::string labelled(const TextStyle& style, std::string_view label, std::string_view text) {
  if (text.empty()) return "";
  const std::string mark = fmt::format("   = {:<{}}", label, kLabel);
  return mark + wrap(terminal_safe(text), mark.size(), width_of(style)) + '\n';
}

/// The message alone, unless all is asked for: what loggers put before it takes half of a terminal's width.
std::string evidence_line(const EvidenceLine& line, const TextStyle& style) {
  const std::string number = line.line == 0 ? "" : fmt::format("{}", line.line);
  const std::string begin =
      fmt::format("{} ", paint(style, Paint::faint, fmt::format("{:>{}} |", number, kLineNumber)));
  constexpr std::size_t kIndent = kLineNumber + 3;
  if (style.verbosity > 0)
    return behind_bar(begin, kLineNumber + 1, kIndent, terminal_safe(line.text), width_of(style));
  // Half a row is left for what wrapping leaves empty.
  const std::size_t columns = kEvidenceRows * (width_of(style) - kIndent) - (width_of(style) - kIndent) / 2;
  const std::string message = shorten(terminal_safe(message_of(line.text)), columns, style.unicode);
  return behind_bar(begin, kLineNumber + 1, kIndent, message, width_of(style));
}

std::string evidence_text(const Explanation& e, const TextStyle& style) {
  std::string out;
  const std::size_t shown = style.verbosity > 0 ? e.evidence.size() : std::min(e.evidence.size(), kMostEvidence);
  for (std::size_t i = 0; i < shown; ++i) out += evidence_line(e.evidence[i], style);
  if (shown < e.evidence.size())
    out += fmt::format("{:>{}} | and {} (-v shows {})\n", "", kLineNumber,
                       plural(static_cast<long long>(e.evidence.size() - shown), "line"),
                       e.evidence.size() - shown == 1 ? "it" : "them");
  return out;
}

/// Numbers that QNN's headers know, each on a row.
std::string codes_text(const Explanation& e, const TextStyle& style) {
  std::string out;
  for (const ExplainedCode& code : e.codes) {
    if (code.name.empty()) continue;
    const std::string where = code.stage.empty() ? "" : fmt::format(" (at {})", code.stage);
    out += row(style, out.empty() ? "code" : "", fmt::format("{0} = {0:#x} {1}{2}", code.number, code.name, where));
  }
  return out;
}

std::string_view stack_name(std::string_view stack) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"mnn", "MNN"},       {"ort", "ONNX Runtime"}, {"executorch", "ExecuTorch"}, {"genie", "Genie"},
      {"litert", "LiteRT"}, {"qnn", "QNN's tools"},  {"fastrpc", "FastRPC"},       {"android", "Android"}};
  const auto* found =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& entry) { return entry.first == stack; });
  return found == std::end(kNames) ? stack : found->second;
}

std::string_view version_name(std::string_view of) {
  if (of == "sdk") return "QNN SDK";
  if (of == "mnn") return "MNN";
  return of == "onnxruntime" ? "ONNX Runtime" : of;
}

std::string run_text(const LogFacts& facts) {
  std::vector<std::string> words;
  if (!facts.soc.empty()) words.push_back(fmt::format("SoC {}", facts.soc));
  if (!facts.soc_name.empty()) words.push_back(facts.soc_name);
  if (!facts.arch.empty()) words.push_back(fmt::format("HTP {}", facts.arch));
  for (const auto& [name, version] : facts.versions)
    if (name != "expected" && name != "detected")  // the headline has them
      words.push_back(fmt::format("{} {}", version_name(name), version));
  if (!facts.stack.empty()) words.push_back(fmt::format("a log of {}", stack_name(facts.stack)));
  return terminal_safe(fmt::format("{}", fmt::join(words, ", ")));
}

/// What the headline does not say about a node; empty when that is all.
std::string node_text(const LogNode& node, std::string_view headline) {
  std::vector<std::string> parts;
  const auto add = [&](std::string text) {
    if (!text.empty() && headline.find(text) == std::string_view::npos) parts.push_back(std::move(text));
  };
  if (node.op_index >= 0) parts.push_back(fmt::format("operator #{} `{}` of the model", node.op_index, node.op));
  const std::string difference = datatype_difference(node);
  add(difference);
  // The difference says better what the library says about the types as a whole.
  if (difference.empty())
    for (const EvidenceLine& reason : node.reasons) add(reason_words(reason));
  add(kernel_inputs_words(node.inputs));
  if (parts.empty()) return "";
  return terminal_safe(fmt::format("`{}`{}: {}", node.name, node.type.empty() ? "" : fmt::format(" ({})", node.type),
                                   fmt::join(parts, "; ")));
}

std::string nodes_text(const Explanation& e, const TextStyle& style) {
  std::vector<std::string> texts;
  for (const LogNode& node : e.facts.nodes)
    if (std::string text = node_text(node, e.summary); !text.empty()) texts.push_back(std::move(text));
  std::string out;
  const std::size_t shown = style.verbosity > 0 ? texts.size() : std::min(texts.size(), kMostNodes);
  for (std::size_t i = 0; i < shown; ++i) out += row(style, i == 0 ? "node" : "", texts[i]);
  if (shown < texts.size()) out += row(style, "", fmt::format("and {} more (-v)", texts.size() - shown));
  return out;
}

std::string facts_text(const Explanation& e, const TextStyle& style) {
  std::string out = nodes_text(e, style) + codes_text(e, style);
  if (const std::string run = run_text(e.facts); !run.empty()) out += row(style, "run", run);
  if (!e.also.empty()) out += row(style, "also", fmt::format("signs of {}", fmt::join(e.also, ", ")));
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

std::string next_text(const std::vector<std::string>& steps, const TextStyle& style) {
  return paint(style, Paint::accent, "next") + '\n' + steps_text(steps, style);
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
  for (const std::string& id : e.patterns)
    if (const int pattern = find_log_pattern(id); pattern >= 0)
      add(print.stages, log_patterns()[static_cast<std::size_t>(pattern)].stage);
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
  out += next_text(e.next_steps, style);
  if (e.class_id != "not_decidable")
    out += fmt::format("class {}, confidence {}; {} read, {} of them noise\n", e.class_id, name_of(e.confidence),
                       plural(static_cast<long long>(e.facts.lines), "line"), e.facts.noise_lines);
  return out;
}

std::string finding_type_summary(const FindingType& type) {
  const std::string_view subject = type.id.starts_with("QD01") ? "an input" : "an operator";
  return fmt::format("{} {}: {} {}", type.id, type.cause, subject, type.title);
}

std::vector<std::string> finding_type_steps(const FindingType& type) {
  const std::string_view family = type.id.substr(0, 4);
  std::vector<std::string> steps = {std::string(type.next)};
  if (family == "QD04" || family == "QD05") {  // found in a log
    steps.emplace_back("Read the lines that tell why: qnn-debug explain run.log --model model.mnn");
  } else if (family == "QD01") {
    steps.emplace_back(
        "Compare the dump with the input: qnn-debug diagnose --model model.mnn --inputs input/inputs.json --dump "
        "qnn_intermediate_outputs");
  } else {
    steps.emplace_back(
        "See the operator in depth: qnn-debug replay --model model.mnn --dump qnn_intermediate_outputs --op NAME");
  }
  return steps;
}

std::string finding_type_text(const FindingType& type, const TextStyle& style) {
  return paint(style, Paint::bold, wrap(finding_type_summary(type), 0, width_of(style))) + '\n' +
         next_text(finding_type_steps(type), style);
}

std::string without_log(std::string_view text) { return fill_template(text, {{"if_mnn", ""}}); }

std::vector<std::string> without_log(const std::vector<std::string>& steps) {
  std::vector<std::string> result;
  for (const std::string& step : steps)
    if (std::string text = without_log(step); !text.empty()) result.push_back(std::move(text));
  return result;
}

std::string class_text(const ExplanationClass& type, std::span<const SimilarCase> cases, const TextStyle& style) {
  std::string out = paint(style, Paint::bold, fmt::format("{}: {}", type.id, type.title)) + '\n';
  out += labelled(style, "why", without_log(type.why));
  out += labelled(style, "control", without_log(type.experiment));
  out += seen_before_text(cases, style);
  return out + next_text(without_log(type.next_steps), style);
}

}  // namespace qnndbg
