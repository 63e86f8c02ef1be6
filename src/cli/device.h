// Which device a run was made on: --soc or --arch, for the commands whose bounds depend on it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/console.h"
#include "tensor/result.h"

namespace qnndbg::cli {

struct DeviceArguments {
  std::string soc;   // as typed; empty: not told
  std::string arch;  // as typed; empty: not told
};

void add_device(CLI::App& command, DeviceArguments& arguments);

/// "v75", or an empty text when neither option tells it. Unknown SoCs are errors, unknown architectures notes.
Result<std::string> arch_of(const DeviceArguments& arguments, const Console& console);

}  // namespace qnndbg::cli
