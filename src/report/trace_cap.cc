#include "report/trace_cap.h"

#include <algorithm>

namespace headroom {
namespace {

bool is_step_detail(SpanKind kind) {
  switch (kind) {
    case SpanKind::phase:
    case SpanKind::step:
    case SpanKind::worker:
    case SpanKind::copy:
    case SpanKind::exchange:
    case SpanKind::wait:
      return true;
    default:
      return false;
  }
}

// In part is enough: a window may open within the span of its first batch.
bool is_in_window(const Trace& trace, const Trace::Interval& step, int rank) {
  return std::any_of(trace.windows.begin(), trace.windows.end(), [&](const Trace::Window& window) {
    return window.rank == rank && window.begin_ns < step.end_ns && step.begin_ns < window.end_ns;
  });
}

}  // namespace

TraceCap::TraceCap(const Trace& trace, int max_steps) : trace_(trace) {
  if (max_steps <= 0) return;
  for (const Trace::Span& span : trace.spans)
    if (span.kind == SpanKind::batch)
      steps_[rank_of(trace, span.lane)].push_back({{span.begin_ns, span.end_ns}});
  for (auto& [rank, steps] : steps_) {
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step& a, const Step& b) { return a.begin_ns < b.begin_ns; });
    const auto in_window = [&trace, of = rank](const Step& step) { return is_in_window(trace, step, of); };
    const bool any_window = std::any_of(steps.begin(), steps.end(), in_window);
    int left = max_steps;
    for (Step& step : steps)
      if (left > 0 && (!any_window || in_window(step))) {
        step.kept = true;
        --left;
      }
  }
}

const TraceCap::Step* TraceCap::step_at(int rank, std::int64_t ns) const {
  const auto found = steps_.find(rank);
  if (found == steps_.end()) return nullptr;
  const auto after = std::upper_bound(found->second.begin(), found->second.end(), ns,
                                      [](std::int64_t at, const Step& step) { return at < step.begin_ns; });
  return after == found->second.begin() ? nullptr : &*std::prev(after);
}

bool TraceCap::keeps(const Trace::Span& span) const {
  if (!is_step_detail(span.kind)) return true;
  const Step* step = step_at(rank_of(trace_, span.lane), span.begin_ns);
  return step == nullptr || step->kept || span.begin_ns >= step->end_ns;
}

bool TraceCap::keeps_work(int rank, std::int64_t begin_ns) const {
  const Step* step = step_at(rank, begin_ns);
  return step == nullptr || step->kept;
}

}  // namespace headroom
