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

// Memory that a team streams over, each thread on its own part. Uses large pages if the system grants them.
// The thread that uses a part touches it first, so it is on that thread's NUMA node.
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

// The best rate over all kinds of stream and vector widths, with every thread repeatedly streaming over
// `bytes_per_thread` bytes of its part; takes about `seconds`. Clock::cpu is for levels that threads do not
// share. One kind alone is not a ceiling: reads win on most memories, in-place updates on others, and
// clearing may bypass the path of stores.
StreamRate stream_rate(const StreamArena& arena, std::int64_t bytes_per_thread, Clock clock, double seconds);

}  // namespace headroom
