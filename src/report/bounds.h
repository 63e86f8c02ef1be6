// The margin report of `diagnose --explain-bounds`.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"
#include "report/style.h"

namespace qnndbg {

/// "1.1 u|y| + 3.36e-5"; "0" for a bound without terms.
std::string formula_of(const Bound& bound);

/// One row per judged stage, nearest to its line first; empty when the report was not asked for.
std::string bounds_text(const Diagnosis& diagnosis, const TextStyle& style);

}  // namespace qnndbg
