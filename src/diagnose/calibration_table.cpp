#include "diagnose/calibration_table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace qnndbg {
namespace embedded {
extern const std::string_view bounds_json;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMoved = 0.01;     // of the earlier figure
constexpr double kLoose = 0.5;      // of the constant
constexpr double kRoundoff = 1e-6;  // of figures that were rounded for the table

Json built_in_table() { return Json::parse(embedded::bounds_json, nullptr, false); }

/// Factor between what was measured and the line; nullopt where the line is not drawn by measurement (bit-exact
/// operators).
std::optional<double> room_of(const Json& table, const std::string& key) {
  const Json& bounds = table["bounds"];
  const std::string name = bounds.contains(key) ? key : "unmeasured";
  if (!bounds.contains(name) || !bounds[name].contains("room")) return std::nullopt;
  return bounds[name]["room"].get<double>();
}

/// Rounded up to `digits` significant digits, so that no figure becomes smaller than what it stands for.
double rounded_up(double value, int digits) {
  if (!(value > 0)) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) + 1 - digits);
  return std::ceil(value / unit * (1 - kRoundoff)) * unit;
}

double significant(double value, int digits) { return std::stod(fmt::format("{:.{}g}", value, digits)); }

BoundState state_of(double worst, double constant, const std::optional<double>& room) {
  if (worst > constant * (1 + kRoundoff)) return BoundState::beyond;
  if (!room) return BoundState::holds;
  if (worst * *room > constant * (1 + kRoundoff)) return BoundState::tight;
  return worst * *room < kLoose * constant ? BoundState::loose : BoundState::holds;
}

/// One member to a line in the objects that hold keys, the rest as it is: changes of one key are changes of one line.
std::string text_of(const Json& table) {
  std::string out = "{\n";
  const auto member = [&](std::string_view indent, const std::string& key, const std::string& value, bool last) {
    out += fmt::format("{}{}: {}{}\n", indent, Json(key).dump(), value, last ? "" : ",");
  };
  // "key": {"a": 1, "b": 2}
  const auto one_line = [](const Json& value) {
    if (!value.is_object()) return value.dump();
    std::string line = "{";
    for (const auto& [key, entry] : value.items())
      line += fmt::format("{}{}: {}", line.size() > 1 ? ", " : "", Json(key).dump(), entry.dump());
    return line + '}';
  };
  std::size_t left = table.size();
  for (const auto& [key, value] : table.items()) {
    --left;
    if (!value.is_structured()) {
      member("  ", key, value.dump(), left == 0);
      continue;
    }
    const bool by_arch = key == "measured";
    out += fmt::format("  {}: {}\n", Json(key).dump(), value.is_array() ? '[' : '{');
    std::size_t inner_left = value.size();
    for (const auto& [inner, entry] : value.items()) {
      --inner_left;
      if (value.is_array()) {
        out += fmt::format("    {}{}\n", entry.dump(), inner_left == 0 ? "" : ",");
      } else if (by_arch) {
        out += fmt::format("    {}: {{\n", Json(inner).dump());
        std::size_t rows_left = entry.size();
        for (const auto& [row, figures] : entry.items()) member("      ", row, one_line(figures), --rows_left == 0);
        out += fmt::format("    }}{}\n", inner_left == 0 ? "" : ",");
      } else {
        member("    ", inner, one_line(entry), inner_left == 0);
      }
    }
    out += fmt::format("  {}{}\n", value.is_array() ? ']' : '}', left == 0 ? "" : ",");
  }
  return out + "}\n";
}

/// Every term of a line by the factor that brings its leading constant to `wanted`.
void grow(Json& entry, double constant, double wanted) {
  for (const char* term : {"y", "max_y", "magnitude", "absolute"}) {
    if (entry.contains(term)) entry[term] = rounded_up(entry[term].get<double>() * wanted / constant, 3);
  }
}

Json basis_json(const BoundBasis& basis, const std::string& library) {
  Json json{{"runs", basis.runs},
            {"instances", basis.instances},
            {"elements", basis.elements},
            {"worst", rounded_up(basis.worst, 4)},
            {"p999", significant(basis.p999, 3)}};
  if (!library.empty()) json["library"] = library;
  return json;
}

}  // namespace

std::string_view name_of(BoundState state) {
  switch (state) {
    case BoundState::beyond: return "beyond";
    case BoundState::tight: return "tight";
    case BoundState::no_entry: return "no_entry";
    case BoundState::loose: return "loose";
    case BoundState::holds: return "holds";
  }
  return "";
}

Result<BoundComparison> compare_with_table(const Calibration& calibration) {
  auto bounds = Bounds::load("unknown", 1);
  if (!bounds) return fail(bounds.error());
  const Json table = built_in_table();
  BoundComparison out;
  for (const KeyFigures& figures : calibration.keys) {
    BoundRow row;
    row.now = figures;
    row.constant = bounds->of(figures.key).leading();
    const std::optional<double> room = room_of(table, figures.key);
    row.wanted = figures.basis.worst * room.value_or(1);
    row.state = bounds->has(figures.key) ? state_of(figures.basis.worst, row.constant, room) : BoundState::no_entry;
    auto own = Bounds::load(figures.basis.arch, 1);
    if (!own) return fail(own.error());
    row.before = own->basis(figures.key);
    // basis() falls back on another architecture.
    if (row.before && row.before->arch != figures.basis.arch) row.before.reset();
    row.moved = row.before && std::fabs(figures.basis.worst - row.before->worst) > kMoved * row.before->worst;
    out.rows.push_back(std::move(row));
  }
  for (const auto& [key, entry] : table["bounds"].items()) {
    const std::string& name = key;
    const bool seen = std::any_of(calibration.keys.begin(), calibration.keys.end(),
                                  [&](const KeyFigures& figures) { return figures.key == name; });
    if (!seen) out.never_seen.push_back(key);
  }
  return out;
}

Result<std::string> updated_table(const Calibration& calibration, const std::string& library) {
  const auto comparison = compare_with_table(calibration);
  if (!comparison) return fail(comparison.error());
  Json table = built_in_table();
  for (const BoundRow& row : comparison->rows) {
    const BoundBasis& basis = row.now.basis;
    if (basis.arch == "unknown")
      return fail("figures belong to an HTP architecture, and that of a run is not known; --arch or --soc tells it");
    if (row.state == BoundState::no_entry) continue;  // a key without a line; the operator's file would have to name it
    Json& architectures = table["architectures"];
    if (!architectures.contains(basis.arch)) {
      architectures[basis.arch] = Json{{"measured", true}};
      if (!library.empty()) architectures[basis.arch]["basis"] = library;
    }
    Json& entry = table["bounds"][row.now.key];
    // Another architecture may have raised the same line already.
    if (row.state == BoundState::beyond || row.state == BoundState::tight) {
      const Bound current{entry.value("y", 0.0), entry.value("max_y", 0.0), entry.value("magnitude", 0.0),
                          entry.value("absolute", 0.0)};
      if (row.wanted > current.leading()) grow(entry, current.leading(), row.wanted);
    }
    table["measured"][basis.arch][row.now.key] = basis_json(basis, library);
  }
  return text_of(table);
}

}  // namespace qnndbg
