// A diagnosis document from a stranger. What is read can be written, and comes back as the same from then on; every
// view of it is text that a terminal and a JSON reader can take; and compared with itself nothing differs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "report/bounds.h"
#include "report/comparison_view.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/read_json.h"
#include "report/sarif.h"
#include "report/text.h"

namespace {

using namespace qnndbg;

void require(bool holds) {
  if (!holds) std::abort();
}

/// No control character but newlines.
void require_printable(const std::string& text) {
  require(
      std::none_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < 0x20 && c != '\n') || c == 0x7f; }));
}

void require_json(const std::string& text) { require(nlohmann::json::accept(text)); }

void check_views(const DiagnosisDocument& document) {
  const Diagnosis& d = document.diagnosis;
  for (const int verbosity : {0, 2}) {
    TextStyle style;
    style.verbosity = verbosity;
    style.width = 60 + 40 * verbosity;
    style.worst_first = verbosity > 0;
    require_printable(to_text(d, style, document.cases) + bounds_text(d, style));
  }
  require_printable(to_markdown(d, "1.2.3", "qnn-debug report", document.cases));
  require_json(to_sarif(d, "1.2.3", "qnn-debug report"));
}

void check_comparison(const Diagnosis& d) {
  const Comparison same = compare(d, d);
  require(outcome_of(same) == "same" && same.operators.empty() && same.facts.empty());
  require_printable(comparison_text(same, TextStyle{}));
  const Comparison fixed = compare(d, Diagnosis{});
  require_printable(comparison_text(fixed, TextStyle{}));
  require_printable(comparison_markdown(fixed, "1.2.3", ""));
  require_json(comparison_json(fixed));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<DiagnosisDocument> read = read_diagnosis({reinterpret_cast<const char*>(data), size});
  if (!read) {
    require(!read.error().message.empty());
    return 0;
  }
  const std::string text = to_json(read->diagnosis, read->cases);
  const Result<DiagnosisDocument> again = read_diagnosis(text);
  require(again.has_value());
  require(to_json(again->diagnosis, again->cases) == text);
  check_views(*read);
  check_comparison(read->diagnosis);
  return 0;
}
