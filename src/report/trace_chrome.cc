#include "report/trace_chrome.h"

#include <fmt/format.h>

#include <iterator>

namespace headroom {
namespace {

// Text, not a tree of values: a trace may hold a hundred thousand events.
class ChromeWriter {
 public:
  explicit ChromeWriter(const TraceTracks& tracks) : tracks_(tracks) {}

  std::string write() {
    out_ = "{\"displayTimeUnit\": \"ns\",\n\"traceEvents\": [";
    for (std::size_t i = 0; i < tracks_.processes.size(); ++i) name_process(i);
    for (std::size_t i = 0; i < tracks_.tracks.size(); ++i) name_thread(i);
    for (const TraceTracks::Track& track : tracks_.tracks)
      for (const TraceSlice& slice : track.slices) {
        add_slice(track, slice);
        if (slice.flow != 0) add_flow(track, slice);
      }
    for (const TraceTracks::Curve& curve : tracks_.curves) add_curve(curve);
    out_ += "\n]}\n";
    return std::move(out_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
  }

  void begin_event() {
    out_ += any_ ? ",\n" : "\n";
    any_ = true;
  }

  // Microseconds are the unit of the format; the fraction keeps every nanosecond.
  static std::string micros(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

  std::int64_t pid(const TraceTracks::Track& track) const { return tracks_.processes[track.process].pid; }

  void add_metadata(std::string_view kind, std::int64_t pid, std::int64_t tid, std::string_view args) {
    begin_event();
    add(R"({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "args": {{{}}}}})", kind, pid, tid, args);
  }

  void name_process(std::size_t index) {
    const TraceTracks::Process& process = tracks_.processes[index];
    add_metadata("process_name", process.pid, process.pid,
                 fmt::format(R"("name": {})", json_quoted(process.name)));
    add_metadata("process_sort_index", process.pid, process.pid, fmt::format(R"("sort_index": {})", index));
  }

  void name_thread(std::size_t index) {
    const TraceTracks::Track& track = tracks_.tracks[index];
    add_metadata("thread_name", pid(track), track.tid, fmt::format(R"("name": {})", json_quoted(track.name)));
    add_metadata("thread_sort_index", pid(track), track.tid, fmt::format(R"("sort_index": {})", index));
  }

  void add_slice(const TraceTracks::Track& track, const TraceSlice& slice) {
    begin_event();
    add(R"({{"ph": "X", "name": {}, "cat": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {})",
        json_quoted(label_of(tracks_, slice)), category_of(tracks_, slice), pid(track), track.tid,
        micros(slice.begin_ns), micros(slice.end_ns - slice.begin_ns));
    std::string_view before = R"(, "args": {)";
    for (const TraceDetail& detail : details_of(tracks_, slice)) {
      add("{}\"{}\": ", before, detail.key);
      if (const auto* text = std::get_if<std::string>(&detail.value))
        out_ += json_quoted(*text);
      else if (const auto* number = std::get_if<std::int64_t>(&detail.value))
        add("{}", *number);
      else
        add("{}", std::get<double>(detail.value));
      before = ", ";
    }
    out_ += before == ", " ? "}}" : "}";
  }

  // "bp": "e" ties the end of an arrow to the slice around it, not to the next one.
  void add_flow(const TraceTracks::Track& track, const TraceSlice& slice) {
    const bool starts = slice.source == TraceSlice::Source::call;
    begin_event();
    add(R"({{"ph": "{}", "name": "launch", "cat": "launch", "id": {}, "pid": {}, "tid": {}, "ts": {}{}}})",
        starts ? 's' : 'f', slice.flow, pid(track), track.tid, micros(slice.begin_ns),
        starts ? "" : R"(, "bp": "e")");
  }

  void add_curve(const TraceTracks::Curve& curve) {
    const std::int64_t owner = tracks_.processes.empty() ? 1 : tracks_.processes.front().pid;
    const std::string name = json_quoted(curve.name);
    const std::string key = json_quoted(curve.unit.empty() ? "value" : curve.unit);
    for (const TraceTracks::Point& point : curve.points) {
      begin_event();
      add(R"({{"ph": "C", "name": {}, "pid": {}, "ts": {}, "args": {{{}: {}}}}})", name, owner,
          micros(point.ns), key, point.value);
    }
  }

  const TraceTracks& tracks_;
  std::string out_;
  bool any_ = false;
};

}  // namespace

std::string chrome_trace(const TraceTracks& tracks) { return ChromeWriter(tracks).write(); }

}  // namespace headroom
