// From findings and coverage to a verdict and its sentence.
#pragma once

#include "diagnose/diagnosis.h"
#include "graph/graph.h"

namespace qnndbg {

/// Orders the findings and fills in `verdict` and `summary`. Precedence: load_failed, rejected, bug (kinds bug and
/// input), range, clean (at least 95 % of the dumped operators judged, and every graph output reached through judged
/// operators), else inconclusive.
void conclude(const Graph& graph, Diagnosis& diagnosis);

}  // namespace qnndbg
