// The commands: each add_X registers its options with the program; its callback runs the command and leaves the exit
// status.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/exit_status.h"
#include "cli/terminal.h"

namespace qnndbg::cli {

/// What all commands share.
struct Session {
  ColorChoice color = ColorChoice::automatic;
  std::string command_line;  // as typed, quoted for a shell
  int exit_status = kExitClean;
};

void add_diagnose(CLI::App& program, Session& session);
void add_inspect(CLI::App& program, Session& session);
void add_baseline(CLI::App& program, Session& session);
void add_calibrate(CLI::App& program, Session& session);
void add_replay(CLI::App& program, Session& session);
void add_report(CLI::App& program, Session& session);
void add_explain(CLI::App& program, Session& session);
void add_case(CLI::App& program, Session& session);
void add_doctor(CLI::App& program, Session& session);
void add_emulate(CLI::App& program, Session& session);
void add_quantize(CLI::App& program, Session& session);
void add_htp(CLI::App& program, Session& session);
void add_completion(CLI::App& program, Session& session);
void add_help(CLI::App& program, Session& session);

}  // namespace qnndbg::cli
