#pragma once

namespace headroom::cli {

// From now on the first SIGINT or SIGTERM is only recorded, so that the current step can end; the second one
// kills.
void note_signals();
int noted_signal();  // 0: none so far

// Thrown after a run ended early and everything was saved: the program's exit code. 130 or 143 if a signal
// ended it; that of the command for `watch`.
struct Interrupted {
  int code;
};

}  // namespace headroom::cli
