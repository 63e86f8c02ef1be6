// The diagnosis as the JSON document that schema/diagnosis.schema.json describes.
#pragma once

#include <span>
#include <string>

#include "diagnose/diagnosis.h"
#include "knowledge/case_similarity.h"

namespace qnndbg {

/// The document, with a newline at its end. It is plain ASCII whatever names the model has (other characters are \u
/// escapes, bytes that are not UTF-8 become U+FFFD), so that it can be printed on a terminal. Error figures have six
/// significant digits. A number that JSON cannot hold (NaN, infinity) is null, and the object that holds it counts such
/// numbers in "nonfinite".
/// `cases` are known ones that look like the log of the run; they stand under "similar_cases".
std::string to_json(const Diagnosis& diagnosis, std::span<const SimilarCase> cases = {});

/// The same document in one line, for a page that holds it.
std::string to_compact_json(const Diagnosis& diagnosis, std::span<const SimilarCase> cases = {});

}  // namespace qnndbg
