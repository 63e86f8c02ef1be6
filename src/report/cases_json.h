// Cases that look like a run, in documents.
#pragma once

#include <span>
#include <string>

#include "knowledge/case_similarity.h"
#include "report/json_object.h"

namespace qnndbg {

/// A list of {"similarity", "shared", "case"}, for any document that has one.
Json similar_cases_json(std::span<const SimilarCase> matches);

/// The document "qnn-debug/case-matches/1" (schema/known-cases.schema.json), with a newline at its end.
std::string case_matches_json(std::span<const SimilarCase> matches);

}  // namespace qnndbg
