// What a context binary holds and whether it fits, for people and as a document.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qnn/context_fit.h"
#include "report/style.h"

namespace qnndbg {

struct ContextView {
  std::string file;
  std::uint64_t bytes = 0;
  qnn::BinaryInfo binary;
  qnn::ContextWish wish;
  std::string model;  // file that the ends of `wish` are of; empty: none was given
  std::vector<qnn::FitRemark> remarks;

  /// True when somebody asked whether it fits something.
  bool asked() const;
  /// No remark is a problem.
  bool fits() const;
};

/// Headline, who made it for what, its graphs with their ends, the remarks; the verdict as the last line if one was
/// asked for.
std::string context_text(const ContextView& view, const TextStyle& style);

/// The document "qnn-debug/context/1" (schema/context.schema.json), with a newline at its end.
std::string context_json(const ContextView& view);

}  // namespace qnndbg
