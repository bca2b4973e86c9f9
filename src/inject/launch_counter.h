#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "inject/aggregator.h"
#include "profile/range_counter.h"

namespace headroom::inject {

// What a graph's launch is called among counted kernels: it has counters only as a whole.
inline constexpr const char* kWholeGraph = "(graph)";

// Counts the launches of a program in windows, each with one pass of the counters and a range for every
// kernel. Windows take long, so that after some seconds of them the program runs without for a while. An
// error ends the counting, never the program. Not safe for several threads at once.
class LaunchCounter {
 public:
  static constexpr std::size_t kFirstLaunches = 100;  // of a window, until every pass had one
  static constexpr std::size_t kLaunches = 400;       // of later windows
  // Of a window that counts by added instructions, where each kernel takes an H200 tens of milliseconds.
  static constexpr std::size_t kInstrumentedLaunches = 50;
  static constexpr double kDenseSeconds = 8;  // of windows one after the other
  static constexpr double kShare = 0.2;       // of the time since the first launch, for later windows

  using Clock = std::function<double()>;  // seconds
  // Sums go to the aggregator, under its lock.
  LaunchCounter(std::unique_ptr<RangeCounter> counter, std::mutex& mutex, Aggregator& to,
                Clock now = steady_seconds);
  static double steady_seconds();

  struct Launch {
    std::string kernel, range;  // range: a path; empty: none
    CountedKernel size = {};
  };
  // Before the launch of a kernel, or of a graph. A graph has a window of its own, with one range.
  void launch(Launch launch);
  void graph(std::string range);
  void exchange();  // before a kernel that waits for other processes: it is not counted
  void pause();     // before what must not be counted; the next launch opens a window
  void spoil();     // two launches at once: nobody knows their order, and the window does not count
  void finish();    // closes the window and gives the counters back

 private:
  struct Pass {
    std::size_t number;  // of the counter's passes
    std::size_t first;   // of its counters among all; there stands the number of launches
    bool instrumented;   // counts by instructions that CUPTI adds to the kernels
  };
  void find_passes();
  std::size_t next_pass();
  std::size_t launches_of_window() const;
  bool may_open() const;
  void open(bool whole);
  void close();
  void read_window();
  void add(const Launch& launch, const std::vector<double>& values);
  void lose(const std::string& why);
  template <class Work>
  void attempt(Work&& work);
  void note(const std::string& text);

  std::unique_ptr<RangeCounter> counter_;  // null: the counting has ended
  std::mutex& mutex_;
  Aggregator& to_;
  std::vector<Pass> passes_;
  std::vector<std::size_t> order_;  // of the passes in this round
  std::minstd_rand random_;
  Clock now_;
  double began_ = 0, opened_ = 0, spent_ = 0;  // seconds; spent: in windows
  std::size_t next_ = 0, pass_ = 0, room_ = 0, windows_ = 0, seen_ = 0;
  bool open_ = false, whole_ = false, spoiled_ = false;
  std::vector<Launch> launches_;  // of the open window
};

}  // namespace headroom::inject
