// Exit statuses of the program, the same for every command (docs/cli.md).
#pragma once

namespace qnndbg::cli {

inline constexpr int kExitClean = 0;          // verdict clean; or the command did all that was asked
inline constexpr int kExitFound = 1;          // any other verdict; or something was left out
inline constexpr int kExitFailed = 2;         // nothing to show: bad arguments, unreadable files, a write that failed
inline constexpr int kExitInterrupted = 130;  // 128 + SIGINT, as shells count it

}  // namespace qnndbg::cli
