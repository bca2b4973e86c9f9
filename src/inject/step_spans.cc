#include "inject/step_spans.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace headroom::inject {
namespace {

// Steps of one thread that spans of the program cross. Steps are in order and do not overlap.
std::vector<bool> crossed_steps(const Trace& trace, const std::vector<Trace::Span>& steps) {
  std::vector<bool> crossed(steps.size());
  const auto around = [&](std::int64_t ns) {  // the step in whose middle an instant lies; -1: none
    const auto after = std::ranges::upper_bound(steps, ns, {}, &Trace::Span::begin_ns);
    if (after == steps.begin()) return std::ptrdiff_t{-1};
    const auto step = std::prev(after);
    return step->begin_ns < ns && ns < step->end_ns ? step - steps.begin() : std::ptrdiff_t{-1};
  };
  for (const Trace::Span& span : trace.spans) {
    if (steps.empty() || span.lane != steps[0].lane) continue;
    const std::ptrdiff_t first = around(span.begin_ns), last = around(span.end_ns);
    if (first >= 0 && span.end_ns > steps[std::size_t(first)].end_ns) crossed[std::size_t(first)] = true;
    if (last >= 0 && span.begin_ns < steps[std::size_t(last)].begin_ns) crossed[std::size_t(last)] = true;
  }
  return crossed;
}

}  // namespace

void place_spans(Trace& trace) {
  std::ranges::stable_sort(trace.spans, {}, [](const Trace::Span& span) {
    return std::tuple(span.lane, span.begin_ns, -span.end_ns, span.depth);
  });
  std::vector<std::int64_t> open;  // ends of the spans around
  int lane = -1;
  for (Trace::Span& span : trace.spans) {
    if (span.lane != lane) open.clear();
    lane = span.lane;
    while (!open.empty() && open.back() <= span.begin_ns) open.pop_back();
    if (!open.empty()) span.end_ns = std::min(span.end_ns, open.back());
    span.depth = int(open.size());
    open.push_back(span.end_ns);
  }
}

void add_step_spans(Trace& trace, int rank, const std::vector<StepLaunches>& steps) {
  std::unordered_map<std::int64_t, const Trace::Call*> calls;
  for (const Trace::Call& call : trace.calls)
    if (trace.lanes[static_cast<std::size_t>(call.lane)].rank == rank) calls.emplace(call.correlation, &call);
  std::vector<Trace::Span> spans;
  for (const StepLaunches& step : steps) {
    const auto first = calls.find(step.first), next = calls.find(step.next);
    if (first == calls.end() || next == calls.end() || first->second->lane != next->second->lane) continue;
    if (!spans.empty() && spans[0].lane != first->second->lane) continue;  // another thread's
    Trace::Span span;
    span.begin_ns = first->second->begin_ns, span.end_ns = next->second->begin_ns;
    span.lane = first->second->lane, span.kind = SpanKind::batch;
    if (span.end_ns > span.begin_ns && (spans.empty() || spans.back().end_ns <= span.begin_ns))
      spans.push_back(span);
  }
  const std::vector<bool> crossed = crossed_steps(trace, spans);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (crossed[i]) continue;
    spans[i].name = trace.name_id("step");
    trace.spans.push_back(spans[i]);
  }
  place_spans(trace);
}

}  // namespace headroom::inject
