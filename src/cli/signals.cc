#include "cli/signals.h"

#include <csignal>

namespace headroom::cli {
namespace {

volatile std::sig_atomic_t last_signal = 0;

void note_signal(int signal) { last_signal = signal; }

}  // namespace

void note_signals() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

int noted_signal() { return last_signal; }

}  // namespace headroom::cli
