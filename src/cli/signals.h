#pragma once

namespace headroom::cli {

// From now on the first SIGINT or SIGTERM is only noted, so that the step under way can end; the second
// kills.
void note_signals();
int noted_signal();  // 0: none so far

// Thrown when a run ended early by a signal, after everything was saved: the program's exit code.
struct Interrupted {
  int code;  // 130 or 143
};

}  // namespace headroom::cli
