// Qualcomm's library for the commands that use it: which one, for which SoC, in a worker.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/console.h"
#include "qnn/engine.h"
#include "qnn/locate.h"
#include "qnn/worker.h"

namespace qnndbg::cli {

struct HtpArguments {
  std::string library;
  std::string sdk;
  std::string soc;
  std::string arch;
};

/// --library and --sdk.
void add_htp_library(CLI::App& command, HtpArguments& arguments);
/// --soc and --arch.
void add_htp_target(CLI::App& command, HtpArguments& arguments);

/// The cache of `htp install`; empty: neither XDG_CACHE_HOME nor HOME is set.
std::filesystem::path htp_cache();

struct OpenedHtp {
  qnn::LibraryPlace place;
  qnn::SessionInfo info;
  bool default_target = false;  // neither --soc nor --arch was given
  qnn::Worker worker;
};

/// Finds the library, starts a worker and opens a session. Ctrl-C ends calls that run. Errors carry what the library
/// said.
qnn::CallResult<OpenedHtp> open_htp(const HtpArguments& arguments);

struct OpenedEngine {
  bool default_target = false;  // neither --soc nor --arch was given
  qnn::Engine engine;
};

/// The same for commands with many questions, of which some may end the library. `progress` is asked while calls run;
/// false, or Ctrl-C, stops them.
qnn::CallResult<OpenedEngine> open_htp_engine(const HtpArguments& arguments,
                                              std::function<bool(const qnn::CallProgress&)> progress = {});

/// What a context binary holds; needs libQnnSystem.so only. Ctrl-C ends the call.
qnn::CallResult<qnn::BinaryInfo> read_context(const HtpArguments& arguments, qnn::ByteView binary);

/// Tells an error and, below it, the first lines of the log and of the library's output that came with it.
void show_call_error(const Console& console, const qnn::CallError& error);

}  // namespace qnndbg::cli
