// Where the constants of data/bounds.json come from: what the judged operators of sound runs really use of their lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/bounds.h"
#include "diagnose/ratio_histogram.h"
#include "dump/inputs.h"
#include "graph/model.h"

namespace qnndbg {

struct CalibrationRun {
  std::string name;  // in messages
  std::filesystem::path dump;
  std::optional<InputMap> inputs;  // only their dims are used, where the dump does not tell them
  std::string arch = "unknown";
};

struct CalibrationOptions {
  /// An operator that is further beyond its line is a bug, not a bound.
  double bug_factor = 20;
  /// Called after each operator with how many are done; may be empty. Returning false interrupts.
  std::function<bool(int done, int total, std::string_view op)> progress = {};
};

/// What the sound instances of one bound key used of it on one architecture.
struct KeyFigures {
  /// Key of the table. Stages without one of their own are told apart by their QNN type: "unmeasured (Tanh)".
  std::string key;
  BoundBasis basis;      // in the unit of the bound's leading constant
  std::string worst_at;  // "run: Type `name`, tensor"
};

/// A stage that counts as broken and teaches nothing about bounds.
struct LeftOut {
  std::string run;
  int op_index = -1;
  std::string op;
  std::string op_type;
  std::string dump_tensor;
  std::string key;
  double bound_ratio = 0;
  std::string cause;  // proven by replay; empty: left out for its size
};

struct Calibration {
  std::int64_t runs = 0;
  std::int64_t not_judged = 0;   // dumped operators without a verdict
  std::vector<KeyFigures> keys;  // by key, then architecture
  std::vector<LeftOut> left_out;
};

class Calibrator {
 public:
  /// The lines are those of the built-in table.
  static Result<Calibrator> create(CalibrationOptions options);

  /// Judges the last complete execution of a dump. A stage beyond its line is left out when it is beyond by more than
  /// the bug factor, or when a mistake that its operator declares reproduces it; else it counts, and the line is wrong.
  /// After an error nothing of the run counts.
  Result<void> add(const Model& model, CalibrationRun run);

  Calibration finish() const;

 private:
  struct Figures {
    std::set<std::int64_t> runs;
    std::int64_t instances = 0;
    double worst = 0;  // of the line
    std::string worst_at;
    RatioHistogram ratios;
  };
  using Table = std::map<std::pair<std::string, std::string>, Figures>;  // by key and architecture

  class OneRun;

  Calibrator(CalibrationOptions options, Bounds bounds) : options_(std::move(options)), bounds_(std::move(bounds)) {}

  CalibrationOptions options_;
  Bounds bounds_;
  Table table_;
  Calibration out_;
};

}  // namespace qnndbg
