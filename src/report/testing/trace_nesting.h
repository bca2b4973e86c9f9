#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "profile/trace.h"

namespace headroom::testing {

// A rectangle as a reader of a trace file sees it.
struct ReadSlice {
  std::string process, track, name;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::map<std::string, std::string> details = {};
  auto key() const { return std::tie(process, track, name, begin_ns, end_ns); }
};

struct ReadPoint {
  std::int64_t ns = 0;
  double value = 0;
  bool operator==(const ReadPoint&) const = default;
};

// What a trace file holds. Readers throw a std::runtime_error about a file that its format does not allow.
struct ReadTrace {
  std::vector<ReadSlice> slices;  // by track, in order of their begin, an outer one before its inner ones
  std::map<std::int64_t, std::pair<ReadSlice, ReadSlice>> flows;  // from, to
  std::map<std::string, std::vector<ReadPoint>> curves;           // "GPU 0 power [W]"
};

// A sentence about the first slice that spoils the tree of its track; empty if there is none.
inline std::string check_nesting(const std::vector<ReadSlice>& slices) {
  std::map<std::pair<std::string, std::string>, std::vector<ReadSlice>> open;
  std::map<std::pair<std::string, std::string>, std::int64_t> last;
  for (const ReadSlice& s : slices) {
    const std::pair track(s.process, s.track);
    const std::string text =
        fmt::format("'{}' [{}, {}] on {}: {}", s.name, s.begin_ns, s.end_ns, s.process, s.track);
    if (s.end_ns < s.begin_ns) return text + " ends before it begins";
    if (const auto found = last.find(track); found != last.end() && s.begin_ns < found->second)
      return text + " begins before the slice that comes first in the file";
    last[track] = s.begin_ns;
    std::vector<ReadSlice>& outer = open[track];
    while (!outer.empty() && outer.back().end_ns <= s.begin_ns) outer.pop_back();
    if (!outer.empty() && s.end_ns > outer.back().end_ns)
      return fmt::format("{} overlaps '{}' [{}, {}] in part", text, outer.back().name, outer.back().begin_ns,
                         outer.back().end_ns);
    outer.push_back(s);
  }
  return "";
}

// Slices of a file that has begins and ends, which must be balanced on every track and in order of time.
class SliceStack {
 public:
  void begin(const std::string& process, const std::string& track, const std::string& name, std::int64_t ns) {
    Open& open = open_[{process, track}];
    advance(open, track, ns);
    open.slices.push_back(slices.size());
    slices.push_back({process, track, name, ns, -1});
  }
  // An empty name: the file does not say what ends.
  void end(const std::string& process, const std::string& track, const std::string& name, std::int64_t ns) {
    Open& open = open_[{process, track}];
    advance(open, track, ns);
    if (open.slices.empty()) throw std::runtime_error(track + ": an end without a begin");
    ReadSlice& slice = slices[open.slices.back()];
    if (!name.empty() && name != slice.name)
      throw std::runtime_error(track + ": '" + name + "' ends while '" + slice.name + "' is open");
    slice.end_ns = ns;
    open.slices.pop_back();
  }
  void finish() const {
    for (const auto& [track, open] : open_)
      if (!open.slices.empty()) throw std::runtime_error(track.second + ": a begin without an end");
  }

  std::vector<ReadSlice> slices;

 private:
  struct Open {
    std::vector<std::size_t> slices;
    std::int64_t ns = 0;
  };
  static void advance(Open& open, const std::string& track, std::int64_t ns) {
    if (ns < open.ns) throw std::runtime_error(fmt::format("{}: time goes back to {}", track, ns));
    open.ns = ns;
  }
  std::map<std::pair<std::string, std::string>, Open> open_;
};

// The slices that a file of this trace must hold, in any order.
inline std::vector<ReadSlice> slices_of(const Trace& trace) {
  int ranks = 0;
  for (const Trace::Lane& lane : trace.lanes) ranks = std::max(ranks, lane.rank + 1);
  std::vector<ReadSlice> slices;
  const auto add = [&](const auto& event, std::string_view name) {
    const Trace::Lane& lane = trace.lanes.at(static_cast<std::size_t>(event.lane));
    slices.push_back(
        {(ranks > 1 ? fmt::format("rank {}", lane.rank) : "headroom") + (lane.is_stream ? " GPU" : ""),
         printable(lane.name, true), printable(name, true), event.begin_ns, event.end_ns});
  };
  for (const Trace::Span& span : trace.spans) add(span, trace.text(span.name));
  for (const Trace::Kernel& kernel : trace.kernels) add(kernel, trace.text(kernel.name));
  for (const Trace::Copy& copy : trace.copies) add(copy, name_of(copy.kind));
  for (const Trace::Call& call : trace.calls) add(call, trace.text(call.name));
  return slices;
}

// One line per slice, in order of place and time. Additional tracks of a lane count as that lane.
inline std::vector<std::string> sorted_lines(std::vector<ReadSlice> slices) {
  for (ReadSlice& slice : slices)
    if (const std::size_t at = slice.track.rfind(" ("); at != std::string::npos) slice.track.resize(at);
  std::sort(slices.begin(), slices.end(),
            [](const ReadSlice& a, const ReadSlice& b) { return a.key() < b.key(); });
  std::vector<std::string> lines;
  for (const ReadSlice& s : slices)
    lines.push_back(fmt::format("{}: {}: {} [{}, {}]", s.process, s.track, s.name, s.begin_ns, s.end_ns));
  return lines;
}

}  // namespace headroom::testing
