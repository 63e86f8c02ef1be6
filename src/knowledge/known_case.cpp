#include "knowledge/known_case.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "knowledge/soc.h"

namespace qnndbg {
namespace {

constexpr auto kClasses = std::to_array<std::string_view>({
    "library_not_found",
    "sdk_mix",
    "version_mismatch",
    "skel_load_failed",
    "permission_denied",
    "soc_arch_mismatch",
    "device_create_failed",
    "context_refused",
    "finalize_op_not_created",
    "finalize_graph_too_large",
    "finalize_tcm",
    "finalize_weights_not_mapped",
    "validation_refused",
    "op_unregistered",
    "cpu_fallback",
    "execute_failed",
    "input_not_copied",
    "io_mismatch",
    "conversion_crash",
    "quant_params_invalid",
    "wrong_output",
    "fp16_rounding",
    "fp16_overflow",
    "backend_not_built",
    "garbage_not_npu",
    "dsp_restart",
    "out_of_memory",
    "performance",
    "not_decidable",
});

constexpr auto kGrades = std::to_array<EvidenceGrade>(
    {EvidenceGrade::established, EvidenceGrade::maintainers, EvidenceGrade::inferred, EvidenceGrade::unknown});

constexpr auto kLists = std::to_array<FingerprintList>({
    {"classes", "class", &Fingerprint::classes},
    {"patterns", "pattern", &Fingerprint::patterns},
    {"operators", "operator", &Fingerprint::operators},
    {"kernels", "kernel", &Fingerprint::kernels},
    {"stages", "stage", &Fingerprint::stages},
    {"archs", "architecture", &Fingerprint::archs},
    {"socs", "SoC", &Fingerprint::socs},
    {"stacks", "stack", &Fingerprint::stacks},
    {"sdk_versions", "SDK version", &Fingerprint::sdk_versions},
    {"mnn_versions", "MNN version", &Fingerprint::mnn_versions},
});

constexpr auto kTexts = std::to_array<CaseText>({
    {"symptom", &KnownCase::symptom},
    {"cause", &KnownCase::cause},
    {"fix", &KnownCase::fix},
    {"notes", &KnownCase::notes},
});

constexpr int kLargestCode = 0xFFFF;  // QNN's codes are the low 16 bits of what its functions return
constexpr std::size_t kOwnIdDigits = 16;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

/// Writing JSON is the check: the library refuses what is not UTF-8. Most texts are ASCII and need none.
bool is_utf8(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return true;
  try {
    return !nlohmann::json(text).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// Several lines are allowed in texts, with tabs; control characters nowhere: they have no meaning in a case, and could
/// harm the terminal or end a string early.
Result<void> check_text(std::string_view field, std::string_view text, std::size_t longest, bool lines) {
  if (text.size() > longest) return fail("{}: {} bytes, at most {} are allowed", field, text.size(), longest);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool allowed = lines && (text[i] == '\n' || text[i] == '\t');
    if (is_control(text[i]) && !allowed)
      return fail("{}: control character 0x{:02x} at byte {}", field, static_cast<unsigned char>(text[i]), i);
  }
  if (!is_utf8(text)) return fail("{}: not UTF-8", field);
  return {};
}

/// Ids of patterns, stages and stacks: lower case, so that two people write the same one.
bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.';
  });
}

/// Empty if `value` may stand in the list, else why not.
std::string objection(const FingerprintList& list, const std::string& value) {
  const auto values = list.values;
  if (values == &Fingerprint::classes && !is_case_class(value))
    return fmt::format("`{}` is no class; docs/known-cases.md lists them", value);
  const bool words =
      values == &Fingerprint::patterns || values == &Fingerprint::stages || values == &Fingerprint::stacks;
  if (words && !is_word(value)) return fmt::format("`{}`: only a-z, 0-9, '-', '_' and '.' are allowed", value);
  if (values == &Fingerprint::archs && !parse_arch(value))
    return fmt::format("`{}` is no architecture; write it as v75", value);
  return {};
}

Result<void> check_list(const std::string& field, const std::vector<std::string>& values) {
  if (values.size() > kLongestCaseList)
    return fail("{}: {} entries, at most {} are allowed", field, values.size(), kLongestCaseList);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", field, i);
    if (values[i].empty()) return fail("{}: empty", place);
    if (auto checked = check_text(place, values[i], kLongestCaseValue, /*lines=*/false); !checked) return checked;
  }
  return {};
}

Result<void> check_codes(const std::vector<int>& codes) {
  if (codes.size() > kLongestCaseList)
    return fail("fingerprint.codes: {} entries, at most {} are allowed", codes.size(), kLongestCaseList);
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (codes[i] < 1 || codes[i] > kLargestCode)
      return fail("fingerprint.codes[{}]: {} is no error number (1 to {})", i, codes[i], kLargestCode);
  return {};
}

Result<void> check_fingerprint(const Fingerprint& fingerprint) {
  if (fingerprint.classes.empty())
    return fail("fingerprint.classes: missing; name the class of the problem (docs/known-cases.md lists them)");
  if (auto checked = check_codes(fingerprint.codes); !checked) return checked;
  for (const FingerprintList& list : kLists) {
    const std::vector<std::string>& values = fingerprint.*list.values;
    const std::string field = fmt::format("fingerprint.{}", list.key);
    if (auto checked = check_list(field, values); !checked) return checked;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (const std::string why = objection(list, values[i]); !why.empty()) return fail("{}[{}]: {}", field, i, why);
  }
  return {};
}

/// "2026-11-30" or "2026-11-30T12:34:56Z": both sort as text. Only the form is checked; a 31st of February harms
/// nobody.
bool is_date(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  constexpr std::size_t kDay = 10;
  if (text.size() != kDay && text.size() != kForm.size()) return false;
  return std::equal(text.begin(), text.end(), kForm.begin(),
                    [](char c, char f) { return f == 'd' ? is_digit(c) : c == f; });
}

Result<void> check_relation(const KnownCase& known) {
  const std::array<std::pair<std::string_view, const std::string&>, 2> relations = {
      {{"supersedes", known.supersedes}, {"annotates", known.annotates}}};
  for (const auto& [field, target] : relations) {
    if (target.empty()) continue;
    if (is_built_in_id(known.id)) return fail("{}: built-in cases have no such relation", field);
    if (!is_built_in_id(target)) return fail("{}: `{}` is no id of a built-in case (such as C04)", field, target);
  }
  if (!known.supersedes.empty() && !known.annotates.empty())
    return fail("annotates: a case supersedes another one or annotates it, not both");
  return {};
}

template <class T>
void drop_repetitions(std::vector<T>& values) {
  std::set<T> seen;
  std::erase_if(values, [&seen](const T& value) { return !seen.insert(value).second; });
}

}  // namespace

std::string_view name_of(EvidenceGrade grade) {
  switch (grade) {
    case EvidenceGrade::established: return "established";
    case EvidenceGrade::maintainers: return "maintainers";
    case EvidenceGrade::inferred: return "inferred";
    case EvidenceGrade::unknown: return "unknown";
  }
  return "unknown";
}

std::optional<EvidenceGrade> evidence_grade(std::string_view name) {
  for (const EvidenceGrade grade : kGrades)
    if (name_of(grade) == name) return grade;
  return std::nullopt;
}

std::span<const EvidenceGrade> evidence_grades() { return kGrades; }

std::span<const std::string_view> case_classes() { return kClasses; }

bool is_case_class(std::string_view id) { return std::find(kClasses.begin(), kClasses.end(), id) != kClasses.end(); }

bool is_built_in_id(std::string_view id) {
  constexpr std::size_t kFewestDigits = 2;
  constexpr std::size_t kMostDigits = 6;
  if (id.size() < 1 + kFewestDigits || id.size() > 1 + kMostDigits || id.front() != 'C') return false;
  return std::all_of(id.begin() + 1, id.end(), is_digit);
}

bool is_own_id(std::string_view id) {
  constexpr std::string_view kPrefix = "U-";
  return id.starts_with(kPrefix) && id.size() == kPrefix.size() + kOwnIdDigits &&
         std::all_of(id.begin() + kPrefix.size(), id.end(), is_lower_hex);
}

std::span<const FingerprintList> fingerprint_lists() { return kLists; }

std::span<const CaseText> case_texts() { return kTexts; }

void normalize(KnownCase& known) {
  for (std::string& arch : known.fingerprint.archs)
    if (const auto number = parse_arch(arch)) arch = arch_name(*number);
  for (const FingerprintList& list : kLists) drop_repetitions(known.fingerprint.*list.values);
  drop_repetitions(known.fingerprint.codes);
  drop_repetitions(known.sources);
}

Result<void> check_case(const KnownCase& known) {
  if (!is_built_in_id(known.id) && !is_own_id(known.id))
    return fail("id: not an id of a case (C04, or U- and {} hexadecimal digits)", kOwnIdDigits);
  if (known.title.empty()) return fail("title: missing");
  if (auto checked = check_text("title", known.title, kLongestCaseTitle, /*lines=*/false); !checked) return checked;
  for (const CaseText& text : kTexts)
    if (auto checked = check_text(text.key, known.*text.text, kLongestCaseText, /*lines=*/true); !checked)
      return checked;
  if (auto checked = check_list("sources", known.sources); !checked) return checked;
  if (!is_date(known.created)) return fail("created: not a date such as 2026-11-30 or 2026-11-30T12:34:56Z");
  if (!is_date(known.updated)) return fail("updated: not a date such as 2026-11-30 or 2026-11-30T12:34:56Z");
  if (auto checked = check_relation(known); !checked) return checked;
  return check_fingerprint(known.fingerprint);
}

}  // namespace qnndbg
