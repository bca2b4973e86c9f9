#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "profile/trace.h"

namespace headroom {

// A set of instants. Overlapping and touching intervals become one, empty ones vanish: its length is the time
// during which at least one of them ran, not the sum of their lengths.
class IntervalSet {
 public:
  IntervalSet() = default;
  explicit IntervalSet(std::vector<Trace::Interval> any);  // in any order
  // Of kernels, copies, spans, …
  template <std::derived_from<Trace::Interval> Event>
  requires(!std::same_as<Event, Trace::Interval>) explicit IntervalSet(const std::vector<Event>& events)
      : IntervalSet(std::vector<Trace::Interval>(events.begin(), events.end())) {}

  const std::vector<Trace::Interval>& list() const { return list_; }  // sorted; none touches the next
  bool empty() const { return list_.empty(); }
  std::int64_t length_ns() const;
  double seconds() const { return 1e-9 * double(length_ns()); }
  IntervalSet clipped(const Trace::Interval& window) const;
  bool operator==(const IntervalSet&) const = default;

  friend IntervalSet operator|(const IntervalSet& a, const IntervalSet& b);  // in either
  friend IntervalSet operator&(const IntervalSet& a, const IntervalSet& b);  // in both
  friend IntervalSet operator-(const IntervalSet& a, const IntervalSet& b);  // in a alone

 private:
  std::vector<Trace::Interval> list_;
};

}  // namespace headroom
