#include "report/cases_text.h"

#include <fmt/format.h>

#include "report/table.h"

namespace qnndbg {
namespace {

constexpr std::size_t kLabelColumns = 12;

/// Texts of a case may have several lines; each is made printable and wrapped by itself.
std::string paragraphs(std::string_view text, std::size_t indent, const TextStyle& style) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!out.empty()) out += fmt::format("\n{:{}}", "", indent);
    out += wrap(terminal_safe(text.substr(0, end)), indent, static_cast<std::size_t>(style.width));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// "  cause       text", nothing without a text.
std::string labelled(std::string_view label, std::string_view text, const TextStyle& style) {
  if (text.empty()) return {};
  constexpr std::size_t kIndent = 2 + kLabelColumns;
  const std::string padded = fmt::format("{:<{}}", label, kLabelColumns);
  return fmt::format("  {}{}\n", paint(style, Paint::accent, padded), paragraphs(text, kIndent, style));
}

std::string heading(const KnownCase& known, std::string_view between, const TextStyle& style) {
  return fmt::format("{}{}{}\n", paint(style, Paint::bold, known.id), between,
                     paint(style, Paint::bold, terminal_safe(known.title)));
}

std::string joined(const std::vector<std::string>& values) { return fmt::format("{}", fmt::join(values, ", ")); }

/// "1002 = 0x3ea, 5003 = 0x138b": logs have both forms.
std::string codes_text(const std::vector<int>& codes) {
  std::vector<std::string> texts;
  for (const int code : codes) texts.push_back(fmt::format("{} = 0x{:x}", code, code));
  return joined(texts);
}

std::string fingerprint_lines(const Fingerprint& fingerprint, const TextStyle& style) {
  std::string out;
  for (const FingerprintList& list : fingerprint_lists()) {
    out += labelled(list.label, joined(fingerprint.*list.values), style);
    if (list.values == &Fingerprint::classes) out += labelled("code", codes_text(fingerprint.codes), style);
  }
  return out;
}

std::string cause_text(const KnownCase& known) {
  if (known.cause.empty()) return {};
  return fmt::format("{}\n(evidence: {})", known.cause, name_of(known.evidence));
}

std::string dates_text(const KnownCase& known) {
  return known.created == known.updated ? known.created : fmt::format("{}, changed {}", known.created, known.updated);
}

}  // namespace

std::string case_list_text(std::span<const KnownCase* const> cases, const TextStyle& style) {
  const std::vector<TableColumn> columns = {{.title = "id"}, {.title = "class"}, {.title = "title", .shortens = true}};
  std::vector<TableRow> rows;
  for (const KnownCase* known : cases)
    rows.push_back({.cells = {known->id, known->fingerprint.classes.front(), terminal_safe(known->title)}});
  return render_table(style, columns, rows, 0);
}

std::string case_text(const KnownCase& known, std::span<const KnownCase* const> about, const TextStyle& style) {
  std::string out = heading(known, "   ", style);
  out += labelled("symptom", known.symptom, style);
  out += labelled("cause", cause_text(known), style);
  out += labelled("fix", known.fix, style);
  out += labelled("notes", known.notes, style);
  out += fingerprint_lines(known.fingerprint, style);
  out += labelled("source", joined(known.sources), style);
  out += labelled("date", dates_text(known), style);
  out += labelled("supersedes", known.supersedes, style);
  out += labelled("note to", known.annotates, style);
  for (const KnownCase* other : about)
    out += labelled(other->supersedes == known.id ? "replaced by" : "your note",
                    fmt::format("{}   {}", other->id, other->title), style);
  return out;
}

std::string case_matches_text(std::span<const SimilarCase> matches, const TextStyle& style) {
  std::string out;
  for (const SimilarCase& match : matches) {
    out += heading(match.known, fmt::format("   {:.2f}   ", match.similarity), style);
    out += labelled("shared", joined(match.shared), style);
    out += labelled("cause", cause_text(match.known), style);
    out += labelled("fix", match.known.fix, style);
    out += '\n';
  }
  if (!matches.empty()) out += fmt::format("more: qnn-debug case show {}\n", matches.front().known.id);
  return out;
}

}  // namespace qnndbg
