// What every view says about a diagnosis as a whole, in words.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/diagnosis.h"

namespace qnndbg {

/// "mini.mnn: 92 operators, 77 dumped tensors, fp16, HTP v75, SoC 57"; printable on a terminal.
std::string run_text(const Diagnosis& diagnosis);

/// How many operators have a status.
long long count_of(const Diagnosis& diagnosis, OpStatus status);

/// "92 operators: 1 broken, 38 right, 2 not judged (-v says why)". `not_judged_note` is what stands in parentheses; a
/// missing dump explains itself.
std::string status_counts_text(const Diagnosis& diagnosis, std::string_view not_judged_note);

/// "57 of 57 dumped operators judged"; empty without a dump.
std::string judged_text(const Diagnosis& diagnosis);

}  // namespace qnndbg
