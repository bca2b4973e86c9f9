#include "device/cpu/team.h"

#include <linux/futex.h>
#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string_view>
#include <thread>

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

thread_local bool inside = false;  // a share of some team's work runs on this thread

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// How long a thread polls before it sleeps. Waking a sleeping thread takes as long as a small kernel, and
// longer on virtual machines. But one that polls takes a core from those it waits for if others need the
// core, too.
constexpr microseconds kQuiet(2000), kDisturbed(20), kCrowded(2);

// The user's word for OpenMP holds here, too.
microseconds named_patience() {
  const char* const policy = std::getenv("OMP_WAIT_POLICY");
  const std::string_view name = policy == nullptr ? "" : policy;
  if (name == "passive" || name == "PASSIVE") return microseconds(0);
  return microseconds(name == "active" || name == "ACTIVE" ? 20000 : -1);
}

std::atomic<bool> crowded = false;                 // the team that works now has more threads than CPUs
std::atomic<Clock::rep> disturbed_until = 0;       // other programs use our cores
constexpr std::chrono::milliseconds kMemory(100);  // how long we believe that

microseconds patience(Clock::time_point now) {
  static const microseconds named = named_patience();
  if (named.count() >= 0) return named;
  if (crowded.load(std::memory_order_relaxed)) return kCrowded;
  const bool disturbed = now.time_since_epoch().count() < disturbed_until.load(std::memory_order_relaxed);
  return disturbed ? kDisturbed : kQuiet;
}

// Polls until done() or until patience ends. Returns what done() said last.
template <class Done>
bool poll(const Done& done) {
  constexpr int kPolls = 32;            // some microseconds
  constexpr microseconds kHeldUp(300);  // only the system's scheduler makes them last so long
  if (done()) return true;
  const auto begin = Clock::now();
  const auto end = begin + patience(begin);
  for (auto now = begin; now < end;) {
    for (int i = 0; i < kPolls; ++i) {
      pause_briefly();
      if (done()) return true;
    }
    const auto before = std::exchange(now, Clock::now());
    if (now - before > kHeldUp) disturbed_until = (now + kMemory).time_since_epoch().count();
  }
  return done();
}

// std::atomic's own wait gives the core away several times before it sleeps, to programs that keep it for
// milliseconds.
void sleep_while(std::atomic<unsigned>& number, unsigned old) {
  while (number.load() == old)
    ::syscall(SYS_futex, reinterpret_cast<unsigned*>(&number), FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
}
void wake(std::atomic<unsigned>& number, int sleepers) {
  ::syscall(SYS_futex, reinterpret_cast<unsigned*>(&number), FUTEX_WAKE_PRIVATE, sleepers, nullptr, nullptr,
            0);
}

// A number that one thread changes and another waits for. Changing it takes a system call only if the other
// one sleeps.
class Signal {
 public:
  unsigned value() const { return value_.load(std::memory_order_acquire); }
  void raise() {
    value_.fetch_add(1);
    if (asleep_.load()) wake(value_, 1);
  }
  // Until it differs from `old`.
  unsigned wait_while(unsigned old) {
    if (!poll([&] { return value() != old; })) {
      asleep_.store(true);
      sleep_while(value_, old);
      asleep_.store(false);
    }
    return value();
  }

 private:
  std::atomic<unsigned> value_ = 0;
  std::atomic<bool> asleep_ = false;
};

// The other threads of one that starts work.
class Members {
 public:
  ~Members() {
    call_ = nullptr;
    for (const auto& member : members_) member->go.raise();
    for (const auto& member : members_) member->thread.join();
  }

  void run(int threads, void (*call)(const void*, int), const void* body) {
    while (std::ssize(members_) < threads - 1) add();
    if (const bool many = threads > cpus_; many != crowded.load(std::memory_order_relaxed)) crowded = many;
    call_ = call, body_ = body;
    unfinished_.store(threads - 1, std::memory_order_relaxed);
    const unsigned before = finished_.value();
    for (int i = 0; i < threads - 1; ++i) members_[static_cast<std::size_t>(i)]->go.raise();
    inside = true;
    call(body, 0);
    inside = false;
    finished_.wait_while(before);
  }

 private:
  struct alignas(128) Member {
    Signal go;
    std::thread thread;
  };

  void add() {
    cpus_ = omp_get_num_procs();
    members_.push_back(std::make_unique<Member>());
    Member& member = *members_.back();
    member.thread = std::thread([this, &member, thread = static_cast<int>(members_.size())] {
      inside = true;
      for (unsigned seen = 0;;) {
        seen = member.go.wait_while(seen);
        if (call_ == nullptr) return;
        call_(body_, thread);
        if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) finished_.raise();
      }
    });
  }

  std::vector<std::unique_ptr<Member>> members_;
  int cpus_ = 1;
  void (*call_)(const void*, int) = nullptr;
  const void* body_ = nullptr;
  alignas(64) std::atomic<int> unfinished_ = 0;
  alignas(64) Signal finished_;
};

}  // namespace

bool inside_team() { return inside || omp_in_parallel() != 0; }

int team_limit() { return inside_team() ? 1 : omp_get_max_threads(); }

void run_team(int threads, void (*call)(const void* body, int thread), const void* body) {
  if (threads <= 1) return call(body, 0);
  static thread_local Members members;
  members.run(threads, call, body);
}

void TeamBarrier::wait() {
  const unsigned round = round_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.fetch_add(1);
    if (asleep_.load() > 0) wake(round_, std::numeric_limits<int>::max());
    return;
  }
  if (poll([&] { return round_.load(std::memory_order_acquire) != round; })) return;
  asleep_.fetch_add(1);
  sleep_while(round_, round);
  asleep_.fetch_sub(1);
}

}  // namespace headroom
