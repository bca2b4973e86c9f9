#pragma once

#include <map>
#include <optional>

#include "profile/intervals.h"

namespace headroom {

enum class TracePart { windows, whole_run };

// The part of a trace that a table is about: the windows of each rank. Without any window in the trace, or
// for the whole run, it is everything. Refers to the trace.
class TraceScope {
 public:
  explicit TraceScope(const Trace& trace, TracePart part = TracePart::windows);

  // An event belongs to the window in which it begins: no event counts twice.
  template <class Event>
  bool holds(const Event& event) const {
    return window_at(event.lane, event.begin_ns).has_value();
  }
  // The number of the window of the lane's rank around an instant.
  std::optional<std::size_t> window_at(int lane, std::int64_t ns) const;
  // How long an interval of this lane lies within the windows.
  std::int64_t length_within(int lane, const Trace::Interval& interval) const;

 private:
  const IntervalSet* windows_of(int lane) const;  // null: everything

  const Trace& trace_;
  bool everything_;
  std::map<int, IntervalSet> windows_;  // by rank
  IntervalSet none_;
};

}  // namespace headroom
