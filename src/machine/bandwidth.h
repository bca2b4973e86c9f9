#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "machine/timing.h"

namespace headroom {

struct StreamRate {
  double bytes_per_s = 0;                   // bytes read plus bytes written as the program issues them
  std::map<std::string, double> by_stream;  // the best of each kind: "read", "update", …
};

// Memory that a team streams over, each thread on a part of its own. Large pages where the system grants
// them, and every part is first touched by the thread that uses it, so that it lies on that thread's NUMA
// node.
class StreamArena {
 public:
  StreamArena(int threads, std::int64_t bytes_per_thread);
  ~StreamArena();
  StreamArena(const StreamArena&) = delete;
  StreamArena& operator=(const StreamArena&) = delete;

  int threads() const { return threads_; }
  std::int64_t bytes_per_thread() const { return bytes_per_thread_; }
  char* part(int thread) const { return data_ + thread * stride_; }

 private:
  int threads_;
  std::int64_t bytes_per_thread_, stride_, mapped_;
  char* data_;
};

// Best rate over all kinds of stream and vector widths when every thread goes round and round
// `bytes_per_thread` bytes of its part; about `seconds` long. Clock::cpu for levels that no two threads
// share. A single kind would not do as a ceiling: reads win on most memories, updates in place on others, and
// clearing may bypass what stores go through.
StreamRate stream_rate(const StreamArena& arena, std::int64_t bytes_per_thread, Clock clock, double seconds);

}  // namespace headroom
