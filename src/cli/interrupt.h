// Ctrl-C: the running work is asked to stop at the next operator; a second one ends the process at once.
#pragma once

namespace qnndbg::cli {

/// Installs the SIGINT handler, and makes a closed pipe and a file over its size limit errors of write() instead of
/// signals.
void install_signal_handlers();

/// True after SIGINT arrived.
bool interrupted();

}  // namespace qnndbg::cli
