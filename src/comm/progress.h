#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "comm/communicator.h"

namespace headroom {

// One thread that does the collectives of this process, one after the other in the order they were started,
// so that blocking calls run beside the computation. All MPI calls happen here: no MPI needs to know of
// threads.
class Progress {
 public:
  using Ticket = Communicator::Ticket;
  using Clock = std::chrono::steady_clock;

  // Who does a collective. The queue shares in it: it lives until the thread is done with it.
  class Work {
   public:
    virtual ~Work() = default;
    // `since`: when all before it was done, or when it was started, whichever was later.
    virtual void perform(const Collective& collective, Clock::time_point since) = 0;
  };

  // spin: look for news for a while before sleeping. Only where a core is free to do so.
  explicit Progress(bool spin);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Only writes down what to do; waits where a thousand operations are in flight already.
  Ticket start(const std::shared_ptr<Work>& work, const Collective& collective);
  // Throws what the operation, or any before it, has thrown: after a failure nothing more is tried, for the
  // ranks no longer agree on what comes next.
  void wait(Ticket ticket);
  // `work`, on that thread, in its turn.
  void call(std::function<void()> work);

 private:
  static constexpr std::uint64_t kRing = 1024;
  struct Entry {
    std::shared_ptr<Work> work;
    Collective collective;
    Clock::time_point started;
  };

  void run();
  bool await(const std::atomic<std::uint64_t>& counter, std::uint64_t at_least) const;

  const bool spin_;
  std::unique_ptr<Entry[]> ring_ = std::make_unique<Entry[]>(kRing);
  std::atomic<std::uint64_t> started_ = 0, done_ = 0;
  std::atomic<bool> idle_ = false, stop_ = false;
  std::atomic<int> waiting_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;  // the first ticket that failed; 0: none
  std::exception_ptr failure_;             // written before failed_
  std::mutex starting_, mutex_;
  std::condition_variable news_, finished_;
  std::thread thread_;
};

}  // namespace headroom
