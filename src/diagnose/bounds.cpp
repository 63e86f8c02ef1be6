#include "diagnose/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tensor/half.h"

namespace qnndbg {
namespace embedded {
extern const std::string_view bounds_json;
}

double Bound::at(double reference, double max_abs, double m) const {
  return (y * std::fabs(reference) + max_y * max_abs + magnitude * m) * kHalfUnitRoundoff + absolute;
}

Result<Bounds> Bounds::load(std::string_view arch, double tolerance_scale) {
  const nlohmann::json table = nlohmann::json::parse(embedded::bounds_json, nullptr, false);
  if (!table.is_object() || !table.contains("bounds")) return fail("the built-in table of bounds is damaged");
  Bounds bounds;
  bounds.arch_ = arch;
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
  const nlohmann::json none = nlohmann::json::object();
  const nlohmann::json measured = table.value("measured", none);
  for (const auto& [measured_arch, keys] : measured.items()) {
    for (const auto& [key, entry] : keys.items()) {
      bounds.measurements_.push_back({key,
                                      {.arch = measured_arch,
                                       .runs = entry.value("runs", std::int64_t{0}),
                                       .instances = entry.value("instances", std::int64_t{0}),
                                       .elements = entry.value("elements", std::int64_t{0}),
                                       .worst = entry.value("worst", 0.0),
                                       .p999 = entry.value("p999", 0.0),
                                       .library = entry.value("library", "")}});
    }
  }
  bounds.round_once_ = table.value("rounded_once", none).value("keys", std::vector<std::string>());
  const nlohmann::json quantized = table.value("quantized", nlohmann::json::object());
  bounds.steps_ = quantized.value("steps", 0.0) * tolerance_scale;
  const nlohmann::json wide = quantized.value("16_bits", nlohmann::json::object());
  bounds.wide_steps_ = wide.value("steps", 0.0) * tolerance_scale;
  bounds.wide_magnitude_ = wide.value("magnitude", 0.0) * tolerance_scale;
  bounds.wide_sums_ = wide.value("keys", std::vector<std::string>());
  bounds.measured_in_8_bits_ = quantized.value("measured", std::vector<std::string>());
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

bool Bounds::has(std::string_view key) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
}

std::optional<BoundBasis> Bounds::basis(std::string_view key) const {
  const BoundBasis* best = nullptr;
  for (const Measured& seen : measurements_) {
    if (seen.key != key) continue;
    if (seen.basis.arch == arch_) return seen.basis;
    if (best == nullptr || seen.basis.worst > best->worst) best = &seen.basis;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

bool Bounds::rounds_once(std::string_view key) const {
  return std::find(round_once_.begin(), round_once_.end(), key) != round_once_.end();
}

Bound Bounds::of_fixed_point(std::string_view key, DType type, const Encoding& encoding) const {
  const bool measured = size_of(type) == 1 && std::find(measured_in_8_bits_.begin(), measured_in_8_bits_.end(), key) !=
                                                  measured_in_8_bits_.end();
  Bound bound = measured ? Bound{} : of(key);
  const bool wide = size_of(type) > 1 && std::find(wide_sums_.begin(), wide_sums_.end(), key) != wide_sums_.end();
  bound.absolute += (wide ? wide_steps_ : steps_) * encoding.scale;
  if (wide) bound.magnitude += wide_magnitude_;
  // Tensors are compared as floats; beside a huge offset one step is less than a float can tell apart.
  const ValueRange range = value_range(type, encoding);
  bound.clip = range;
  bound.absolute += std::max(std::fabs(range.low), std::fabs(range.high)) * std::numeric_limits<float>::epsilon();
  return bound;
}

}  // namespace qnndbg
