#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "profile/trace.h"

namespace headroom {

inline int rank_of(const Trace& trace, int lane) {
  return trace.lanes.at(static_cast<std::size_t>(lane)).rank;
}

// Which events a trace file holds if it shows only the first steps in detail. Steps are the batches within
// the windows of a rank, because only there the kernels were recorded; all batches if none lies in a window.
class TraceCap {
 public:
  TraceCap(const Trace& trace, int max_steps);  // 0: everything is kept

  // Details of the other steps go, all other spans stay.
  bool keeps(const Trace::Span& span) const;
  // A call, kernel or copy belongs to the step that began last before it.
  bool keeps_work(int rank, std::int64_t begin_ns) const;

 private:
  struct Step : Trace::Interval {
    bool kept = false;
  };
  const Step* step_at(int rank, std::int64_t ns) const;  // null before the first

  const Trace& trace_;
  std::map<int, std::vector<Step>> steps_;  // of each rank, in order of their begin
};

}  // namespace headroom
