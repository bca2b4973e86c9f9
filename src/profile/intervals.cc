#include "profile/intervals.h"

#include <algorithm>

namespace headroom {

IntervalSet::IntervalSet(std::vector<Trace::Interval> any) {
  std::erase_if(any, [](const Trace::Interval& i) { return i.end_ns <= i.begin_ns; });
  std::ranges::sort(any, {}, &Trace::Interval::begin_ns);
  for (const Trace::Interval& next : any)
    if (list_.empty() || next.begin_ns > list_.back().end_ns)
      list_.push_back(next);
    else
      list_.back().end_ns = std::max(list_.back().end_ns, next.end_ns);
}

std::int64_t IntervalSet::length_ns() const {
  std::int64_t length = 0;
  for (const Trace::Interval& i : list_) length += i.end_ns - i.begin_ns;
  return length;
}

IntervalSet IntervalSet::clipped(const Trace::Interval& window) const {
  return *this & IntervalSet(std::vector<Trace::Interval>{window});
}

IntervalSet operator|(const IntervalSet& a, const IntervalSet& b) {
  std::vector<Trace::Interval> both = a.list_;
  both.insert(both.end(), b.list_.begin(), b.list_.end());
  return IntervalSet(std::move(both));
}

IntervalSet operator&(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet common;
  auto x = a.list_.begin(), y = b.list_.begin();
  while (x != a.list_.end() && y != b.list_.end()) {
    const std::int64_t begin = std::max(x->begin_ns, y->begin_ns), end = std::min(x->end_ns, y->end_ns);
    if (begin < end) common.list_.push_back({begin, end});
    // The one that ends first meets nothing more of the other set.
    x->end_ns < y->end_ns ? ++x : ++y;
  }
  return common;
}

IntervalSet operator-(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet rest;
  auto y = b.list_.begin();
  for (auto [begin, end] : a.list_) {
    while (y != b.list_.end() && y->end_ns <= begin) ++y;
    // The last one taken away may reach into the next interval: `y` stays on it.
    for (; y != b.list_.end() && y->begin_ns < end; ++y) {
      if (begin < y->begin_ns) rest.list_.push_back({begin, y->begin_ns});
      begin = y->end_ns;
      if (begin >= end) break;
    }
    if (begin < end) rest.list_.push_back({begin, end});
  }
  return rest;
}

}  // namespace headroom
