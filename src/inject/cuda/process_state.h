#pragma once

#include <mutex>
#include <string>

#include "inject/aggregator.h"

namespace headroom::inject {

// What the library knows in the process it was loaded into. Made by whoever comes first, CUDA or NVTX, and
// never destroyed: other threads may still run when the process ends.
struct ProcessState {
  std::mutex mutex;  // of everything below
  Aggregator aggregator;
  std::string path;      // of the file; empty: the parent did not ask for one
  bool records = false;  // CUDA was used, and its end is to be written
  bool counts = false;   // counters, instead of recording times

  ProcessState();
  void write();  // locks
};
ProcessState& state();  // a forked child has its own

std::int64_t now_ns();

// nvtx_ranges.cc: the path of the ranges that this thread is in; empty: none.
std::string current_range();

}  // namespace headroom::inject
