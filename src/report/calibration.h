// What `qnn-debug calibrate` found, for people and as a document.
#pragma once

#include <string>
#include <vector>

#include "diagnose/calibration_table.h"
#include "report/style.h"

namespace qnndbg {

struct CalibrationView {
  const Calibration& calibration;
  const BoundComparison& comparison;
  std::vector<std::string> problems;  // of runs that could not be used
};

std::string calibration_text(const CalibrationView& view, const TextStyle& style);
/// The document that schema/calibration.schema.json describes.
std::string calibration_json(const CalibrationView& view);

}  // namespace qnndbg
