// What `doctor` found, as text and as the document that schema/doctor.schema.json describes.
#pragma once

#include <string>
#include <vector>

#include "lint/checks.h"
#include "report/style.h"

namespace qnndbg {

struct DoctorView {
  lint::Environment environment;
  std::vector<lint::Check> checks;
};

/// How many checks have a status.
int count_of(const std::vector<lint::Check>& checks, lint::CheckStatus status);

/// "2 problems, 1 warning", or "no problem".
std::string doctor_summary(const std::vector<lint::Check>& checks);

/// Groups, one line per check, what to do below it; the verdict and the next command at the end.
std::string doctor_text(const DoctorView& view, const TextStyle& style);

std::string doctor_json(const DoctorView& view);

}  // namespace qnndbg
