// What every JSON document of the program has in common: ordered keys, numbers that JSON can hold, plain ASCII text.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/diagnosis.h"

namespace qnndbg {

using Json = nlohmann::ordered_json;

/// An object under construction. Numbers that JSON cannot hold become null and are counted in the key "nonfinite",
/// which is there only if there is one.
class JsonObject {
 public:
  template <class T>
  void set(const char* key, T&& value) {
    object_[key] = std::forward<T>(value);
  }
  /// A measured figure: six significant digits, which is more than any bound is known to.
  void number(const char* key, double value);
  void number(const char* key, float value);  // all digits of the float
  void number(const char* key, const std::optional<double>& value);
  /// A number that is an identity rather than a measurement (a quantization scale): all digits.
  void exact(const char* key, double value);

  Json finish() &&;

 private:
  bool put_null_if_nonfinite(const char* key, double value);

  Json object_ = Json::object();
  int nonfinite_ = 0;
};

inline Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
inline Json index_or_null(int index) { return index < 0 ? Json(nullptr) : Json(index); }
template <class T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// A measured figure outside an object, null when JSON cannot hold it. `digits`: significant ones.
Json figure_json(double value, int digits = 6);

template <class Row, class Convert>
Json list_of(const std::vector<Row>& rows, Convert convert) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(convert(row));
  return list;
}

/// Parts that several documents share.
Json model_json(const ModelInfo& model);
Json run_json(const RunInfo& run);
Json metrics_json(const std::optional<Metrics>& metrics);  // null without them
Json error_json(const std::optional<ErrorFigure>& error);  // null without one
Json finding_json(const Finding& finding);
Json suspect_json(const std::optional<Suspect>& suspect);     // null without one
Json encoding_json(const std::optional<Encoding>& encoding);  // null without one

Json basis_json(const std::optional<BoundBasis>& basis);  // null without one

/// Text of a document: indented by one, ASCII only, U+FFFD for bytes that are not UTF-8, newline at the end.
std::string dump_json(const Json& document);
/// The same in one line, for documents that nobody reads.
std::string compact_json(const Json& document);

}  // namespace qnndbg
