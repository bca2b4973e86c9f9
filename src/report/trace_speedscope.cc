#include "report/trace_speedscope.h"

#include <fmt/format.h>

#include <iterator>
#include <map>

namespace headroom {
namespace {

// Each name once, numbered in order of its first use.
class SpeedscopeFrames {
 public:
  std::size_t number(std::string_view name) {
    const auto [found, fresh] = numbers_.emplace(name, numbers_.size());
    if (fresh) list_ += fmt::format("{}{{\"name\": {}}}", list_.empty() ? "" : ",\n", json_quoted(name));
    return found->second;
  }
  const std::string& list() const { return list_; }

 private:
  std::map<std::string_view, std::size_t> numbers_;  // texts of the tracks
  std::string list_;
};

std::string speedscope_profile(const TraceTracks& tracks, const TraceTracks::Track& track,
                               SpeedscopeFrames& frames) {
  std::string events;
  const auto add = [&](char type, const TraceSlice& slice, std::int64_t at) {
    fmt::format_to(std::back_inserter(events), R"({}{{"type": "{}", "frame": {}, "at": {}}})",
                   events.empty() ? "" : ",\n", type, frames.number(label_of(tracks, slice)), at);
  };
  walk_slices(
      track.slices, [&](const TraceSlice& slice) { add('O', slice, slice.begin_ns); },
      [&](const TraceSlice& slice) { add('C', slice, slice.end_ns); });
  const std::string name = tracks.processes[track.process].name + ": " + track.name;
  return fmt::format(
      R"({{"type": "evented", "name": {}, "unit": "nanoseconds", "startValue": 0, "endValue": {},
"events": [
{}
]}})",
      json_quoted(name), tracks.end_ns, events);
}

}  // namespace

std::string speedscope_trace(const TraceTracks& tracks) {
  SpeedscopeFrames frames;
  std::string profiles;
  for (const TraceTracks::Track& track : tracks.tracks)
    if (!track.slices.empty())
      profiles += (profiles.empty() ? "" : ",\n") + speedscope_profile(tracks, track, frames);
  return fmt::format(
      R"({{"$schema": "https://www.speedscope.app/file-format-schema.json", "exporter": "headroom",
"shared": {{"frames": [
{}
]}},
"profiles": [
{}
]}}
)",
      frames.list(), profiles);
}

}  // namespace headroom
