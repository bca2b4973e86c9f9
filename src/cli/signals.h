#pragma once

namespace headroom::cli {

// From now on the first SIGINT or SIGTERM is only recorded, so that the current step can end; the second one
// kills.
void note_signals();
int noted_signal();  // 0: none so far

// Thrown after a signal ended a run early and everything was saved: the program's exit code.
struct Interrupted {
  int code;  // 130 or 143
};

}  // namespace headroom::cli
