#include "cli/interrupt.h"

#include <csignal>

namespace qnndbg::cli {
namespace {

volatile std::sig_atomic_t sigint_seen = 0;

extern "C" void on_sigint(int /*signal*/) { sigint_seen = 1; }

}  // namespace

void install_signal_handlers() {
  struct sigaction action{};
  action.sa_handler = on_sigint;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

bool interrupted() { return sigint_seen != 0; }

}  // namespace qnndbg::cli
