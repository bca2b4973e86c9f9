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

// One thread runs the collectives of this process, one after another in start order, so that blocking calls
// run beside the computation. All MPI calls happen here, so MPI needs no thread support.
class Progress {
 public:
  using Ticket = Communicator::Ticket;
  using Clock = std::chrono::steady_clock;

  // Performs a collective. The queue shares ownership: it lives until the thread has finished with it.
  class Work {
   public:
    virtual ~Work() = default;
    // `since`: the later of the end of the previous operation and the start of this one.
    virtual void perform(const Collective& collective, Clock::time_point since) = 0;
  };

  // spin: poll for a while before sleeping. Only useful if a core is free.
  explicit Progress(bool spin);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Only records the operation; waits if a thousand operations are already in flight.
  Ticket start(const std::shared_ptr<Work>& work, const Collective& collective);
  // Throws what this operation, or an earlier one, threw. After a failure nothing more is tried, because the
  // ranks no longer agree on what comes next.
  void wait(Ticket ticket);
  // Runs `work` on that thread, in queue order.
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
