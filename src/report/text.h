// The diagnosis for people: the terminal view.
#pragma once

#include <span>
#include <string>

#include "diagnose/diagnosis.h"
#include "knowledge/case_similarity.h"
#include "report/style.h"

namespace qnndbg {

/// Headline; the findings, each with its place, evidence and what to do; the operators around a culprit; the error
/// along the network; what was covered; the verdict as the last line. Names of foreign origin are made printable.
/// `cases` are known ones that look like the log of the run.
std::string to_text(const Diagnosis& diagnosis, const TextStyle& style, std::span<const SimilarCase> cases = {});

}  // namespace qnndbg
