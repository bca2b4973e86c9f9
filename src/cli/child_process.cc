#include "cli/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/units.h"
#include "cli/options.h"
#include "cli/signals.h"
#include "profile/proc_sources.h"
#include "profile/resources.h"

namespace headroom::cli {
namespace {

constexpr double kGrace = 5;      // seconds between SIGTERM and SIGKILL
constexpr double kLookAt = 0.01;  // seconds between two looks at its peak of memory

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The peak of a living process; 0: not known.
std::int64_t peak_of(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  constexpr std::string_view kPeak = "VmHWM:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(kPeak)) return std::atoll(line.c_str() + kPeak.size()) * 1024;
  return 0;
}

[[noreturn]] void refuse(const std::string& program, int error) {
  const bool missing = error == ENOENT;
  const bool path = program.find('/') != std::string::npos;
  note(fmt::format("headroom: cannot start '{}': {}\n  {}\n", program,
                   missing && !path ? "there is no such program on the PATH" : std::strerror(error),
                   missing ? "check its name, or give its path" : "is it a program, and may you run it?"));
  throw Interrupted{missing ? 127 : 126};
}

}  // namespace

HeldSignals::HeldSignals() {
  sigemptyset(&held_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&held_, signal);
  ::signal(SIGCHLD, SIG_DFL);  // if our parent ignored it, children would vanish unseen
  ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
}

HeldSignals::~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int HeldSignals::next(double seconds, bool* to_all) const {
  const double whole = std::floor(std::max(seconds, 0.0));
  const timespec limit{static_cast<time_t>(whole), static_cast<long>((std::max(seconds, 0.0) - whole) * 1e9)};
  siginfo_t info{};
  const int signal = ::sigtimedwait(&held_, &info, &limit);
  if (to_all != nullptr) *to_all = info.si_code == SI_KERNEL;
  return std::max(signal, 0);
}

ChildProcess::ChildProcess(const std::vector<std::string>& words, const HeldSignals& signals, bool silent,
                           ChildStreams streams) {
  std::vector<char*> raw;
  for (const std::string& word : words) raw.push_back(const_cast<char*>(word.c_str()));
  raw.push_back(nullptr);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setsigmask(&attributes, &signals.before());
  sigset_t ours;  // what main ignores for itself
  sigemptyset(&ours);
  sigaddset(&ours, SIGXFSZ);
  ::posix_spawnattr_setsigdefault(&attributes, &ours);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    if (silent) ::posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_WRONLY, 0);
  if (streams.out >= 0) ::posix_spawn_file_actions_adddup2(&files, streams.out, STDOUT_FILENO);
  if (streams.err >= 0) ::posix_spawn_file_actions_adddup2(&files, streams.err, STDERR_FILENO);
  start_s_ = now_s();
  const int error = ::posix_spawnp(&pid_, raw[0], &files, &attributes, raw.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) refuse(words[0], error);
}

bool ChildProcess::has_ended() const {
  siginfo_t info{};
  const int failed = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return failed != 0 || info.si_pid == pid_;
}

void ChildProcess::signal_all(int signal) const {
  for (const ProcessState& process : process_tree(pid_)) ::kill(process.pid, signal);
}

bool ChildProcess::wait(const HeldSignals& signals, std::optional<double> max_seconds) {
  bool told = false, killed = false;
  double due = max_seconds ? start_s_ + *max_seconds : HUGE_VAL;
  while (!has_ended()) {
    bool to_all = false;
    seen_peak_bytes_ = std::max(seen_peak_bytes_, peak_of(pid_));
    const int signal = signals.next(std::min(due - now_s(), kLookAt), &to_all);
    if (signal != 0 && signal != SIGCHLD && !to_all) signal_all(signal);
    if (now_s() < due || killed || has_ended()) continue;
    if (!told) {
      warn(fmt::format("{} are over; sending SIGTERM to the command", human_seconds(*max_seconds)));
      signal_all(SIGTERM);
    } else {
      warn(fmt::format("the command did not end within {}; sending SIGKILL", human_seconds(kGrace)));
      signal_all(SIGKILL);
      killed = true;
    }
    told = true;
    due = now_s() + kGrace;
  }
  return told;
}

EndedProcess ChildProcess::collect() {
  int status = 0;
  rusage usage{};
  const double wall = now_s() - start_s_;
  if (::wait4(pid_, &status, 0, &usage) != pid_)
    throw Error(Blame::run, "the command ended, but its exit code is lost");
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  // The kernel counts our own peak to a process that began as a copy of us. If that hides its peak, what we
  // saw of it is the best there is.
  const std::int64_t peak = std::int64_t{usage.ru_maxrss} * 1024, ours = process_resources().peak_rss_bytes;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return {.code = signal != 0 ? 128 + signal : WEXITSTATUS(status),
          .signal = signal,
          .wall_s = wall,
          .user_s = seconds(usage.ru_utime),
          .system_s = seconds(usage.ru_stime),
          .minor_faults = usage.ru_minflt,
          .major_faults = usage.ru_majflt,
          .peak_rss_bytes = peak > ours ? peak : seen_peak_bytes_};
}

}  // namespace headroom::cli
