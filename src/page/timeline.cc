#include <algorithm>
#include <map>

#include "base/text.h"
#include "page/html.h"
#include "page/section.h"
#include "report/gpu_sample_sheets.h"
#include "report/profile_ranges.h"
#include "report/trace_tracks.h"

namespace headroom {
namespace {

constexpr std::size_t kMaxBlocks = 20'000;
constexpr int kMaxDepth = 4;  // rows of one thread

// One step in the middle of those that were watched.
Trace::Interval middle_step(const Trace& trace) {
  const Trace::Window* chosen = nullptr;
  for (const Trace::Window& window : trace.windows)
    if (window.rank == 0 && window.steps > 0) chosen = &window;
  if (chosen == nullptr) return {};
  std::vector<Trace::Interval> batches;
  for (const Trace::Span& span : trace.spans)
    if (span.kind == SpanKind::batch && span.begin_ns >= chosen->begin_ns && span.end_ns <= chosen->end_ns)
      batches.push_back({span.begin_ns, span.end_ns});
  if (!batches.empty() && trace.kernels.empty()) return batches[batches.size() / 2];
  const std::int64_t step = (chosen->end_ns - chosen->begin_ns) / chosen->steps;
  const std::int64_t begin = chosen->begin_ns + step * (chosen->steps / 2);
  return {begin, begin + step};
}

enum class TimelineColour : std::uint8_t { forward, backward, update, copy, call, host };
const std::vector<std::string> kTimelineColours = {"forward", "backward",   "update",
                                                   "copies",  "CUDA calls", "other host work"};

int step_of(const Trace& trace, const TraceSlice& slice) {
  if (slice.source == TraceSlice::Source::span) return trace.spans[slice.index].step;
  if (slice.source == TraceSlice::Source::kernel) return trace.kernels[slice.index].step;
  return -1;
}

TimelineColour colour_of(const Trace& trace, const RunRecord& r, const TraceSlice& slice) {
  if (slice.source == TraceSlice::Source::copy) return TimelineColour::copy;
  if (slice.source == TraceSlice::Source::call) return TimelineColour::call;
  const int step = step_of(trace, slice);
  if (!r.plan || step < 0 || step >= std::ssize(r.plan->steps))
    return slice.source == TraceSlice::Source::kernel ? TimelineColour::forward : TimelineColour::host;
  const std::string& phase = r.plan->steps[static_cast<std::size_t>(step)].phase;
  return phase == "backward" ? TimelineColour::backward
         : phase == "update" ? TimelineColour::update
                             : TimelineColour::forward;
}

// Layer and kernel of a plan's step, and how long it took.
std::string tip_of(const Trace& trace, const RunRecord& r, const TraceSlice& slice) {
  std::string tip = human_seconds(slice.seconds());
  const int step = step_of(trace, slice);
  if (r.plan && step >= 0 && step < std::ssize(r.plan->steps)) {
    const RecordedStep& s = r.plan->steps[static_cast<std::size_t>(step)];
    tip = fmt::format("{}: {} by {}, {}", s.layer, s.op, s.kernel, tip);
  }
  return tip;
}

class TimelineBuilder {
 public:
  TimelineBuilder(const RunProfile& run, Trace::Interval step) : run_(run), step_(step) {
    chart_ = {.title = "One step", .colours = kTimelineColours, .axis = {.label = "time", .unit = "ms"}};
  }

  BlockChart build() {
    const RunRecord& r = run_.record;
    const TraceTracks tracks = trace_tracks(run_.trace, {.plan = r.plan ? &*r.plan : nullptr});
    const std::int64_t moved = moved_by(tracks);
    step_ = {step_.begin_ns + moved, step_.end_ns + moved};
    for (const TraceTracks::Track& track : tracks.tracks) add(tracks, track);
    if (left_out_ > 0)
      chart_.note = fmt::format("{} left out: the page holds {}.", counted(left_out_, "short event"),
                                with_commas(std::int64_t{kMaxBlocks}));
    return std::move(chart_);
  }

 private:
  // A trace that begins before zero is moved to begin there.
  std::int64_t moved_by(const TraceTracks& tracks) const {
    for (const TraceTracks::Track& track : tracks.tracks)
      for (const TraceSlice& slice : track.slices)
        if (slice.source == TraceSlice::Source::span)
          return slice.begin_ns - run_.trace.spans[slice.index].begin_ns;
    return 0;
  }

  void add(const TraceTracks& tracks, const TraceTracks::Track& track) {
    std::map<int, std::size_t> rows;  // of this track, by depth
    int depth = 0;
    const auto open = [&](const TraceSlice& slice) {
      const int own = depth++;
      if (slice.end_ns <= step_.begin_ns || slice.begin_ns >= step_.end_ns || own >= kMaxDepth) return;
      if (chart_.blocks.size() >= kMaxBlocks) return void(++left_out_);
      auto it = rows.find(own);
      if (it == rows.end()) {
        it = rows.emplace(own, chart_.rows.size()).first;
        const std::string process =
            tracks.processes.size() > 1 ? tracks.processes[track.process].name + " " : "";
        chart_.rows.push_back(own == 0 ? process + track.name : "");
      }
      const auto ms = [&](std::int64_t ns) {
        return 1e-6 * double(std::clamp(ns, step_.begin_ns, step_.end_ns) - step_.begin_ns);
      };
      chart_.blocks.push_back({it->second, ms(slice.begin_ns), ms(slice.end_ns),
                               static_cast<std::size_t>(colour_of(run_.trace, run_.record, slice)),
                               std::string(label_of(tracks, slice)), tip_of(run_.trace, run_.record, slice)});
    };
    walk_slices(track.slices, open, [&](const TraceSlice&) { --depth; });
  }

  const RunProfile& run_;
  Trace::Interval step_;
  BlockChart chart_;
  std::int64_t left_out_ = 0;
};

// Ranges as nested blocks: those within a range lie below it, in the order of the tree.
BlockChart nested_ranges(const std::vector<RangeRow>& rows) {
  BlockChart chart{.title = "Nested ranges of the host",
                   .axis = {.label = "time, all watched steps", .unit = "ms"}};
  std::vector<double> free_from;               // by depth
  std::map<std::string, std::size_t> colours;  // a range has the same colour wherever it is
  for (const RangeRow& row : rows) {
    const std::size_t depth = row.path.size() - 1;
    double ms = 0;
    for (const double ns : row.host_ns) ms += 1e-6 * ns;
    if (ms <= 0) continue;
    while (chart.rows.size() <= depth) chart.rows.push_back("");
    free_from.resize(depth + 1);  // ranges below an earlier one are over
    const double begin = free_from[depth];
    free_from[depth] = begin + ms;
    free_from.push_back(begin);  // what lies within begins where it does
    const auto colour = colours.try_emplace(row.path.back(), colours.size()).first;
    chart.blocks.push_back(
        {depth, begin, begin + ms, colour->second, row.path.back(),
         fmt::format("{}, {}", human_seconds(ms / 1e3), counted(std::ssize(row.host_ns), "time"))});
  }
  return chart;
}

}  // namespace

PageSection timeline_section(const PageRun& page) {
  PageSection section{"timeline", "Timeline"};
  if (const Trace::Interval step = middle_step(page.run.trace); step.end_ns > step.begin_ns) {
    const BlockChart chart = TimelineBuilder(page.run, step).build();
    if (!chart.blocks.empty()) section.body = figure(chart);
  }
  if (const Sheet* sampled = find_table(page.run.record, kSampledStep))
    section.body += figure(sampled_step_chart(*sampled));
  return section;
}

PageSection ranges_section(const PageRun& page) {
  PageSection section{"ranges", "Ranges"};
  const std::vector<RangeRow> rows = range_rows(page.run.trace, TracePart::windows);
  if (rows.empty()) return section;
  section.body = figure(nested_ranges(rows)) +
                 html_table(ranges_sheet(rows), {.caption = "Ranges of the host", .searchable = true});
  return section;
}

}  // namespace headroom
