#include "profile/trace_scope.h"

#include <algorithm>

namespace headroom {

TraceScope::TraceScope(const Trace& trace, TracePart part)
    : trace_(trace), everything_(part == TracePart::whole_run || trace.windows.empty()) {
  std::map<int, std::vector<Trace::Interval>> by_rank;
  for (const Trace::Window& window : trace.windows) by_rank[window.rank].push_back(window);
  for (auto& [rank, windows] : by_rank) windows_.emplace(rank, std::move(windows));
}

const IntervalSet* TraceScope::windows_of(int lane) const {
  if (everything_) return nullptr;
  const auto it = windows_.find(trace_.lanes.at(static_cast<std::size_t>(lane)).rank);
  return it == windows_.end() ? &none_ : &it->second;
}

std::optional<std::size_t> TraceScope::window_at(int lane, std::int64_t ns) const {
  const IntervalSet* windows = windows_of(lane);
  if (windows == nullptr) return 0;
  const auto& list = windows->list();
  const auto after = std::ranges::upper_bound(list, ns, {}, &Trace::Interval::begin_ns);
  if (after == list.begin() || ns >= std::prev(after)->end_ns) return {};
  return static_cast<std::size_t>(std::prev(after) - list.begin());
}

std::int64_t TraceScope::length_within(int lane, const Trace::Interval& interval) const {
  const IntervalSet* windows = windows_of(lane);
  if (windows == nullptr) return interval.end_ns - interval.begin_ns;
  const auto& list = windows->list();
  std::int64_t length = 0;
  auto it = std::ranges::upper_bound(list, interval.begin_ns, {}, &Trace::Interval::end_ns);
  for (; it != list.end() && it->begin_ns < interval.end_ns; ++it)
    length += std::min(it->end_ns, interval.end_ns) - std::max(it->begin_ns, interval.begin_ns);
  return length;
}

}  // namespace headroom
