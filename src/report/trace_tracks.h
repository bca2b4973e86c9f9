#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "profile/sample_store.h"
#include "profile/trace.h"
#include "report/record.h"

namespace headroom {

struct TraceFileOptions {
  int max_steps = 0;  // the first steps whose details are written; 0: all
};

// What trace files show beside the trace. Neither is needed.
struct TraceExtras {
  struct Loss {
    double seconds = 0, value = 0;  // since the start of the trace
  };
  const RecordedPlan* plan = nullptr;  // layer, phase and operator of a step
  const Samples* samples = nullptr;
  double samples_begin_s = 0;  // of the sampling, since the start of the trace
  std::vector<Loss> losses = {};
};

// An event of a trace, on a track of a file.
struct TraceSlice : Trace::Interval {
  enum class Source : std::uint8_t { span, call, kernel, copy };
  Source source = Source::span;
  std::size_t index = 0;  // in that list of the trace
  std::int64_t flow = 0;  // an arrow from a call to the work on the device that has the same number; 0: none
};

// What a viewer shows about a slice: layer, grid, bytes, …
struct TraceDetail {
  std::string_view key;
  std::variant<std::int64_t, double, std::string> value;
};

// A trace as viewers want it: processes, tracks on which slices are nested and never overlap in part, curves.
// Every trace file is written from it. Texts are UTF-8 without control characters other than newline and tab.
struct TraceTracks {
  struct Process {
    std::string name;  // "rank 1", "rank 1 GPU"
    int rank = 0;
    bool is_gpu = false;
    std::int64_t pid = 0;
  };
  struct Track {
    std::string name;
    std::size_t process = 0;
    std::int64_t tid = 0;            // differs from that of all other tracks; the pid on a first thread
    std::vector<TraceSlice> slices;  // in order of their begin, an outer one before its inner ones
  };
  struct Point {
    std::int64_t ns = 0;
    double value = 0;
  };
  struct Curve {
    std::string name, unit;
    std::vector<Point> points;  // a value holds until the next one
  };

  const Trace* trace = nullptr;
  std::vector<std::string> names;               // those of the trace
  std::vector<std::vector<TraceDetail>> steps;  // of the plan; none if it is not known
  std::vector<Process> processes;
  std::vector<Track> tracks;  // by process
  std::vector<Curve> curves;
  std::int64_t end_ns = 0;  // of the last slice
};

// The trace must outlive the result. A trace that begins before zero is moved to begin there.
TraceTracks trace_tracks(const Trace& trace, const TraceExtras& extras = {},
                         const TraceFileOptions& options = {});

std::string_view label_of(const TraceTracks& tracks, const TraceSlice& slice);
std::string_view category_of(const TraceTracks& tracks, const TraceSlice& slice);

std::vector<TraceDetail> step_details(int number, const RecordedStep& step);
std::vector<TraceDetail> details_of(const TraceTracks& tracks, const TraceSlice& slice);

// Text of the tracks as a JSON string with its quotes.
std::string json_quoted(std::string_view text);

// Calls open(slice) and close(slice) in order of time; an inner slice closes before its outer one.
template <class Open, class Close>
void walk_slices(const std::vector<TraceSlice>& slices, const Open& open, const Close& close) {
  std::vector<const TraceSlice*> opened;
  const auto close_until = [&](std::int64_t ns) {
    for (; !opened.empty() && opened.back()->end_ns <= ns; opened.pop_back()) close(*opened.back());
  };
  for (const TraceSlice& slice : slices) {
    close_until(slice.begin_ns);
    open(slice);
    opened.push_back(&slice);
  }
  close_until(std::numeric_limits<std::int64_t>::max());
}

}  // namespace headroom
