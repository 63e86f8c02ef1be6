// The diagnosis as one HTML file: verdict, chart, graph, tensors. It needs no network, no server and no other file.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tensor/result.h"

namespace qnndbg {

/// What the page is made from.
struct HtmlReport {
  std::string_view diagnosis = {};            // a qnn-debug/diagnosis/1 document, as to_json() writes it
  std::string_view details = {};              // a qnn-debug/details/1 document; empty: there is none
  std::span<const std::string> missing = {};  // sentences: what the page cannot show, and how to get it
  std::string_view title = {};                // of the window
  std::string_view summary = {};              // shown where scripts are off
  std::string_view version = {};              // of the program
};

/// The page, ready to be written to a file.
///
/// Both documents must be valid JSON, or the page has nothing to draw; they are not parsed here. Nothing in them, in
/// the title or in the summary can reach the page as markup, valid or not: in the documents the characters that could
/// end their element are replaced by escapes of JSON, in the title and the summary by references of HTML. In the short
/// texts bytes that are not UTF-8 become U+FFFD; the documents are expected to be UTF-8.
///
/// Fails in a build without the page (QNNDBG_HTML=OFF).
Result<std::string> to_html(const HtmlReport& report);

}  // namespace qnndbg
