#include "report/json_object.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace qnndbg {

bool JsonObject::put_null_if_nonfinite(const char* key, double value) {
  if (std::isfinite(value)) return false;
  object_[key] = nullptr;
  ++nonfinite_;
  return true;
}

Json figure_json(double value, int digits) {
  if (!std::isfinite(value)) return nullptr;
  // Adding zero turns -0 into 0.
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr) + 0.0;
}

void JsonObject::number(const char* key, double value) {
  if (!put_null_if_nonfinite(key, value)) object_[key] = figure_json(value);
}

void JsonObject::number(const char* key, float value) {
  if (put_null_if_nonfinite(key, value)) return;
  // The shortest text of the float, not of the double that holds it: 0.1, not 0.10000000149011612.
  object_[key] = std::strtod(fmt::format("{}", value).c_str(), nullptr) + 0.0;
}

void JsonObject::number(const char* key, const std::optional<double>& value) {
  if (value)
    number(key, *value);
  else
    object_[key] = nullptr;
}

void JsonObject::exact(const char* key, double value) {
  if (!put_null_if_nonfinite(key, value)) object_[key] = value;
}

Json JsonObject::finish() && {
  if (nonfinite_ > 0) object_["nonfinite"] = nonfinite_;
  return std::move(object_);
}

Json encoding_json(const std::optional<Encoding>& encoding) {
  if (!encoding) return nullptr;
  JsonObject object;
  object.exact("scale", encoding->scale);
  object.set("offset", encoding->offset);
  return std::move(object).finish();
}

Json model_json(const ModelInfo& model) {
  return Json{{"file", model.file},
              {"converter_version", text_or_null(model.converter_version)},
              {"source", text_or_null(model.source)},
              {"bytes", model.bytes},
              {"operators", model.operators},
              {"tensors", model.tensors}};
}

Json basis_json(const std::optional<BoundBasis>& basis) {
  if (!basis) return nullptr;
  JsonObject object;
  object.set("arch", basis->arch);
  object.set("runs", basis->runs);
  object.set("instances", basis->instances);
  object.set("elements", basis->elements);
  object.number("worst", basis->worst);
  object.number("p999", basis->p999);
  object.set("library", text_or_null(basis->library));
  return std::move(object).finish();
}

std::string dump_json(const Json& document) {
  return document.dump(1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + '\n';
}

std::string compact_json(const Json& document) {
  return document.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + '\n';
}

}  // namespace qnndbg
