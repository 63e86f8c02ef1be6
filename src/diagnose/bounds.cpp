#include "diagnose/bounds.h"

#include <nlohmann/json.hpp>

namespace qnndbg {
namespace embedded {
extern const std::string_view bounds_json;
}

Result<Bounds> Bounds::load(std::string_view arch, double tolerance_scale) {
  const nlohmann::json table = nlohmann::json::parse(embedded::bounds_json, nullptr, false);
  if (!table.is_object() || !table.contains("bounds")) return fail("the built-in table of bounds is damaged");
  Bounds bounds;
  bounds.measured_ = arch == "unknown" || table["architectures"].contains(arch);
  const double forward_error = bounds.measured_ ? 0.0 : table["unmeasured_architecture"].value("magnitude", 0.0);
  for (const auto& [key, entry] : table["bounds"].items()) {
    Bound bound{entry.value("y", 0.0), entry.value("max_y", 0.0), entry.value("magnitude", 0.0),
                entry.value("absolute", 0.0)};
    if (key != "exact" && key != "Cast") bound.magnitude += forward_error;
    bound.y *= tolerance_scale;
    bound.max_y *= tolerance_scale;
    bound.magnitude *= tolerance_scale;
    bound.absolute *= tolerance_scale;
    bounds.entries_.push_back({key, bound});
  }
  return bounds;
}

Bound Bounds::of(std::string_view key) const {
  const Entry* unmeasured = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.key == key) return entry.bound;
    if (entry.key == "unmeasured") unmeasured = &entry;
  }
  return unmeasured == nullptr ? Bound{} : unmeasured->bound;
}

}  // namespace qnndbg
