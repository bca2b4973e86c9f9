#include "comm/progress.h"

#include <array>
#include <csignal>

#include "base/span_names.h"
#include "base/spans.h"

namespace headroom {
namespace {

constexpr std::chrono::microseconds kSpin{50};  // several times what waking a thread costs

const SpanName kRanksWaitSpan{kRanksWait};

// One name per kind of collective.
const SpanName& span_of(Collective::Kind kind) {
  static const std::array names = {SpanName("MPI_Allreduce"), SpanName("MPI_Reduce_scatter"),
                                   SpanName("MPI_Allgather"), SpanName("MPI_Bcast"), SpanName("MPI_Barrier")};
  return names[static_cast<std::size_t>(kind)];
}

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class Call final : public Progress::Work {
 public:
  explicit Call(std::function<void()> work) : work_(std::move(work)) {}
  void perform(const Collective&, Progress::Clock::time_point) override { work_(); }

 private:
  std::function<void()> work_;
};

// The program's main thread handles Ctrl-C, not this one.
void leave_signals_to_others() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

Progress::Progress(bool spin) : spin_(spin), thread_([this] { run(); }) {}

Progress::~Progress() {
  stop_ = true;
  {
    const std::lock_guard lock(mutex_);
    news_.notify_one();
  }
  thread_.join();
}

bool Progress::await(const std::atomic<std::uint64_t>& counter, std::uint64_t at_least) const {
  if (counter.load(std::memory_order_acquire) >= at_least) return true;
  if (!spin_) return false;
  const auto until = Clock::now() + kSpin;
  do {
    for (int i = 0; i < 64; ++i) {
      if (counter.load(std::memory_order_acquire) >= at_least) return true;
      pause_briefly();
    }
  } while (Clock::now() < until);
  return false;
}

Progress::Ticket Progress::start(const std::shared_ptr<Work>& work, const Collective& collective) {
  const std::lock_guard one(starting_);
  const std::uint64_t ticket = started_ + 1;
  if (ticket > kRing) wait(ticket - kRing);
  ring_[ticket % kRing] = {work, collective, Clock::now()};
  // All threads see writes and reads of idle_ and started_ in one order. So either the thread sees the
  // operation, or this sees that the thread sleeps.
  started_ = ticket;
  if (idle_) {
    const std::lock_guard lock(mutex_);
    news_.notify_one();
  }
  return ticket;
}

void Progress::wait(Ticket ticket) {
  const Span span(kRanksWaitSpan, SpanKind::wait);
  if (!await(done_, ticket)) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    finished_.wait(lock, [&] { return done_ >= ticket; });
    --waiting_;
  }
  if (const std::uint64_t failed = failed_; failed != 0 && failed <= ticket) std::rethrow_exception(failure_);
}

void Progress::call(std::function<void()> work) { wait(start(std::make_shared<Call>(std::move(work)), {})); }

void Progress::run() {
  leave_signals_to_others();
  spans::name_thread("exchange");
  auto last = Clock::now();
  for (std::uint64_t ticket = 1;; ++ticket) {
    if (!await(started_, ticket)) {
      std::unique_lock lock(mutex_);
      idle_ = true;
      news_.wait(lock, [&] { return started_ >= ticket || stop_; });
      idle_ = false;
      if (started_ < ticket) return;
    }
    Entry& entry = ring_[ticket % kRing];
    if (failed_ == 0) {
      try {
        const Span span(span_of(entry.collective.kind), SpanKind::exchange);
        entry.work->perform(entry.collective, std::max(last, entry.started));
      } catch (...) {
        failure_ = std::current_exception();
        failed_ = ticket;
      }
    }
    last = Clock::now();
    entry.work.reset();
    done_ = ticket;
    if (waiting_ > 0) {
      const std::lock_guard lock(mutex_);
      finished_.notify_all();
    }
  }
}

}  // namespace headroom
