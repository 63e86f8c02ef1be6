// Options that say which dumped run to replay, and how: shared by `diagnose` and `replay`.
#pragma once

#include "cli/console.h"
#include "cli/device.h"
#include "cli/options.h"
#include "diagnose/diagnose.h"

namespace qnndbg::cli {

struct RunArguments {
  ModelArguments files;
  std::string dump;
  std::string execution;  // a number, "all", or empty: the last complete one
  DeviceArguments device;
  std::string constants = "auto";
  double tolerance_scale = 1;
  bool ieee_half = false;
  int threads = 0;
};

/// --model, --weights, --inputs, --dump and --execution.
void add_run(CLI::App& command, RunArguments& arguments);

/// --soc, --arch, --constants, --ieee-half and --tolerance-scale.
void add_device(CLI::App& command, RunArguments& arguments);

/// Reads the inputs and looks up the device. What the tables do not know about it is said as a note.
Result<DiagnoseOptions> options_of(const RunArguments& arguments, const Console& console);

}  // namespace qnndbg::cli
