// What a calibration says about the built-in table of bounds, and the table that follows from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/calibrate.h"

namespace qnndbg {

enum class BoundState : std::uint8_t {
  beyond,    // a sound operator lies beyond the line: the constant is too small
  tight,     // within the line, but nearer than the room that the key wants
  no_entry,  // the table has no line of its own for these stages
  loose,     // less than half of the line is needed
  holds,
};

std::string_view name_of(BoundState state);

struct BoundRow {
  KeyFigures now;
  BoundState state = BoundState::holds;
  double constant = 0;               // leading constant of the line that applied
  double wanted = 0;                 // worst times the room
  std::optional<BoundBasis> before;  // what the table was measured by on this architecture
  bool moved = false;                // `worst` differs from before by more than 1 %
};

struct BoundComparison {
  std::vector<BoundRow> rows;           // as Calibration::keys
  std::vector<std::string> never_seen;  // keys of the table without an instance in these runs
};

Result<BoundComparison> compare_with_table(const Calibration& calibration);

/// The text of data/bounds.json with these figures in it. Lines that are beyond or tight grow as a whole, so that the
/// leading constant becomes what is wanted, rounded up to two digits after the first; no line shrinks by itself: a run
/// that did not need it does not show that none does. Figures of other keys and architectures stay. `library` is the
/// version of the device's library. Errors: the architecture of a run is not known.
Result<std::string> updated_table(const Calibration& calibration, const std::string& library);

}  // namespace qnndbg
