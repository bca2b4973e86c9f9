#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headroom::cli {

// Holds back SIGINT, SIGTERM, SIGHUP and the end of children until someone waits for them. Must exist before
// any thread begins.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // The next signal, or 0 after so many seconds. `to_all`: the terminal sent it to its whole group.
  int next(double seconds, bool* to_all = nullptr) const;
  const sigset_t& before() const { return before_; }

 private:
  sigset_t held_, before_;
};

struct EndedProcess {
  int code = 0;    // 128 + signal if one ended it, as in shells
  int signal = 0;  // that ended it
  double wall_s = 0, user_s = 0, system_s = 0;
  std::int64_t minor_faults = 0, major_faults = 0;
  std::int64_t peak_rss_bytes = 0;  // of its largest process; 0: not known
};

// Open files that take a command's output instead of ours; -1: none.
struct ChildStreams {
  int out = -1, err = -1;
};

// A command with our standard input, and with our standard output and error unless it is silent, or its
// output goes to files.
class ChildProcess {
 public:
  // Looks the first word up on the PATH. If it cannot be started, says why and ends the program with 127
  // (not found) or 126, as shells do.
  ChildProcess(const std::vector<std::string>& words, const HeldSignals& signals, bool silent = false,
               ChildStreams streams = {});

  int pid() const { return pid_; }
  // Until it ends; passes signals on. After `max_seconds` it is told to end, then made to. True if so.
  bool wait(const HeldSignals& signals, std::optional<double> max_seconds);
  EndedProcess collect();  // after its end; until then the process can still be looked at

  // For callers that wait for several at once.
  bool has_ended() const;
  void signal_all(int signal) const;  // the command and its descendants, as a terminal would

 private:
  pid_t pid_ = -1;
  double start_s_ = 0;
  std::int64_t seen_peak_bytes_ = 0;  // its own, by its status file, when we last looked
};

}  // namespace headroom::cli
