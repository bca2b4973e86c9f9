#pragma once

#include <mutex>
#include <string>

#include "inject/aggregator.h"

namespace headroom::inject {

// A range of the program, after its end.
struct EndedRange {
  std::string name;
  std::uint64_t thread = 0;
  Aggregator::Times times = {};
  std::int64_t mark = 0;  // see operator_mark
};

// What the library knows in the process it was loaded into. Made by whoever comes first, CUDA or NVTX, and
// never destroyed: other threads may still run when the process ends.
struct ProcessState {
  std::mutex mutex;  // of everything below
  Aggregator aggregator;
  std::string path;      // of the file; empty: the parent did not ask for one
  bool records = false;  // CUDA was used, and its end is to be written
  bool counts = false;   // counters, instead of recording times

  ProcessState();
  // The program's own thread ends a range: it never waits for whoever reads records or writes the file.
  void add(EndedRange range);
  void write();

 private:
  void take_ranges();  // with `mutex` held

  std::mutex writing_;  // one file at a time; taken before `mutex`
  std::mutex ended_mutex_;
  std::vector<EndedRange> ended_;  // not in the aggregator yet
};
ProcessState& state();  // a forked child has its own

std::int64_t now_ns();

// nvtx_ranges.cc: the path of the ranges that this thread is in; empty: none.
std::string current_range();

}  // namespace headroom::inject
