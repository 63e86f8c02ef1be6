// What is remembered of a problem: how it looked (the fingerprint), what it was, what helped.
//
// Built-in cases have ids like "C04" and come with the program; a user's own have ids like "U-0123456789abcdef".
// case_json.h reads and writes them, case_store.h keeps them, case_similarity.h compares fingerprints.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/result.h"

namespace qnndbg {

/// What can be observed of a failing run, without any opinion about it but the class. Every list may be empty; in a
/// case, several values mean that it was seen with each of them.
struct Fingerprint {
  // With initializers, so that compilers do not miss what a designated initializer leaves out.
  std::vector<std::string> classes = {};       // of case_classes(), the most fitting first
  std::vector<int> codes = {};                 // QNN error numbers, 1 to 65535
  std::vector<std::string> patterns = {};      // ids of log patterns: "op-creation-failure"
  std::vector<std::string> operators = {};     // QNN or MNN types, in any case: "LayerNorm"
  std::vector<std::string> kernels = {};       // of HTP: "q::layernorm_2d_fp16"; a case's also stands for longer names
  std::vector<std::string> stages = {};        // "finalize", "context", ... (docs/known-cases.md)
  std::vector<std::string> archs = {};         // "v75"
  std::vector<std::string> socs = {};          // QNN's number or a model: "57", "SM8650"
  std::vector<std::string> stacks = {};        // who called QNN: "mnn", "mnn-llm", "ort", "executorch", ...
  std::vector<std::string> sdk_versions = {};  // "2.42"
  std::vector<std::string> mnn_versions = {};  // "3.2.4"

  bool operator==(const Fingerprint&) const = default;
};

/// How well the cause is known.
enum class EvidenceGrade : std::uint8_t {
  established,  // by a test, or by the people who fixed it
  maintainers,  // stated by maintainers, in a guide or with a fix
  inferred,     // follows from the log and from public source
  unknown,      // not known
};

std::string_view name_of(EvidenceGrade grade);
std::optional<EvidenceGrade> evidence_grade(std::string_view name);
std::span<const EvidenceGrade> evidence_grades();

struct KnownCase {
  std::string id;
  std::string title;    // one line
  std::string symptom;  // what people see
  std::string cause;
  EvidenceGrade evidence = EvidenceGrade::unknown;  // of the cause
  std::string fix;
  std::string notes;
  std::vector<std::string> sources;  // "alibaba/MNN #4475"
  std::string created;               // "2026-11-30" or "2026-11-30T12:34:56Z"
  std::string updated;               // the same; decides which of two versions is newer
  std::string supersedes;            // id of the built-in case that this one replaces, or empty
  std::string annotates;             // id of the built-in case that this one is a note to, or empty
  Fingerprint fingerprint;           // its classes are never empty

  bool operator==(const KnownCase&) const = default;
};

/// Ids of the classes of problems, those of an explanation's `class`.
std::span<const std::string_view> case_classes();
bool is_case_class(std::string_view id);

bool is_built_in_id(std::string_view id);  // "C04"
bool is_own_id(std::string_view id);       // "U-" and 16 hexadecimal digits

/// The lists of text in a fingerprint, so that whoever goes over all of them cannot forget one.
struct FingerprintList {
  std::string_view key;    // "patterns", in documents
  std::string_view label;  // "pattern", for people
  std::vector<std::string> Fingerprint::* values;
};
std::span<const FingerprintList> fingerprint_lists();

/// The texts of a case that may have several lines.
struct CaseText {
  std::string_view key;
  std::string KnownCase::* text;
};
std::span<const CaseText> case_texts();

/// What a case may hold at most.
inline constexpr std::size_t kLongestCaseTitle = 200;      // bytes
inline constexpr std::size_t kLongestCaseText = 64 << 10;  // bytes
inline constexpr std::size_t kLongestCaseValue = 500;      // bytes; an entry of a list
inline constexpr std::size_t kLongestCaseList = 1000;      // entries
inline constexpr std::size_t kMostCases = 100'000;

/// Brings lists into the form in which they are compared: no value twice, architectures as "v75".
void normalize(KnownCase& known);

/// Whether a case may be kept: fields present, sizes, ids, dates, UTF-8 without control characters. The error begins
/// with the field: "fingerprint.codes[2]: ...".
Result<void> check_case(const KnownCase& known);

}  // namespace qnndbg
