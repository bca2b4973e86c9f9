#include "report/trace_tracks.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "report/series.h"
#include "report/trace_cap.h"

namespace headroom {
namespace {

using TraceSource = TraceSlice::Source;

// The calls of each rank that launched work: numbers of calls start anew in every process.
using LaunchCalls = std::map<std::pair<int, std::int64_t>, std::size_t>;

LaunchCalls launch_calls(const Trace& trace) {
  LaunchCalls calls;
  for (std::size_t i = 0; i < trace.calls.size(); ++i)
    if (trace.calls[i].correlation != 0)
      calls.emplace(std::pair(rank_of(trace, trace.calls[i].lane), trace.calls[i].correlation), i);
  return calls;
}

// Slices of every lane, before they are nested.
class SliceCollector {
 public:
  SliceCollector(const Trace& trace, const TraceFileOptions& options)
      : trace_(trace),
        cap_(trace, options.max_steps),
        calls_(launch_calls(trace)),
        lanes_(trace.lanes.size()) {}

  std::vector<std::vector<TraceSlice>> collect() {
    for (std::size_t i = 0; i < trace_.spans.size(); ++i)
      if (cap_.keeps(trace_.spans[i])) add(trace_.spans[i], TraceSource::span, i);
    std::vector<std::int64_t> flows(trace_.calls.size());
    add_work(trace_.kernels, TraceSource::kernel, flows);
    add_work(trace_.copies, TraceSource::copy, flows);
    for (std::size_t i = 0; i < trace_.calls.size(); ++i)
      if (keeps(trace_.calls[i])) add(trace_.calls[i], TraceSource::call, i, flows[i]);
    return std::move(lanes_);
  }

 private:
  template <class Event>
  void add(const Event& event, TraceSource source, std::size_t index, std::int64_t flow = 0) {
    const std::int64_t end = std::max(event.begin_ns, event.end_ns);
    lanes_.at(static_cast<std::size_t>(event.lane)).push_back({{event.begin_ns, end}, source, index, flow});
  }

  template <class Event>
  bool keeps(const Event& event) const {
    return cap_.keeps_work(rank_of(trace_, event.lane), event.begin_ns);
  }

  // A device works behind the host: its work counts to the step that launched it. A graph is one call and
  // many kernels: only the first gets an arrow. No arrow points back in time, viewers refuse those.
  template <class Event>
  void add_work(const std::vector<Event>& events, TraceSource source, std::vector<std::int64_t>& flows) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      const auto found = calls_.find({rank_of(trace_, events[i].lane), events[i].correlation});
      if (found == calls_.end()) {
        if (keeps(events[i])) add(events[i], source, i);
        continue;
      }
      const Trace::Call& call = trace_.calls[found->second];
      if (!keeps(call)) continue;
      const bool first = flows[found->second] == 0 && events[i].begin_ns >= call.begin_ns;
      if (first) flows[found->second] = ++last_flow_;
      add(events[i], source, i, first ? last_flow_ : 0);
    }
  }

  const Trace& trace_;
  const TraceCap cap_;
  const LaunchCalls calls_;
  std::vector<std::vector<TraceSlice>> lanes_;
  std::int64_t last_flow_ = 0;
};

// The slices of a lane on as few tracks as keep them nested. Spans and calls hold what happens during them;
// kernels and copies hold nothing: two at the same time are neighbours.
std::vector<std::vector<TraceSlice>> nested_rows(std::vector<TraceSlice> slices) {
  std::stable_sort(slices.begin(), slices.end(), [](const TraceSlice& a, const TraceSlice& b) {
    if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
    if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
    return std::pair(a.source, a.index) < std::pair(b.source, b.index);
  });
  std::vector<std::vector<TraceSlice>> rows;
  std::vector<std::vector<TraceSlice>> open;  // of each row
  const auto fits = [&](std::size_t row, const TraceSlice& slice) {
    while (!open[row].empty() && open[row].back().end_ns <= slice.begin_ns) open[row].pop_back();
    if (open[row].empty()) return true;
    const TraceSlice& outer = open[row].back();
    return slice.end_ns <= outer.end_ns &&
           (outer.source == TraceSource::span || outer.source == TraceSource::call);
  };
  for (const TraceSlice& slice : slices) {
    std::size_t row = 0;
    while (row < rows.size() && !fits(row, slice)) ++row;
    if (row == rows.size()) {
      rows.emplace_back();
      open.emplace_back();
    }
    rows[row].push_back(slice);
    open[row].push_back(slice);
  }
  if (rows.empty()) rows.emplace_back();  // an idle lane is worth seeing
  return rows;
}

// Numbers differ between all processes and threads, as those of a system do: viewers mix them up otherwise. A
// first thread has the number of its process.
void add_lane_tracks(TraceTracks& tracks, std::vector<std::vector<TraceSlice>> lanes) {
  const Trace& trace = *tracks.trace;
  std::map<std::pair<int, bool>, std::vector<std::size_t>> by_process;
  for (std::size_t i = 0; i < trace.lanes.size(); ++i)
    by_process[{trace.lanes[i].rank, trace.lanes[i].is_stream}].push_back(i);
  const bool one_rank =
      by_process.empty() || by_process.begin()->first.first == by_process.rbegin()->first.first;
  std::int64_t number = 0;
  for (const auto& [key, members] : by_process) {
    const auto [rank, is_gpu] = key;
    const std::string name = one_rank ? "headroom" : fmt::format("rank {}", rank);
    tracks.processes.push_back({is_gpu ? name + " GPU" : name, rank, is_gpu, ++number});
    bool first = true;
    for (const std::size_t lane : members) {
      std::size_t row = 0;
      for (std::vector<TraceSlice>& slices : nested_rows(std::move(lanes[lane]))) {
        const std::string label = printable(trace.lanes[lane].name, true);
        tracks.tracks.push_back({.name = row == 0 ? label : fmt::format("{} ({})", label, row + 1),
                                 .process = tracks.processes.size() - 1,
                                 .tid = first ? number : ++number,
                                 .slices = std::move(slices)});
        first = false;
        ++row;
      }
    }
  }
}

std::int64_t trace_ns(double seconds) { return std::llround(1e9 * seconds); }

// A sample stands for the time before it, a point of a curve for the time after it: except for counters,
// values move to where their time begins. What was not read leaves no point.
void add_trace_curves(TraceTracks& tracks, const TraceExtras& extras) {
  if (const Samples* samples = extras.samples) {
    const bool cores = per_core_rows(*samples) <= kMaxPerCoreRows;
    for (const Series& series : samples->series) {
      if (series.info.per_core && !cores) continue;
      TraceTracks::Curve curve{printable(series.info.name, true), printable(series.info.unit, true), {}};
      for (std::size_t i = 0; i < series.values.size(); ++i) {
        if (!std::isfinite(series.values[i])) continue;
        double at = samples->seconds[i];
        if (!series.info.counter) at = i > 0 ? samples->seconds[i - 1] : 0;
        curve.points.push_back({trace_ns(extras.samples_begin_s + at), series.values[i]});
      }
      if (!curve.points.empty()) tracks.curves.push_back(std::move(curve));
    }
  }
  TraceTracks::Curve loss{"loss", "", {}};
  for (const TraceExtras::Loss& point : extras.losses)
    if (std::isfinite(point.value)) loss.points.push_back({trace_ns(point.seconds), point.value});
  if (!loss.points.empty()) tracks.curves.push_back(std::move(loss));
}

// Perfetto's times have no sign.
void begin_tracks_at_zero(TraceTracks& tracks) {
  std::int64_t begin = 0;
  for (const TraceTracks::Track& track : tracks.tracks)
    if (!track.slices.empty()) begin = std::min(begin, track.slices.front().begin_ns);
  for (const TraceTracks::Curve& curve : tracks.curves)
    for (const TraceTracks::Point& point : curve.points) begin = std::min(begin, point.ns);
  for (TraceTracks::Track& track : tracks.tracks)
    for (TraceSlice& slice : track.slices) {
      slice.begin_ns -= begin;
      slice.end_ns -= begin;
      tracks.end_ns = std::max(tracks.end_ns, slice.end_ns);
    }
  for (TraceTracks::Curve& curve : tracks.curves)
    for (TraceTracks::Point& point : curve.points) point.ns -= begin;
}

}  // namespace

TraceTracks trace_tracks(const Trace& trace, const TraceExtras& extras, const TraceFileOptions& options) {
  TraceTracks tracks{.trace = &trace};
  for (const std::string& name : trace.names) tracks.names.push_back(printable(name, true));
  if (extras.plan != nullptr)
    for (const RecordedStep& step : extras.plan->steps)
      tracks.steps.push_back(step_details(static_cast<int>(tracks.steps.size()), step));
  add_lane_tracks(tracks, SliceCollector(trace, options).collect());
  add_trace_curves(tracks, extras);
  begin_tracks_at_zero(tracks);
  return tracks;
}

}  // namespace headroom
