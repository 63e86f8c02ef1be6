// The main job: from a model, its inputs and a dump to a Diagnosis.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "diagnose/witness.h"
#include "dump/dump.h"
#include "dump/inputs.h"
#include "graph/model.h"

namespace qnndbg {

enum class ConstantsMode : std::uint8_t { automatic, toward_zero, nearest };

struct DiagnoseOptions {
  std::filesystem::path dump;              // empty: there is none, and the log alone tells what can be told
  std::optional<Explanation> log;          // what the log of the run says
  std::string log_file;                    // where it was read from; empty: there is none
  std::optional<InputMap> inputs;          // without them the dump's own inputs are trusted
  std::optional<std::uint64_t> execution;  // default: the last complete one
  std::string soc;                         // as typed, empty: not told
  std::string arch;                        // "v75"; empty: not told
  std::string library, mnn;                // versions, where run.json tells them
  ConstantsMode constants = ConstantsMode::automatic;
  double tolerance_scale = 1;  // multiplies every bound
  HalfKind half = HalfKind::htp;
  bool explain_bounds = false;  // fill Diagnosis::bounds
  bool details = false;         // fill Diagnosis::details
  Witness* witness = nullptr;   // asked about every broken operator; nullptr: nobody is
  int threads = 0;              // 0: as many as the machine has
  /// Called after each operator with how many are done; may be empty. Returning false interrupts (the result is an
  /// Error).
  std::function<bool(int done, int total, std::string_view op)> progress;
};

/// Judges one execution and joins it with the log. Errors (no document can be written): neither dump nor log is there,
/// the dump cannot be read, or it is not of this model (the dims of more than a tenth of the tensors disagree), or the
/// model is an offline QNN plugin. A dump directory without an execution is no error when the log tells why nothing
/// ran.
Result<Diagnosis> diagnose(const Model& model, const DiagnoseOptions& options);

}  // namespace qnndbg
