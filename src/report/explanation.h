// An explanation for people and as the document "qnn-debug/explanation/1" (schema/explanation.schema.json).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/case_similarity.h"
#include "knowledge/codes.h"
#include "knowledge/explanation.h"
#include "knowledge/findings.h"
#include "report/json_object.h"
#include "report/style.h"

namespace qnndbg {

/// The fingerprint of an explanation, for finding cases like it.
Fingerprint fingerprint_of(const Explanation& explanation);

/// Headline with the class, the lines of the log that decide, what it means, what to do, and cases seen before. The
/// last line is the next command.
std::string explanation_text(const Explanation& explanation, std::span<const SimilarCase> cases,
                             const TextStyle& style);

/// The document, with a newline at its end.
std::string explanation_json(const Explanation& explanation, std::span<const SimilarCase> cases);

/// The same for a number: its class where the number alone decides, else "not_decidable".
std::string code_explanation_json(const ParsedCode& parsed, std::string_view stage, std::span<const SimilarCase> cases);

/// A finding id or cause of docs/causes.md: what it says and what to do.
std::string finding_type_text(const FindingType& type, const TextStyle& style);
std::string finding_type_json(const FindingType& type);

/// "QD0203 weight_scale_wrong: an operator that is computed with scaled weights"
std::string finding_type_summary(const FindingType& type);

/// What to do about a finding; the last step is a command.
std::vector<std::string> finding_type_steps(const FindingType& type);

/// Texts of a class as they are for MNN, without the parts that only a log can fill.
std::string without_log(std::string_view text);
std::vector<std::string> without_log(const std::vector<std::string>& steps);

/// A class of explanations.
std::string class_text(const ExplanationClass& type, std::span<const SimilarCase> cases, const TextStyle& style);
std::string class_json(const ExplanationClass& type, std::span<const SimilarCase> cases);

/// The part of a diagnosis document that says what the log says: class, summary, evidence, next steps; null without a
/// log.
Json log_json(const std::optional<Explanation>& log);

/// "seen before: C04 LayerNorm in fp16 ... (0.82: code 1002, pattern ...)"
std::string seen_before_text(std::span<const SimilarCase> cases, const TextStyle& style);

}  // namespace qnndbg
