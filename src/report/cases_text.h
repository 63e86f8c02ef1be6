// Known cases for people: what `qnn-debug case` prints.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "knowledge/case_similarity.h"
#include "knowledge/known_case.h"
#include "report/style.h"

namespace qnndbg {

/// A table with one line per case.
std::string case_list_text(std::span<const KnownCase* const> cases, const TextStyle& style);

/// All of one case, and which of the user's cases (`about`) supersede or annotate it.
std::string case_text(const KnownCase& known, std::span<const KnownCase* const> about, const TextStyle& style);

/// Cases that look like a run, each with what they share with it, its cause and what helped.
std::string case_matches_text(std::span<const SimilarCase> matches, const TextStyle& style);

}  // namespace qnndbg
