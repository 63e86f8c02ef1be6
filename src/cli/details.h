// The details of a diagnosis for a report: histograms and error maps of every judged tensor, and the broken operators
// in depth.
#pragma once

#include <string>

#include "diagnose/diagnose.h"

namespace qnndbg::cli {

/// The details as a document. `diagnosis` was made with options.details, from the same model and options.
Result<std::string> details_document(const Model& model, DiagnoseOptions options, const Diagnosis& diagnosis);

/// How a document names its details: `file` as seen from the directory of `document`, or from the working directory
/// when that is empty or "-". `bytes` are the file's.
DetailsFile name_details(const std::string& file, const std::string& document, std::string_view bytes);

}  // namespace qnndbg::cli
