#pragma once

#include <span>
#include <string>

#include "bench/ladder.h"
#include "bench/published_perceptron.h"
#include "cli/bench_output.h"
#include "cli/command.h"

namespace headroom::cli {

// What every verb that climbs lets its user choose.
struct LadderRequest {
  std::vector<std::string> rungs;
  std::string counters;
  double seconds = 1;
};
void add_ladder_options(Command verb, LadderRequest& request, const std::string& example_of_rungs);
// As the climb takes them; rejects unknown rungs and counters, and times out of range.
LadderOptions ladder_options(const LadderRequest& request, const Ladder& ladder, const Common& common);

// The tables of one climb, for every verb that climbs: its rungs, with the notes, the published sources it
// shows and, if asked for, the explanation; then the ideas one on top of the other, and alone.
void add_ladder_tables(const LadderRun& run, DeviceKind device, const std::string& heading,
                       std::span<const PublishedSource> sources, bool explain, BenchOutput& output);

}  // namespace headroom::cli
