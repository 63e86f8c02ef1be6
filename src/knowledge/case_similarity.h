// Which cases look like a failing run: weighted overlap of fingerprints, simple enough to be checked by hand.
//
// A trait is one value of a fingerprint: code 1002, pattern op-creation-failure, operator LayerNorm. Its weight is
//
//     weight(kind) * ln(1 + N / n) / ln(1 + N)          n of the N cases have it (inverse document frequency)
//
// so that what every case has says little, and what one case has says much. Of a run R and a case C
//
//     similarity = (shared + context) / sqrt((all of R + context) * (all of C + context))
//
// (the cosine of the two sets, as in text retrieval), where the sums go over the traits that can tell problems apart:
// class, code, pattern, operator, kernel. `context` sums what both have of the rest (stage, architecture, SoC,
// versions, stack): to agree there speaks for a case a little, to have nothing there speaks neither for nor against it.
// Contradictions divide: another stage, another class, other operators, or patterns without any of those that only this
// case has. The same number at another stage is another problem. A case of which the run shares a single trait is a
// match only if no other case has that trait: one common code alone decides nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "knowledge/known_case.h"

namespace qnndbg {

/// Below it a case is not shown: no nearest case is better than a wrong one.
inline constexpr double kLeastSimilarity = 0.4;

struct SimilarCase {
  KnownCase known;
  double similarity = 0;            // 0 to 1, in steps of 0.001
  std::vector<std::string> shared;  // what run and case have in common, for people, the most telling first
};

/// The cases nearest to a run, at most `limit`, by similarity and then by id. The result depends on nothing but the
/// arguments; the order of the cases does not matter.
std::vector<SimilarCase> nearest_cases(std::span<const KnownCase* const> cases, const Fingerprint& run,
                                       std::size_t limit);

}  // namespace qnndbg
