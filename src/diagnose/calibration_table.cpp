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

constexpr double kMoved = 0.01;      // of the earlier figure
constexpr double kLoose = 0.5;       // of the constant
constexpr double kRoomSlack = 0.01;  // room is a choice of two digits
constexpr double kRoundoff = 1e-6;   // of figures that were rounded for the table

Json built_in_table() { return Json::parse(embedded::bounds_json, nullptr, false); }

/// Factor between what was measured and the line; nullopt where the line is not drawn by measurement (bit-exact
/// operators).
std::optional<double> room_of(const Json& table, const std::string& key) {
  const Json& bounds = table["bounds"];
  const std::string name = bounds.contains(key) ? key : "unmeasured";
  if (!bounds.contains(name) || !bounds[name].contains("room")) return std::nullopt;
  return bounds[name]["room"].get<double>();
}

double significant(double value, int digits) { return std::stod(fmt::format("{:.{}g}", value, digits)); }

/// Rounded up, so that no figure becomes smaller than what it stands for.
double rounded_up(double value, int digits) {
  const double nearest = significant(value, digits);
  if (!(value > 0) || nearest >= value * (1 - kRoundoff)) return nearest;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) + 1 - digits);
  return significant(nearest + unit, digits);
}

BoundState state_of(double worst, double constant, const std::optional<double>& room) {
  if (worst > constant * (1 + kRoundoff)) return BoundState::beyond;
  if (!room) return BoundState::holds;
  if (worst * *room > constant * (1 + kRoomSlack)) return BoundState::tight;
  return worst * *room < kLoose * constant ? BoundState::loose : BoundState::holds;
}

/// {"a": 1, "b": 2}
std::string one_line(const Json& object) {
  std::string line = "{";
  for (const auto& [key, entry] : object.items())
    line += fmt::format("{}{}: {}", line.size() > 1 ? ", " : "", Json(key).dump(), entry.dump());
  return line + '}';
}

// The table is edited as text, so that what does not change stays as it was written, and one key is one line. The
// embedded file is our own; a test holds it to this form.

/// Replaces the value of `"key": {...}` on the line that begins so.
void replace_line(std::string& text, const std::string& key, const Json& value) {
  const std::string start = fmt::format("\n    {}: {{", Json(key).dump());
  const std::size_t at = text.find(start);
  if (at == std::string::npos) return;
  const std::size_t end = text.find('\n', at + 1);
  const bool comma = text[end - 1] == ',';
  text.replace(at, end - at, fmt::format("\n    {}: {}{}", Json(key).dump(), one_line(value), comma ? "," : ""));
}

void add_architecture(std::string& text, const std::string& arch, const Json& value) {
  constexpr std::string_view kStart = "\n  \"architectures\": {";
  const std::size_t at = text.find(kStart);
  if (at != std::string::npos)
    text.insert(at + kStart.size(), fmt::format("\n    {}: {},", Json(arch).dump(), one_line(value)));
}

/// `measured` is the last member.
void replace_measured(std::string& text, const Json& measured) {
  std::string section = "\n  \"measured\": {\n";
  std::size_t archs_left = measured.size();
  for (const auto& [arch, keys] : measured.items()) {
    section += fmt::format("    {}: {{\n", Json(arch).dump());
    std::size_t keys_left = keys.size();
    for (const auto& [key, figures] : keys.items())
      section += fmt::format("      {}: {}{}\n", Json(key).dump(), one_line(figures), --keys_left == 0 ? "" : ",");
    section += fmt::format("    }}{}\n", --archs_left == 0 ? "" : ",");
  }
  text.replace(text.find("\n  \"measured\": {"), std::string::npos, section + "  }\n}\n");
}

/// Every term of a line by the factor that brings its leading constant to `wanted`.
void grow(Json& entry, double constant, double wanted, double worst) {
  for (const char* term : {"y", "max_y", "magnitude", "absolute"}) {
    if (entry.contains(term)) entry[term] = rounded_up(entry[term].get<double>() * wanted / constant, 3);
  }
  if (entry.contains("worst")) entry["worst"] = rounded_up(worst, 3);
}

Bound bound_of(const Json& entry) {
  return {entry.value("y", 0.0), entry.value("max_y", 0.0), entry.value("magnitude", 0.0),
          entry.value("absolute", 0.0)};
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
  const Json built_in = built_in_table();
  Json bounds = built_in["bounds"];
  Json architectures = built_in["architectures"];
  Json measured = built_in["measured"];
  std::string text(embedded::bounds_json);
  for (const BoundRow& row : comparison->rows) {
    const BoundBasis& basis = row.now.basis;
    if (basis.arch == "unknown")
      return fail("figures belong to an HTP architecture, and that of a run is not known; --arch or --soc tells it");
    if (row.state == BoundState::no_entry) continue;  // the operator's file would have to name a key
    if (!architectures.contains(basis.arch)) {
      architectures[basis.arch] = Json{{"measured", true}, {"basis", library}};
      add_architecture(text, basis.arch, architectures[basis.arch]);
    }
    measured[basis.arch][row.now.key] = basis_json(basis, library);
    if (row.state != BoundState::beyond && row.state != BoundState::tight) continue;
    Json& entry = bounds[row.now.key];
    const double constant = bound_of(entry).leading();
    if (row.wanted <= constant) continue;  // another architecture asked for more
    grow(entry, constant, row.wanted, basis.worst);
    replace_line(text, row.now.key, entry);
  }
  replace_measured(text, measured);
  return text;
}

}  // namespace qnndbg
