#include "profile/span_tree.h"

#include <algorithm>
#include <utility>

namespace headroom {

std::vector<PlacedSpan> placed_spans(const Trace& trace, const TraceScope& scope) {
  std::vector<PlacedSpan> list;
  for (const Trace::Span& span : trace.spans) {
    const std::int64_t ns = scope.length_within(span.lane, span);
    if (ns > 0 || scope.holds(span)) list.push_back({.span = &span, .ns = ns});
  }
  // Those that begin at the same time stay in the order in which they were recorded.
  std::ranges::stable_sort(
      list, {}, [](const PlacedSpan& placed) { return std::pair(placed.span->lane, placed.span->begin_ns); });
  std::vector<int> open;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Trace::Span& span = *list[i].span;
    // Depth decides, not time alone: an empty span may stand at the very end of its parent.
    while (!open.empty()) {
      const Trace::Span& last = *list[static_cast<std::size_t>(open.back())].span;
      if (last.lane == span.lane && last.depth < span.depth && last.end_ns >= span.begin_ns) break;
      open.pop_back();
    }
    if (!open.empty()) list[i].parent = open.back();
    open.push_back(static_cast<int>(i));
  }
  return list;
}

}  // namespace headroom
