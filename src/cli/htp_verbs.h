// The verbs of `htp` that have files of their own.
#pragma once

#include "cli/commands.h"

namespace qnndbg::cli {

void add_htp_validate(CLI::App& htp, Session& session);
void add_htp_context(CLI::App& htp, Session& session);

}  // namespace qnndbg::cli
