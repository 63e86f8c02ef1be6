// A diagnosis document read back, to be rendered again or compared without running anything.
#pragma once

#include <string_view>
#include <vector>

#include "diagnose/diagnosis.h"
#include "knowledge/case_similarity.h"
#include "tensor/result.h"

namespace qnndbg {

/// A larger document is refused unread; one of 500 operators has 1 MB.
inline constexpr std::size_t kLargestDiagnosisDocument = std::size_t{256} << 20;

/// What a document holds beside the diagnosis: the known cases that looked like its log.
struct DiagnosisDocument {
  Diagnosis diagnosis;
  std::vector<SimilarCase> cases;
};

/// Reads a document "qnn-debug/diagnosis/1" (schema/diagnosis.schema.json): of what to_json() wrote, everything, so
/// that to_json(document.diagnosis, document.cases) is the same text again. Fields that this version does not know are
/// ignored. A number that is null and counted in "nonfinite" becomes NaN.
///
/// The text may come from a stranger. Refused, with the place ("operators[3].status: ..."): what is not JSON, another
/// schema, fields that are missing, of another type or out of range, nesting and sizes that no document has.
Result<DiagnosisDocument> read_diagnosis(std::string_view text);

/// The diagnosis alone.
Result<Diagnosis> diagnosis_from_json(std::string_view text);

}  // namespace qnndbg
