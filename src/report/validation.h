// What `htp validate` and `emulate` found, for people and as documents.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/diagnosis.h"
#include "qnn/emulate.h"
#include "qnn/validate.h"
#include "report/json_object.h"
#include "report/style.h"

namespace qnndbg {

/// Headline; one line per operator type that is accepted everywhere, each refused operator with the library's words and
/// the file to open; what finalizing said; the verdict as the last line.
std::string validation_text(const qnn::ValidationReport& report, const ModelInfo& model, const TextStyle& style);

/// The document "qnn-debug/validation/1" (schema/validation.schema.json), with a newline at its end.
std::string validation_json(const qnn::ValidationReport& report, const ModelInfo& model);

/// How the graph was made, for run.json.
struct EmulationSettings {
  std::string model;      // file
  std::string style;      // "mnn" or "model"
  std::string precision;  // "fp16" or "fp32"
};

/// run.json (schema/run.schema.json), with a newline at its end.
std::string run_file_json(const qnn::EmulationReport& report, const EmulationSettings& settings);

/// What was computed, where the dump is, what was refused; with a profile the slowest operators.
std::string emulation_text(const qnn::EmulationReport& report, const EmulationSettings& settings, std::string_view dump,
                           const TextStyle& style);

/// {"build_id", "core_api", "backend_api", ...}
Json library_json(const qnn::LibraryInfo& library);

}  // namespace qnndbg
