#include "profile/trace.h"

#include <algorithm>
#include <map>
#include <utility>

namespace headroom {
namespace {

// The lane of a thread. Two threads may have the same name, one after the other or at once: only a lane
// without spans is taken again.
int lane_for_spans(Trace& trace, const Trace::Lane& thread) {
  for (int lane = 0; lane < std::ssize(trace.lanes); ++lane)
    if (trace.lanes[static_cast<std::size_t>(lane)] == thread &&
        std::ranges::find(trace.spans, lane, &Trace::Span::lane) == trace.spans.end())
      return lane;
  trace.lanes.push_back(thread);
  return static_cast<int>(trace.lanes.size()) - 1;
}

// The lanes of another trace, in this one. A thread that both know is one lane.
std::vector<int> merged_lanes(Trace& all, const Trace& other) {
  std::vector<int> places;
  for (const Trace::Lane& lane : other.lanes) {
    const auto same = std::ranges::find_if(all.lanes, [&](const Trace::Lane& known) {
      return lane.system_id != 0 && known.system_id == lane.system_id && known.rank == lane.rank;
    });
    places.push_back(static_cast<int>(same - all.lanes.begin()));
    if (same == all.lanes.end()) all.lanes.push_back(lane);
  }
  return places;
}

}  // namespace

int Trace::name_id(std::string_view text) {
  const auto it = std::ranges::find(names, text);
  if (it != names.end()) return static_cast<int>(it - names.begin());
  names.emplace_back(text);
  return static_cast<int>(names.size()) - 1;
}

std::string_view name_of(Trace::CopyKind kind) {
  switch (kind) {
    case Trace::CopyKind::host_to_device:
      return "host to device";
    case Trace::CopyKind::device_to_host:
      return "device to host";
    case Trace::CopyKind::device_to_device:
      return "device to device";
    case Trace::CopyKind::peer:
      return "between devices";
    case Trace::CopyKind::fill:
      break;
  }
  return "fill";
}

std::string_view name_of(Trace::PageEvent kind) {
  switch (kind) {
    case Trace::PageEvent::to_device:
      return "pages to device";
    case Trace::PageEvent::to_host:
      return "pages to host";
    case Trace::PageEvent::device_faults:
      return "page faults of the device";
    case Trace::PageEvent::host_faults:
      break;
  }
  return "page faults of the host";
}

void add_spans(Trace& trace, const std::vector<ThreadSpans>& threads, std::int64_t origin_ns, int rank) {
  std::map<std::int32_t, int> ids;  // few names, many events: each name is looked up once
  for (const ThreadSpans& thread : threads) {
    const int lane =
        lane_for_spans(trace, {.name = thread.thread, .rank = rank, .system_id = thread.system_id});
    for (const SpanEvent& event : thread.events) {
      const auto [id, is_new] = ids.try_emplace(event.name);
      if (is_new) id->second = trace.name_id(spans::text_of(event.name));
      Trace::Span span{{event.begin_ns - origin_ns, event.end_ns - origin_ns}};
      span.lane = lane, span.name = id->second, span.step = event.step;
      span.depth = event.depth, span.kind = event.kind;
      trace.spans.push_back(span);
    }
    trace.dropped += thread.dropped;
  }
  std::ranges::stable_sort(trace.spans, {}, &Trace::Span::lane);
}

void shift(Trace& trace, std::int64_t ns) {
  const auto move = [ns](auto& events) {
    for (auto& event : events) event.begin_ns += ns, event.end_ns += ns;
  };
  move(trace.spans), move(trace.kernels), move(trace.copies), move(trace.calls), move(trace.pages);
  move(trace.windows);
  for (Trace::Kernel& kernel : trace.kernels)
    for (std::int64_t* time : {&kernel.queued_ns, &kernel.submitted_ns})
      if (*time != 0) *time += ns;
}

void leave_out_early_starts(std::vector<Trace::Kernel>& kernels) {
  std::map<std::pair<int, int>, std::int64_t> ends;  // by lane and step
  for (Trace::Kernel& kernel : kernels) {
    if (kernel.step < 0) continue;
    const auto [end, first] = ends.try_emplace({kernel.lane, kernel.step}, kernel.end_ns);
    if (first) continue;
    kernel.begin_ns = std::clamp(end->second, kernel.begin_ns, kernel.end_ns);
    end->second = std::max(end->second, kernel.end_ns);
  }
  std::ranges::stable_sort(kernels, {}, &Trace::Kernel::begin_ns);
}

void append(Trace& all, const Trace& other) {
  const std::vector<int> lanes = merged_lanes(all, other);
  std::vector<int> names;
  for (const std::string& name : other.names) names.push_back(all.name_id(name));
  const auto add = [&](auto& to, const auto& from) {
    for (auto event : from) {
      event.lane = lanes[static_cast<std::size_t>(event.lane)];
      if constexpr (requires { event.name; }) event.name = names[static_cast<std::size_t>(event.name)];
      if constexpr (requires { event.range; })
        if (event.range >= 0) event.range = names[static_cast<std::size_t>(event.range)];
      to.push_back(event);
    }
    std::ranges::stable_sort(to, {}, [](const auto& event) { return event.begin_ns; });
  };
  add(all.kernels, other.kernels);
  add(all.copies, other.copies);
  add(all.calls, other.calls);
  add(all.pages, other.pages);
  add(all.spans, other.spans);
  std::ranges::stable_sort(all.spans, {}, &Trace::Span::lane);
  all.windows.insert(all.windows.end(), other.windows.begin(), other.windows.end());
  for (const std::string& note : other.notes)  // every rank says what this machine cannot count
    if (std::ranges::find(all.notes, note) == all.notes.end()) all.notes.push_back(note);
  all.own_cost_s = std::max(all.own_cost_s, other.own_cost_s);  // ranks record at the same time
  all.dropped += other.dropped;
}

}  // namespace headroom
