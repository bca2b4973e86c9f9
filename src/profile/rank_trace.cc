#include "profile/rank_trace.h"

#include <algorithm>
#include <map>

namespace headroom {

std::set<int> ranks_of(const Trace& trace) {
  std::set<int> ranks;
  for (const Trace::Window& w : trace.windows) ranks.insert(w.rank);
  return ranks;
}

bool is_exchange_kernel(const std::string& name) { return name.starts_with("ncclDevKernel"); }

RankTrace::RankTrace(const Trace& trace, int rank) : trace_(trace), rank_(rank) {
  std::vector<Trace::Interval> windows;
  for (const Trace::Window& w : trace.windows)
    if (w.rank == rank) windows.push_back(w), steps_ += w.steps;
  window_ = IntervalSet(windows);
  for (std::size_t lane = 0; lane < trace.lanes.size(); ++lane)
    if (trace.lanes[lane].rank == rank) lanes_.insert(static_cast<int>(lane));
  for (const Trace::Span& span : trace.spans)
    if (span.kind == SpanKind::batch && lanes_.contains(span.lane)) main_ = span.lane;
}

bool RankTrace::has_kernels() const {
  return std::ranges::any_of(trace_.kernels, [&](const auto& k) { return lanes_.contains(k.lane); });
}

IntervalSet RankTrace::main_spans(SpanKind kind) const {
  return of(trace_.spans, [&](const Trace::Span& s) { return s.lane == main_ && s.kind == kind; });
}

IntervalSet RankTrace::main_spans(std::string_view name) const {
  return of(trace_.spans,
            [&](const Trace::Span& s) { return s.lane == main_ && trace_.text(s.name) == name; });
}

std::vector<RankWait> waits_for_last_rank(const Trace& trace) {
  std::map<int, std::vector<Trace::Interval>> by_rank;
  for (const Trace::Span& s : trace.spans)
    if (s.kind == SpanKind::exchange)
      by_rank[trace.lanes[static_cast<std::size_t>(s.lane)].rank].push_back(s);
  std::vector<RankWait> waits;
  if (by_rank.size() < 2) return waits;
  std::size_t count = std::string::npos;
  for (const auto& [rank, list] : by_rank) count = std::min(count, list.size());
  for (auto& [rank, list] : by_rank) std::ranges::sort(list, {}, &Trace::Interval::begin_ns);
  for (std::size_t i = 0; i < count; ++i) {
    RankWait wait{{INT64_MAX, INT64_MIN}, 0};
    for (const auto& [rank, list] : by_rank) {
      // Ranks that began to record at different exchanges are matched from the end.
      const std::int64_t begin = list[list.size() - count + i].begin_ns;
      wait.begin_ns = std::min(wait.begin_ns, begin);
      if (begin > wait.end_ns) wait.end_ns = begin, wait.last_rank = rank;
    }
    waits.push_back(wait);
  }
  return waits;
}

}  // namespace headroom
