#pragma once

#include <set>
#include <string_view>
#include <utility>

#include "base/span_names.h"
#include "profile/intervals.h"

namespace headroom {

// Names of spans that tables and findings ask for.

std::set<int> ranks_of(const Trace& trace);  // those with a window

bool is_exchange_kernel(const std::string& name);  // of NCCL

// Everything of one rank within its windows. Refers to the trace.
class RankTrace {
 public:
  RankTrace(const Trace& trace, int rank);

  int rank() const { return rank_; }
  int steps() const { return steps_; }
  const IntervalSet& window() const { return window_; }
  int main() const { return main_; }  // the lane that runs the batches; -1: unknown
  bool contains(int lane) const { return lanes_.contains(lane); }
  bool has_kernels() const;

  // Events of the wanted kind, one by one, cut at the borders of the windows. An event across two windows
  // gives two.
  template <class Event, class Wanted>
  std::vector<Trace::Interval> each(const std::vector<Event>& events, Wanted&& wanted) const {
    std::vector<Trace::Interval> list;
    for (const Event& e : events) {
      if (!lanes_.contains(e.lane) || !wanted(e)) continue;
      const IntervalSet parts = window_.clipped(e);
      list.insert(list.end(), parts.list().begin(), parts.list().end());
    }
    return list;
  }
  template <class Event, class Wanted>
  IntervalSet of(const std::vector<Event>& events, Wanted&& wanted) const {
    std::vector<Trace::Interval> list;
    for (const Event& e : events)
      if (lanes_.contains(e.lane) && wanted(e)) list.push_back(e);
    return IntervalSet(std::move(list)) & window_;
  }
  IntervalSet main_spans(SpanKind kind) const;
  IntervalSet main_spans(std::string_view name) const;

 private:
  const Trace& trace_;
  int rank_, steps_ = 0, main_ = -1;
  IntervalSet window_;
  std::set<int> lanes_;
};

// From the first rank that began an exchange to the last one: before that moment a waiting rank waits for
// that rank, after it for data. Empty unless several ranks are in the trace.
struct RankWait : Trace::Interval {
  int last_rank = 0;
};
std::vector<RankWait> waits_for_last_rank(const Trace& trace);

}  // namespace headroom
