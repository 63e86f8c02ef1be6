// The details of a diagnosis for a report: histograms and error maps of every judged tensor, and the broken operators
// in depth.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/diagnose.h"

namespace qnndbg::cli {

/// The details as a document. `diagnosis` was made with options.details, from the same model and options.
Result<std::string> details_document(const Model& model, DiagnoseOptions options, const Diagnosis& diagnosis);

/// How a document names its details: `file` as seen from the directory of `document`, or from the working directory
/// when that is empty or "-". `bytes` are the file's.
DetailsFile name_details(const std::string& file, const std::string& document, std::string_view bytes);

/// Details for a page, or why there are none.
struct FoundDetails {
  std::string text;                  // the document; empty: there is none
  std::vector<std::string> missing;  // sentences for the page: what is not there, and how to get it
};

/// The details of a diagnosis that was read from `document`: those of the file `given`, or if that is empty those that
/// the diagnosis names, as long as they lie in its directory. What is named but gone or changed is missing and no
/// error. Errors: `given` cannot be read, holds no details, or those of another diagnosis.
Result<FoundDetails> find_details(const Diagnosis& diagnosis, const std::string& document, const std::string& given);

}  // namespace qnndbg::cli
